#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shards/core/clock.hh"
#include "shards/core/entry_map.hh"
#include "shards/core/expiry_heap.hh"
#include "shards/core/grant_book.hh"
#include "shards/core/keyspace.hh"
#include "shards/core/lock_line.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/poll_pauses.hh"
#include "shards/core/time_histogram.hh"
#include "shards/core/waiter.hh"

namespace lockkeeper::shards {

struct waiting_room_options {
    /// Clients in all queues of one core.
    size_t waiters_max = 1'000'000;
    /// Keys with somebody in line, the seats of those who poll included. Beyond it pollers are not
    /// remembered.
    size_t lines_max = 200'000;
};

/// How long clients have waited in line, by how that ended, and how many stood before each.
struct wait_times {
    time_histogram granted{};
    time_histogram timed_out{};
    time_histogram cancelled{};
    time_histogram refused{};
    /// Number i counts those who found at least 2^i, and less than twice as many, before them; the
    /// first one those who found nobody or one.
    std::array<uint64_t, 20> before{};
    uint64_t sum_before = 0;
};

/// Everyone who is in line for a lock of this core, and who gets it next. Belongs to a lock_table.
///
/// A key with somebody in line has a lock_line, and its entry bears the mark `awaited`: when the
/// entry goes, the line is *stirred*, and settle() hands the lock on. settle() is to be called
/// before anybody else looks at the table: at the end of each command, and of each transaction.
///
/// Order (P3): those who wait are served strictly by priority and arrival. A newcomer that waits
/// goes behind them even if it could share the lock; one that does not wait is refused. Those who
/// poll compete for a lock that nobody waits for; the policy says when one is kept for them.
///
/// Invariants (I8, I10, I11 of docs/safety.md):
/// - After settle() the first in line of each key cannot be granted at this instant.
/// - A waiter ends exactly once: granted, timed out, cancelled or refused.
class waiting_room final : public entry_watcher {
public:
    waiting_room(keyspace& keys, grant_book& grants, const policy_book& policies,
                 waiting_room_options options)
        : _keys(keys), _grants(grants), _policies(policies), _options(options) {}

    /// Asks for the memory that the door will read, as keyspace::fetch() does.
    void fetch(const lock_key& key, keyspace::fetched what) const {
        what == keyspace::fetched::bucket ? _lines.fetch_bucket(hash_of(key))
                                          : _lines.fetch_node(hash_of(key));
    }

    // At the door.
    /// The key is absent: whether somebody who will not wait may have it now.
    bool may_take(const lock_key& key, caller who, instant now);
    /// It was refused, and will perhaps ask again.
    void refused(const lock_key& key, lock_entry* entry, caller who, instant now);
    /// The last one that was refused not for the first time, by a policy that may hold back its
    /// next try. Only once.
    std::optional<polled_try> take_polled() { return std::exchange(_polled, std::nullopt); }
    /// Who has a seat gives it up for a place in line: since when it had it.
    std::optional<instant> stand_up(const lock_key& key, caller who);
    /// Releases of this key are told to those who sleep until then.
    void announced(const lock_key& key);
    /// It was given the lock.
    void took(const lock_key& key, caller who, lock_entry& entry);
    /// The key has come into being in another way.
    void appeared(const lock_key& key, lock_entry& entry);
    /// Released what it does not hold.
    void gave_up(const lock_key& key, uint64_t token, instant now);
    /// Whether somebody with this token has asked in vain of late.
    bool polls(const lock_key& key, uint64_t token) const;
    /// When a key that is absent, and that may_take() refused, is to be looked at again.
    std::optional<instant> opens_at(const lock_key& key) const;

    /// Whether somebody waits for this key.
    bool has_queue(const lock_key& key) const;
    /// Whether it has others, and nobody else gets it for a while.
    bool is_closed(const lock_key& key, instant now) const;
    /// Takes a place at the end. Refused with too_many_waiters, other_lock_type or other_permits.
    lock_result<void> enter(waiter& who, const lock_key& key, instant now);
    /// Ends a wait before its time.
    void leave(waiter& who, waiter::state how, lock_error error, instant now);

    // Time.
    /// Hands on what has come free.
    void settle(instant now) {
        if (!_stirred.empty()) [[unlikely]] {
            serve_stirred(now);
        }
    }
    /// Remembers what happens to this key until then, for somebody who looks.
    void show(const lock_key& key, instant until, instant now);
    /// Something about this key has changed that the table cannot see: its lease.
    void stir(const lock_key& key);
    /// Deadlines, holders that ended, reservations: whatever is due.
    void advance(instant now);
    /// When advance() has something to do.
    std::optional<instant> next_due() const;

    /// Those whose wait has ended, one after the other; then null.
    waiter* take_ended();
    bool has_ended() const { return !_ended.empty(); }

    size_t waiters() const { return _waiters; }
    size_t lines() const { return _lines.size(); }
    const wait_times& waited() const { return _waited; }
    const lock_line* find(const lock_key& key) const;
    lock_line* find(const lock_key& key);
    void for_each(const std::function<void(lock_line&)>& visit);
    /// A few of them: from 0 on, then from what it returned, until that is end_of_lines. Each line
    /// that is there all the while is visited once.
    static constexpr uint64_t end_of_lines = node_map<lock_line>::end_of_positions;
    uint64_t visit_some(uint64_t from, const std::function<void(lock_line&)>& visit) {
        return _lines.visit_bucket(from, visit);
    }

    void leaving(lock_entry& entry, reason why, instant now) override;
    void holder_expired(lock_entry& entry, instant now) override;
    void rescheduled(lock_entry& entry, instant now) override;
    void flushing(uint32_t database) override;
    void held_long(lock_entry& entry, reason why, instant end) override;

    /// For tests: says what is broken, or nothing. Only between settle() and the next call.
    std::optional<std::string> verify(instant now);

private:
    lock_line* open(const lock_key& key, instant now);
    lock_line* close_for_delay(const lock_key& key, instant now);
    bool close_if_idle(lock_line& line, instant now);
    void stir(lock_line& line);
    /// Its lock comes free: nobody is to be served, and it is kept for nobody.
    bool is_open_to_all(const lock_line& line, instant now) const;
    void appeared(lock_line& line, lock_entry& entry);
    void note_blocker(lock_line& line, lock_entry& entry, instant now);
    void note_slow_wait(lock_line& line, const waiter& who, waiter::state how, instant now);
    void note_end(lock_line& line, lock_entry& entry, reason why, instant now);
    void serve_stirred(instant now);
    void serve(lock_line& line, instant now);
    /// The key is free and nobody may have it yet: true, and the line knows when to look again.
    bool keep_free(lock_line& line, instant now, bool lapsed);
    enum class service : uint8_t { served, must_wait, try_soon, needs_lease };
    service serve_first(lock_line& line, instant now);
    void end(waiter& who, waiter::state how, instant now);
    void look_again(lock_line& line, instant when);
    static uint64_t hash_of(const lock_key& key);

    keyspace& _keys;
    grant_book& _grants;
    const policy_book& _policies;
    waiting_room_options _options;
    node_map<lock_line> _lines;
    line_list _stirred;
    due_heap<lock_line> _due;
    due_heap<waiter> _deadlines;
    waiter_list _ended;
    size_t _waiters = 0;
    wait_times _waited;
    std::optional<polled_try> _polled;
};

}  // namespace lockkeeper::shards
