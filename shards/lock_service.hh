#pragma once

#include <functional>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/semaphore.hh>
#include <seastar/core/timer.hh>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shards/announcement.hh"
#include "shards/blocked_pops.hh"
#include "shards/core/clock.hh"
#include "shards/core/deadlock.hh"
#include "shards/core/held_back_tries.hh"
#include "shards/core/key_hash.hh"
#include "shards/core/lock_table.hh"
#include "shards/core/poll_pauses.hh"
#include "shards/fence_ceiling.hh"
#include "shards/fleet.hh"
#include "shards/lease_keeper.hh"
#include "shards/lock_order.hh"
#include "shards/read_clock.hh"
#include "shards/waiting_client.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Whether somebody has the turn of the core that it comes to: see lock_service.
enum class turn : uint8_t { wait_for_it, have_it };

/// Everything one core knows about its locks: the table, time for it, and the turn.
///
/// Commands run on a core without suspension, so each is atomic by itself. A command over keys of
/// several cores takes the turn of each of them, in the order of the cores, and keeps them until it
/// is done; meanwhile other commands for these cores wait. Who finds the turn taken comes back
/// later, in order.
class lock_service {
public:
    lock_service(hash_seed seed, lock_table_options options, policy_book policies = policy_book(),
                 waiting_room_options waiting = {});

    ss::future<> start();
    ss::future<> stop();

    const key_hasher& hasher() const { return _hasher; }
    /// The core that owns a key.
    ss::shard_id core_of(std::string_view key) const;

    lock_table& table() { return _table; }
    /// In two steps, of which only the first one can fail: other policies for what is decided next.
    void prepare_policies(policy_book next) { _next_policies = std::move(next); }
    void change_policies() noexcept;
    /// Whether locks with a TTL may live by connections: by the policies, by earlier ones, or by
    /// those that another core may have already.
    bool may_renew() const {
        return _table.policies().has_renewed() || (_next_policies && _next_policies->has_renewed());
    }
    /// Masters stand behind the table from now on.
    ss::future<> start_fleet(const config::config& settings, std::string proxy);
    /// Null if there are none.
    lease_keeper* leases() { return _leases; }
    const fleet* masters() const { return _fleet ? &*_fleet : nullptr; }
    fleet* masters() { return _fleet ? &*_fleet : nullptr; }
    blocked_pops& waiting_pops() { return _waiting_pops; }

    /// Where announcements of this core's locks go, from now on. Without it nobody hears them.
    void announce_to(announcer& who) { _announcer = &who; }
    void announce(announcement what) {
        if (_announcer) {
            _announcer->announce(std::move(what));
        }
    }

    /// Fences of the embedded store come from here, from now on; without it they have no end.
    void supply_fences(fence_ceiling& ceiling) { _fences.emplace(_table.fences(), ceiling); }

    /// Who hears of grants that ended before their time. Without it nobody does.
    void tell_losses_to(std::function<void(lost_grant)> listener) { _losses = std::move(listener); }

    lock_key key(uint32_t database, std::string_view name) const {
        return {database, name, _hasher.place(name).bucket};
    }

    /// Takes a lock, or a place in line for it. The future ends with the wait.
    ss::future<lock_answer> acquire(lock_order order);
    /// The same for somebody who has the turn, and so cannot wait.
    ss::future<lock_answer> acquire_in_turn(lock_order order);
    /// Who polls, of the connections of this core.
    poll_pauses& pollers() { return _pollers; }
    /// How many waits for a lock have been answered here.
    uint64_t waits_ended() const { return _waits_ended; }
    /// Ends the wait of a client, if there is one: of a pop, or for a lock.
    bool cancel_wait(uint64_t client);
    /// LK.EXTEND: the new end, once the masters hold it that long; nothing if not the owner.
    ss::future<lock_result<std::optional<instant>>> extend(turn whose, uint32_t database,
                                                           std::string key, std::string owner,
                                                           std::chrono::milliseconds ttl);
    /// One of several locks, now that all of them are there: what it has from now on, once the
    /// masters hold it that long; nothing if it has been lost.
    ss::future<lock_result<std::optional<grant>>> confirm(turn whose, lock_order order);
    /// Gives back one hold of this very grant.
    ss::future<> take_back(turn whose, uint32_t database, std::string key, std::string owner,
                           uint64_t fence);
    /// Ends one wait of a client, the one that began then, with an error.
    bool refuse_wait(uint64_t client, instant since, lock_error why);
    /// Marks it as seen in a circle, or not.
    void mark_deadlock(uint64_t client, instant since, bool is_in_one);
    /// A client's connection has ended.
    void client_left(uint64_t client, std::chrono::milliseconds at_least);

