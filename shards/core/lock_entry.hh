#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "shards/core/clock.hh"
#include "shards/core/field_map.hh"
#include "shards/core/lock_types.hh"
#include "shards/core/signal_list.hh"

namespace lockkeeper::shards {

/// One key and what it holds. Its address never changes, so buckets and the expiry heap point to
/// it. The bytes of its name lie behind the struct, in the same allocation.
class lock_entry {
public:
    /// In the order of entry_kind. The rare kinds lie elsewhere, or every plain lock would pay for
    /// them.
    using payload =
        std::variant<std::string, std::unique_ptr<field_map>, std::unique_ptr<signal_list>>;

    static constexpr uint32_t not_in_heap = std::numeric_limits<uint32_t>::max();

    struct deleter {
        void operator()(lock_entry* entry) const;
    };
    using owner = std::unique_ptr<lock_entry, deleter>;

    static owner make(const lock_key& key, payload value);

    std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), _name_bytes}; }
    uint32_t database() const { return _database; }
    uint64_t hash() const { return _hash; }

    entry_kind kind() const { return static_cast<entry_kind>(value.index()); }
    /// These are null if the entry is of another kind.
    std::string* text() { return std::get_if<std::string>(&value); }
    field_map* fields();
    signal_list* list();

    bool has_expiry() const { return heap_index != not_in_heap; }
    bool expired(instant now) const { return has_expiry() && expiry <= now; }
    std::optional<instant> until() const {
        return has_expiry() ? std::optional(expiry) : std::nullopt;
    }

    /// What it takes now, about.
    size_t footprint() const;

    lock_entry* next = nullptr;  ///< in its bucket; belongs to entry_map
    uint64_t version = 0;        ///< belongs to keyspace
    instant expiry{};            ///< belongs to expiry_heap; means something with has_expiry() only
    uint32_t heap_index = not_in_heap;  ///< belongs to expiry_heap
    uint32_t counted_bytes = 0;  ///< belongs to keyspace: what the total knows of the footprint
    payload value;

private:
    lock_entry(const lock_key& key, payload what);
    ~lock_entry() = default;

    uint64_t _hash;
    uint32_t _database;
    uint32_t _name_bytes;
};

}  // namespace lockkeeper::shards
