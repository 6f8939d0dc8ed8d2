#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "shards/core/clock.hh"
#include "shards/core/expiry_heap.hh"
#include "shards/core/field_map.hh"
#include "shards/core/holder_list.hh"
#include "shards/core/lock_types.hh"
#include "shards/core/named_node.hh"
#include "shards/core/signal_list.hh"

namespace lockkeeper::shards {

/// One key and what it holds. Its address never changes, so buckets and the expiry heap point to
/// it.
class lock_entry final : public named_node<lock_entry> {
public:
    /// In the order of entry_kind. The rare kinds lie elsewhere, or every plain lock would pay for
    /// them.
    using payload = std::variant<std::string, std::unique_ptr<field_map>,
                                 std::unique_ptr<signal_list>, std::unique_ptr<holder_list>>;

    /// What has to be looked after when the entry goes.
    enum mark : uint8_t {
        awaited = 1 << 0,   ///< somebody is in line for it
        native = 1 << 1,    ///< taken by a native verb: its owner is told when it is lost
        bound = 1 << 2,     ///< lives as long as its client's connection, or is renewed by it
        delays = 1 << 3,    ///< its policy has a lock-delay
        orphaned = 1 << 4,  ///< its client has left, perhaps without having read that it won
        leased = 1 << 5,    ///< the masters hold it for us
    };

    static constexpr size_t hot_bytes = 40;

    static owner make(const lock_key& key, payload value);

    std::string_view name() const { return name_behind(*this, _name_bytes); }
    uint32_t database() const { return _database; }
    uint64_t hash() const { return _hash; }

    entry_kind kind() const { return static_cast<entry_kind>(value.index()); }
    /// These are null if the entry is of another kind.
    std::string* text() { return std::get_if<std::string>(&value); }
    /// Of a plain lock; empty for all others.
    std::string_view token_of_owner() const {
        const auto* const token = std::get_if<std::string>(&value);
        return token != nullptr ? std::string_view(*token) : std::string_view();
    }
    field_map* fields();
    signal_list* list();
    holder_list* holders();

    bool has(mark which) const { return (marks & which) != 0; }
    void set(mark which) { marks = static_cast<uint8_t>(marks | which); }
    void clear(mark which) { marks = static_cast<uint8_t>(marks & ~which); }

    /// Since its last grant, to 16 us; for half a year. In 40 bits, because every entry pays.
    std::chrono::nanoseconds held_for(instant now) const {
        constexpr uint64_t all_bits = (uint64_t{1} << 40) - 1;
        const uint64_t ticks = ticks_of(now) - ((uint64_t{since_high} << 32) | since);
        return std::chrono::nanoseconds((ticks & all_bits) << tick_bits);
    }
    instant granted_at(instant now) const { return now - held_for(now); }
    /// As far as that can be told.
    bool was_granted_since(instant when, instant now) const {
        return granted_at(now) + 2 * std::chrono::nanoseconds(uint64_t{1} << tick_bits) >= when;
    }
    void set_granted_at(instant now) {
        since = static_cast<uint32_t>(ticks_of(now));
        since_high = static_cast<uint8_t>(ticks_of(now) >> 32);
    }

    bool has_expiry() const { return heap_index != not_in_heap; }
    bool expired(instant now) const { return has_expiry() && expiry <= now; }
    std::optional<instant> until() const {
        return has_expiry() ? std::optional(expiry) : std::nullopt;
    }

    /// What it takes now, about.
    size_t footprint() const;

    payload value;
    uint64_t version = 0;        ///< belongs to keyspace
    uint64_t fence = 0;          ///< greater than that of every grant of this key before
    uint64_t client = 0;         ///< the connection that it was given to; 0: unknown
    uint32_t counted_bytes = 0;  ///< belongs to keyspace: what the total knows of the footprint
    uint32_t since = 0;

    // From here on what every look reads: about hot_bytes.
    lock_entry* next = nullptr;  ///< in its bucket; belongs to entry_map
    instant expiry{};            ///< belongs to expiry_heap; means something with has_expiry() only
    uint32_t heap_index = not_in_heap;  ///< belongs to expiry_heap
    uint16_t holds = 1;                 ///< of the owner of a plain lock
    uint8_t marks = 0;
    uint8_t since_high = 0;

private:
    static constexpr unsigned tick_bits = 14;
    static uint64_t ticks_of(instant now) {
        return static_cast<uint64_t>(now.nanoseconds) >> tick_bits;
    }

    friend named_node<lock_entry>;
    lock_entry(const lock_key& key, payload what);
    ~lock_entry() = default;

    uint64_t _hash;
    uint32_t _database;
    uint32_t _name_bytes;
};

}  // namespace lockkeeper::shards