    /// To be called when a command has run: hands on what it freed, and tells those who waited.
    /// While a command over several cores runs it waits for its end.
    void settle(instant now) {
        if (turn_is_free()) {
            finish(now);
        }
    }

    /// False while a command over several cores runs: then take_turn() first.
    bool turn_is_free() const { return _turn.available_units() > 0 && _turn.waiters() == 0; }
    ss::future<> take_turn() { return _turn.wait(); }
    void give_turn();
    /// Does something to the table, at once, when the turn is free. `work` must settle().
    template <typename Work>
    ss::futurize_t<std::invoke_result_t<Work&>> in_turn(turn whose, Work work) {
        if (whose == turn::have_it || turn_is_free()) {
            return ss::futurize_invoke(work);
        }
        return take_turn().then([this, work = std::move(work)]() mutable {
            auto done = ss::futurize_invoke(work);
            give_turn();
            return done;
        });
    }

    /// Elements were pushed to a list: who waits for them gets them, at once or, while a command
    /// over several cores runs, when it is done. What a transaction pushes and takes away again
    /// nobody else sees.
    void pushed(uint32_t database, std::string_view key, instant now);

private:
    void remove_expired();
    void finish(instant now);
    void tell_ended();
    void look_soon(instant due);
    void look_at(instant when);
    waiting_client* find_wait(uint64_t client, instant since);
    grant_request request_of(const lock_order& order) const;
    ss::future<lock_answer> acquire_now(turn whose, lock_order order);
    ss::future<lock_answer> wait_for(lock_order order, instant now);
    ss::future<lock_answer> when_covered(uint32_t database, std::string name, std::string owner,
                                         lock_answer answer);
    ss::future<bool> are_covered(std::vector<wanted_lease> wanted);
    std::vector<wanted_lease> take_wanted();
    ss::future<lock_answer> cover(uint32_t database, std::string name, std::string owner,
                                  lock_answer answer);
    ss::future<lock_answer> acquire_with_lease(turn whose, lock_order order);
    ss::future<lock_answer> acquire_or_send_home(lock_order order);
    ss::future<lock_answer> acquire_as_home(lock_order order);
    ss::future<lock_answer> acquire_here(lock_order order);

    key_hasher _hasher;
    lock_table _table;
    std::optional<policy_book> _next_policies;
    blocked_pops _waiting_pops;
    announcer* _announcer = nullptr;
    ss::semaphore _turn{1};
    std::vector<std::pair<uint32_t, std::string>> _pushed;  ///< in this turn
    ss::timer<> _expiry_timer;
    std::optional<fence_supply> _fences;
    waiting_clients _waiting;
    uint64_t _waits_ended = 0;
    held_back_tries _held_back;
    poll_pauses _pollers;
    /// Clients whose acquire waits for the turn, or for news of who has the key.
    std::set<uint64_t> _before_turn;
    std::function<void(lost_grant)> _losses;
    std::optional<fleet> _fleet;
    lease_keeper* _leases = nullptr;
    ss::timer<> _due_timer;
    instant _due_at = end_of_time;       ///< what the timer is set to
    instant _looked_at = start_of_time;  ///< when it went off last
};

}  // namespace lockkeeper::shards
