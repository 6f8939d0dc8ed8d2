#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shards/core/bound_grants.hh"
#include "shards/core/clock.hh"
#include "shards/core/grant_types.hh"
#include "shards/core/habit_log.hh"
#include "shards/core/keyspace.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/slow_log.hh"

namespace lockkeeper::shards {

/// Who holds which lock, and whether one more may. Knows nothing of queues: it answers for this
/// instant. Belongs to a lock_table.
///
/// A lock with one owner is a string entry whose value is the owner, the same that `SET key owner
/// NX` makes: clients of Redis and native ones meet at one lock. Locks of several owners are
/// entries of their own kind.
///
/// Invariants (I1, I2, I9 of docs/safety.md, asserted where they could break):
/// - An exclusive lock has one owner; a semaphore never gives more permits than it has.
/// - The end that an owner was told is never later than that of its entry.
/// - Every grant has a fence greater than that of each grant of its key before.
class grant_book {
public:
    grant_book(keyspace& keys, const policy_book& policies)
        : slow(keys.options().slow.entries), _keys(keys), _policies(policies) {}

    /// Grants, or tells until when it cannot. An owner that asks again has one hold more.
    lock_result<grant_outcome> take(const grant_request& request, instant now);
    /// Whether this owner holds it, in whatever mode.
    bool holds(const lock_key& key, std::string_view owner, instant now);
    /// And by the grant with this fence.
    bool holds(const lock_key& key, std::string_view owner, uint64_t fence, instant now);
    /// All of several locks are there, and this is one of them, by the fence that `repeats` says:
    /// from now on it has its TTL, or lives by this connection. What its owner had before keeps a
    /// later end. Nothing if it has been lost meanwhile.
    lock_result<std::optional<grant>> confirm(const grant_request& request, collected_as how,
                                              instant now);

    /// Holds left; nothing if not the owner.
    lock_result<std::optional<int64_t>> release(const lock_key& key, std::string_view owner,
                                                instant now);
    /// One hold, and only of the grant with this fence: one whose owner cannot be told.
    bool take_back(const lock_key& key, std::string_view owner, uint64_t fence, instant now);
    /// The new end; nothing if not the owner. A lock bound to a connection is so no longer.
    lock_result<std::optional<instant>> extend(const lock_key& key, std::string_view owner,
                                               std::chrono::milliseconds ttl, instant now);
    /// Ends all grants; their owners lose them. False if there were none.
    bool break_lock(const lock_key& key, instant now);
    /// EXPIRE and PERSIST of a lock, whoever holds it: all of them end then. To be called after
    /// keyspace::reserve_expiry.
    void reschedule(lock_entry& entry, expiry_change end, instant now);
    /// Somebody gives a lock an end of its own, which counts from now on: also when its connection
    /// ends, and also against the policy `renew`.
    void stop_renewing(lock_entry& entry);
    /// A plain lock goes over to another connection of its owner.
    void move_to(lock_entry& entry, uint64_t client);

    /// In the order of their grants. Views into the table.
    std::vector<holder_view> holders(const lock_key& key, instant now);

    /// A lock with a TTL that lives as long as the connection of its client: policy `renew`.
    void keep_alive(lock_entry& entry, std::chrono::milliseconds ttl, instant now);
    /// A client's connection has ended: what is bound to it ends after its grace. Promises are
    /// kept: a lock with a TTL goes on for that long.
    void client_left(uint64_t client, instant now, std::chrono::milliseconds at_least);

    /// Expired holders of a lock with several leave; true if the entry is gone with the last one.
    bool prune(lock_entry& entry, instant now);
    /// When the next holder of this entry ends.
    static std::optional<instant> next_end(lock_entry& entry);
    /// Up to so many locks of several holders, of which one has ended before the others: it is
    /// told, and leaves.
    size_t prune_due(instant now, size_t budget);
    std::optional<instant> next_pruning() const {
        return _ends.empty() ? std::nullopt : std::optional(_ends.top().expiry);
    }

    // For the watcher of the keyspace.
    void leaving(lock_entry& entry, entry_watcher::reason why, instant now);
    void flushing(uint32_t database) { _bound.remove_database(database); }

    std::vector<lost_grant> take_lost() { return std::exchange(_lost, {}); }
    bool has_lost() const { return !_lost.empty(); }

    grant_counters counted{};
    slow_log slow;
    habit_log habits{};

    /// For tests: says what is broken, or nothing.
    std::optional<std::string> verify() const;

private:
    lock_result<grant_outcome> create(const grant_request& request, instant now);
    lock_result<grant_outcome> take_again(lock_entry& entry, const grant_request& request,
                                          instant now);
    lock_result<grant_outcome> downgrade(lock_entry& entry, const grant_request& request,
                                         instant now);
    lock_result<grant_outcome> join(lock_entry& entry, const grant_request& request, instant now);
    instant end_of(const grant_request& request, instant now) const;
    void attach(lock_entry& entry, const grant_request& request, instant now);
    void leave_behind(const bound_grants::item& what, uint64_t client, instant until, instant now);
    void settle_expiry(lock_entry& entry, instant now);
    void note_first_end(lock_entry& entry);
    instant promised_end(lock_entry& entry, instant now) const;
    bool lives_by_connection(lock_entry& entry) const;
    void unbind(lock_entry& entry, uint64_t client);
    void lose(lock_entry& entry, std::string_view owner, uint64_t fence, uint64_t client);

    keyspace& _keys;
    const policy_book& _policies;
    bound_grants _bound;
    due_heap<holder_list> _ends;
    std::vector<lost_grant> _lost;
};

}  // namespace lockkeeper::shards
