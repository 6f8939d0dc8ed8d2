#pragma once

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shards/core/clock.hh"
#include "shards/core/lock_history.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/lock_types.hh"
#include "shards/core/named_node.hh"
#include "shards/core/seats.hh"
#include "shards/core/waiter.hh"

namespace lockkeeper::shards {

/// Everyone who is in line for one key: those who wait, in order, and the seats of those who poll.
/// Most keys have none. Belongs to a waiting_room.
class lock_line final : public boost::intrusive::list_base_hook<
                            boost::intrusive::link_mode<boost::intrusive::auto_unlink>>,
                        public named_node<lock_line> {
public:
    static constexpr size_t hot_bytes = 128;

    /// `policies` outlives it.
    static owner make(const lock_key& key, uint64_t line_hash, const policy_book& policies) {
        return make_named(key.name, key, line_hash, policies);
    }

    std::string_view name() const { return name_behind(*this, _name_bytes); }
    uint64_t hash() const { return _hash; }
    lock_key key() const { return {database, name(), _key_hash}; }

    const lock_policy& policy() const { return _policy.of(name()); }

    /// Nobody is in line, and nothing is remembered.
    bool is_idle(instant now) const {
        return queue.empty() && polling.empty() && closed_until <= now &&
               (!kept || kept->until <= now) && shown_until <= now;
    }

    const uint32_t database;

private:
    remembered_policy _policy;

public:
    waiter_list queue;
    /// The lock is free and kept for somebody who polls.
    std::optional<seats::reservation> kept;
    /// Those who sleep here are woken by releases, and ask then. It is kept for nobody: whoever is
    /// woken and refused sleeps again, with the lock free and no release to come.
    bool is_announced = false;
    /// After an unclean end: nobody gets it before.
    instant closed_until = start_of_time;
    /// Since when somebody has been in line, and what happened meanwhile.
    instant since{};
    uint64_t hand_offs = 0;
    uint64_t ended = 0;                    ///< grants
    std::chrono::nanoseconds held{};       ///< by these
    std::chrono::nanoseconds waited{};     ///< by those it was handed on to
    std::chrono::nanoseconds last_wait{};  ///< of the present holder
    instant shown_until = start_of_time;   ///< somebody looks at it: what happens is remembered
    std::unique_ptr<lock_history> history{};
    /// Who has just given the lock to somebody that waited for long.
    struct blocker {
        std::string owner{};
        uint64_t client = 0;
        std::chrono::nanoseconds held{};
    };
    std::unique_ptr<blocker> blocked_by{};
    instant expiry{};  ///< when to look again; belongs to the heap

    // From here on what every refusal reads: about hot_bytes.
    seats polling;
    uint32_t heap_index = not_in_heap;  ///< belongs to the heap
    lock_line* next = nullptr;          ///< in its bucket; belongs to node_map

private:
    friend named_node<lock_line>;
    lock_line(const lock_key& key, uint64_t line_hash, const policy_book& policies)
        : database(key.database),
          _policy(policies, key.name),
          _name_bytes(static_cast<uint32_t>(key.name.size())),
          _key_hash(key.hash),
          _hash(line_hash) {}
    ~lock_line() = default;

    uint32_t _name_bytes;
    key_hash _key_hash;
    uint64_t _hash;
};

/// Lines whose key may have come free.
using line_list = boost::intrusive::list<lock_line, boost::intrusive::constant_time_size<false>>;

}  // namespace lockkeeper::shards
