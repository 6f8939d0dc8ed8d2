#include <algorithm>

#include "lock_oracle.hh"
#include "violation.hh"

/// The part of the oracle that knows who is next.
namespace lockkeeper::sim {

using namespace std::chrono_literals;
using shards::end_of_time;
using shards::poller_rule;
using answer = expected::answer;
using state = shards::waiter::state;

instant lock_oracle::end_of(const lock& of, const wish& what) const {
    const milliseconds most = of.plan->policy.max_hold;
    return what.ttl ? _now + *what.ttl : most > 0ms ? _now + most : end_of_time;
}

expected lock_oracle::decide(const lock& of, const wish& what, bool has_fences) const {
    const auto with_fence = [&] {
        return has_fences ? expected::to(answer::granted) : expected::to_fail(lock_error::no_fence);
    };
    if (of.what == kind::none) {
        return _now < _plan.options.grants_from ? expected::to_fail(lock_error::starting)
                                                : with_fence();
    }
    const bool is_semaphore = of.what == kind::several && of.mode == lock_mode::permits;
    if (of.what == kind::hash || (what.is_parked && !is_semaphore)) {
        return expected::to(answer::refused);
    }
    const bool semaphore = what.mode == lock_mode::permits;
    if (semaphore != is_semaphore) {
        return expected::to_fail(lock_error::other_lock_type);
    }
    const holder* const own = find(of, what.owner);
    if (of.what == kind::plain) {
        return own == nullptr                      ? expected::to(answer::refused)
               : what.mode == lock_mode::exclusive ? expected::to(answer::granted)
                                                   : with_fence();
    }
    if (semaphore && what.of != of.of) {
        return expected::to_fail(lock_error::other_permits);
    }
    if (what.mode == lock_mode::exclusive) {
        return own != nullptr ? expected::to_fail(lock_error::upgrade)
                              : expected::to(answer::refused);
    }
    if (own != nullptr && own->permits != what.permits) {
        return expected::to_fail(lock_error::other_permits);
    }
    uint64_t out = 0;
    for (const holder& each : of.holders) {
        out += each.permits * static_cast<uint64_t>(each.holds);
    }
    if (semaphore && out + what.permits > of.of) {
        return expected::to(answer::refused);
    }
    return own != nullptr ? expected::to(answer::granted) : with_fence();
}

/// The lock is absent, and somebody asks who does not wait.
expected lock_oracle::at_the_door(const lock& of, uint32_t actor, expected if_open) const {
    if (_now < of.closed_from) {
        return expected::to(answer::refused);
    }
    const auto its = std::ranges::find_if(of.seats, [&](const seat& each) {
        // Who comes back late may find that its seat has not been cleared away yet.
        return each.actor == actor && !each.is_over && each.asked >= 2 && has_waited(of, each);
    });
    // Nobody is in line but those whose time is over, if the table has noticed that.
    const bool all_late =
        std::ranges::all_of(of.queue, [&](const place* each) { return each->deadline <= _now; });
    if (!all_late && its == of.seats.end()) {
        return expected::to(answer::refused);
    }
    if (_now < of.closed_until || is_reserved_perhaps(of) || (all_late && !of.queue.empty())) {
        return if_open.what == answer::failed ? expected{answer::either, if_open.error}
                                              : expected::to(answer::either);
    }
    return of.queue.empty() ? if_open : expected::to(answer::refused);
}

expected lock_oracle::expect_take(size_t key, const wish& what, bool has_fences) const {
    const lock& of = at(key);
    const expected now = decide(of, what, has_fences);
    if (of.what == kind::none) {
        return at_the_door(of, what.actor, now);
    }
    if (!of.queue.empty() && (of.what == kind::hash || find(of, what.owner) == nullptr)) {
        return expected::to(answer::refused);
    }
    if (of.what == kind::several && find(of, what.owner) == nullptr) {
        if (_now < of.closed_from) {
            return expected::to(answer::refused);
        }
        if (_now < of.closed_until) {
            return now.what == answer::failed    ? expected{answer::either, now.error}
                   : now.what == answer::granted ? expected::to(answer::either)
                                                 : now;
        }
    }
    return now;
}

lock_oracle::grant_kind lock_oracle::took(size_t key, const wish& what, const grant& given) {
    lock& of = at(key);
    const instant end = end_of(of, what);
    const milliseconds grace = of.plan->policy.grace;
    holder fresh{.owner = what.owner,
                 .client = what.connection,
                 .fence = given.fence,
                 .until = end,
                 .permits = what.permits,
                 .bound = !what.ttl,
                 .after = grace};
    holder* const own = find(of, what.owner);
    instant told = end;
    int64_t holds = 1;
    auto result = grant_kind::fresh;
    if (of.what == kind::none) {
        overtook(of, what.actor);
        create(of, what.mode == lock_mode::exclusive ? kind::plain : kind::several,
               std::move(fresh));
        of.mode = what.mode;
        of.of = what.of;
        of.native = !what.is_parked;
        of.delays = of.plan->policy.lock_delay > 0ms;
        if (what.is_parked && what.ttl && of.plan->policy.renew) {
            keep_alive(of, *what.ttl);
        }
    } else if (own == nullptr) {
        of.holders.push_back(std::move(fresh));
    } else if (what.is_collected) {
        told = own->until;
        holds = ++own->holds;
        result = grant_kind::same;
        of.orphaned = false;
        demand(own->fence == given.fence, "P2", "a second hold has another fence");
    } else {
        const bool downgrade = of.what == kind::plain && what.mode == lock_mode::shared;
        if (own->bound && !of.native) {
            // Kept alive by its policy, and promised for its TTL.
            own->until = std::min(own->until, _now + own->after);
            own->bound = false;
        }
        const bool keeps_connection = own->bound && what.ttl;
        const instant promised = own->bound ? std::min(own->until, own->not_before) : own->until;
        own->until = std::max(own->until, end);
        told = keeps_connection ? std::max(promised, end) : own->until;
        holds = own->holds = downgrade ? own->holds : own->holds + 1;
        own->not_before = keeps_connection ? told : promised;
        if (!what.ttl || (downgrade && !own->bound)) {
            own->client = what.connection;
            own->after = grace;
            own->bound |= !what.ttl;
        }
        result = downgrade ? grant_kind::fresh : grant_kind::same;
        demand(downgrade || own->fence == given.fence, "P2", "a second hold has another fence");
        own->fence = given.fence;
        if (downgrade) {
            of.what = kind::several;
            of.mode = lock_mode::shared;
            of.granted = _now;
        }
        of.native = true;
        of.orphaned = false;
    }
    demand(given.until == told, "P1", "an owner was told of another end than its grant has");
    demand(given.holds == holds, "I9", "holds are miscounted");
    won(of, what.actor);
    return result;
}

// ---- queues -------------------------------------------------------------------------------------

std::optional<lock_error> lock_oracle::expect_entry(const place& who) const {
    const lock& of = at(who.key_index);
    if (waiting() >= _plan.waiting.waiters_max || of.queue.size() >= of.plan->policy.max_waiters) {
        return lock_error::too_many_waiters;
    }
    if (of.queue.empty()) {
        return std::nullopt;
    }
    const place& first = *of.queue.front();
    if ((first.mode == lock_mode::permits) != (who.mode == lock_mode::permits)) {
        return lock_error::other_lock_type;
    }
    return who.mode == lock_mode::permits && first.of != who.of
               ? std::optional(lock_error::other_permits)
               : std::nullopt;
}

void lock_oracle::entered(place& who) {
    auto& queue = at(who.key_index).queue;
    const auto behind = std::ranges::find_if(queue, [&](const place* each) {
        return each->priority < who.priority ||
               (each->priority == who.priority && each->came > who.came);
    });
    queue.insert(behind, &who);
}

std::optional<lock_oracle::grant_kind> lock_oracle::ended(place& who) {
    lock& of = at(who.key_index);
    const auto its = std::ranges::find(of.queue, &who);
    demand(its != of.queue.end(), "I11", "a wait ended that had ended before");
    const bool was_first = its == of.queue.begin();
    of.queue.erase(its);
    switch (who.how) {
        case state::granted: {
            demand(was_first, "P3", "somebody was granted before those who came earlier");
            demand(who.deadline > _now, "P5", "somebody was granted after its deadline");
            demand(find(of, who.owner) != nullptr || _now >= of.closed_from, "lock-delay",
                   "a lock was handed on within its delay");
            const expected now = decide(of, who.wanted(), true);
            demand(now.what == answer::granted, "P1", "a lock was handed on that was not free");
            return took(who.key_index, who.wanted(), who.given);
        }
        case state::timed_out:
            demand(who.deadline <= _now, "P5", "a wait ended before its deadline");
            return std::nullopt;
        case state::cancelled:
            demand(who.asked_to_leave, "I11", "a wait was cancelled by nobody");
            return std::nullopt;
        case state::refused: {
            const expected now = decide(of, who.wanted(), true);
            demand(now.what == answer::failed && now.error == who.error, "I11",
                   "a wait was refused without a reason");
            return std::nullopt;
        }
        default:
            throw violation("I11", "a wait ended in no way");
    }
}

void lock_oracle::check_served() {
    for (lock& each : _locks) {
        if (each.queue.empty()) {
            continue;
        }
        const place& first = *each.queue.front();
        demand(first.deadline > _now, "P4", "a wait goes on after its deadline");
        const expected now = decide(each, first.wanted(), true);
        if (now.what == answer::refused || _now <= each.closed_until + lateness ||
            _now <= _plan.options.grants_from + lateness || _now - _had_no_fence <= 20ms) {
            continue;
        }
        if (each.what == kind::none && is_reserved_perhaps(each)) {
            const instant since = std::max({each.free_since, each.closed_until, first.since,
                                            _plan.options.grants_from, _had_no_fence});
            const auto patience = 2 * longest_pause(each) * (1 + each.seats.size()) + 4 * lateness;
            if (_now - since <= patience) {
                continue;
            }
        }
        throw violation("P4", "the first in line for " + each.plan->name + " in database " +
                                  std::to_string(each.plan->database) +
                                  " could be granted and waits");
    }
}

// ---- those who poll -----------------------------------------------------------------------------

/// For six pauses, and what was kept for it at the end of them for two more.
bool lock_oracle::is_remembered(const seat& who) const {
    return who.asked >= 2 && _now - who.last <= 8 * who.longest_pause + 52ms + lateness;
}

bool lock_oracle::is_eligible(const lock& of, const seat& who) const {
    return is_remembered(who) && has_waited(of, who);
}

/// For long enough to be preferred to those who came later.
bool lock_oracle::has_waited(const lock& of, const seat& who) const {
    return of.plan->policy.pollers == poller_rule::reserve ||
           _now - who.first >= of.plan->policy.starvation_after;
}

bool lock_oracle::is_reserved_perhaps(const lock& of) const {
    return std::ranges::any_of(of.seats, [&](const seat& each) { return is_eligible(of, each); });
}

nanoseconds lock_oracle::longest_pause(const lock& of) const {
    nanoseconds longest = 2ms;
    for (const seat& each : of.seats) {
        longest = std::max(longest, each.longest_pause);
    }
    return longest;
}

/// Who comes with another token over another connection is another client to everybody but itself.
void lock_oracle::refused(size_t key, uint32_t actor, uint64_t connection, std::string_view token,
                          asks again) {
    lock& of = at(key);
    std::erase_if(of.seats, [&](const seat& each) { return each.is_over && !is_remembered(each); });
    const auto is_its = [&](const seat& each) {
        return each.token == token || (each.connection == connection && !each.keeps_token);
    };
    seat* its = nullptr;
    for (seat& each : of.seats) {
        if (each.actor == actor && !each.is_over) {
            its = is_its(each) ? &each : its;
            each.is_over = !is_its(each);
        }
    }
    if (its == nullptr) {
        of.seats.push_back({.actor = actor,
                            .connection = connection,
                            .token = std::string(token),
                            .first = _now,
                            .last = _now,
                            .steady_since = _now,
                            .polls = again == asks::regularly});
    } else {
        const nanoseconds pause = _now - its->last;
        its->keeps_token |= its->token == token;
        its->token = token;
        its->connection = connection;
        its->longest_pause = std::max(its->longest_pause, pause);
        if (its->steady > 1 && (its->steady - 1) * pause > 2 * (its->last - its->steady_since)) {
            its->steady_since = _now;
            its->steady = 0;
            its->overtaken = 0;
        }
        its->last = _now;
        ++its->asked;
        ++its->steady;
    }
    if (of.what != kind::none || !of.queue.empty() || _now < of.closed_until) {
        of.refused_since.reset();
        return;
    }
    const instant since = of.refused_since.value_or(_now);
    of.refused_since = since;
    demand(_now - since <= 8 * longest_pause(of) + 50ms + 2 * lateness, "P4",
           "a lock is free, and nobody gets it");
}

/// Somebody has a lock that was free.
void lock_oracle::won(lock& of, uint32_t actor) {
    for (seat& each : of.seats) {
        each.is_over |= each.actor == actor;
    }
}

/// P3: who has asked for longer than the policy allows is not overtaken for ever. Each of the
/// others may come before it once, or twice; those who have gone are waited for a few times.
void lock_oracle::overtook(lock& of, uint32_t actor) {
    for (seat& each : of.seats) {
        // Only who asks at regular intervals can be waited for.
        const bool asks =
            each.polls && !each.is_over && each.steady > 2 &&
            (each.steady - 1) * (_now - each.last) <= 2 * (each.last - each.steady_since) &&
            _now - each.steady_since >= of.plan->policy.starvation_after;
        if (!asks || each.actor == actor) {
            continue;
        }
        demand(++each.overtaken <= 4 * _plan.clients() + 20, "P3",
               "a client that polls is starved");
    }
}

}  // namespace lockkeeper::sim
