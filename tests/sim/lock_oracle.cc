#include "lock_oracle.hh"

#include <algorithm>

#include "violation.hh"

namespace lockkeeper::sim {

using namespace std::chrono_literals;
using shards::end_of_time;
using shards::poller_rule;
using answer = expected::answer;

lock_oracle::lock_oracle(const schedule& plan) : _plan(plan) {
    for (const key_plan& each : plan.keys) {
        lock& fresh = _locks.emplace_back();
        fresh.plan = &each;
        fresh.free_since = start;
    }
}

lock_oracle::holder* lock_oracle::find(lock& of, std::string_view owner) {
    const auto found = std::ranges::find(of.holders, owner, &holder::owner);
    return found == of.holders.end() ? nullptr : &*found;
}

const lock_oracle::holder* lock_oracle::find(const lock& of, std::string_view owner) {
    return find(const_cast<lock&>(of), owner);
}

// ---- ends ---------------------------------------------------------------------------------------

void lock_oracle::tick(instant now) {
    _now = now;
    for (lock& each : _locks) {
        if (each.what == kind::none) {
            continue;
        }
        instant last = shards::start_of_time;
        for (size_t i = 0; i < each.holders.size();) {
            const holder who = each.holders[i];
            last = std::max(last, who.until);
            if (who.until > now) {
                ++i;
                continue;
            }
            lose(each, who);
            close(each, who.until);
            each.holders.erase(each.holders.begin() + static_cast<ptrdiff_t>(i));
        }
        if (each.holders.empty()) {
            gone(each, why::expired, last);
        }
    }
}

void lock_oracle::lose(lock& of, const holder& who) {
    if (of.native) {
        _losses.push_back(
            {static_cast<size_t>(&of - _locks.data()), who.owner, who.fence, who.client});
    }
}

/// Somebody ended without a word, and the lock has a delay: nobody new gets it for a while. The
/// table closes it when it notices, which may be at the next clearing only.
void lock_oracle::close(lock& of, instant when) {
    if (of.delays) {
        of.closed_from = std::max(of.closed_from, when + of.plan->policy.lock_delay);
        of.closed_until = std::max(of.closed_until, of.closed_from + clearing_interval + lateness);
    }
}

void lock_oracle::gone(lock& of, why how, instant when) {
    if (how != why::released) {
        for (const holder& each : of.holders) {
            lose(of, each);
        }
    }
    _expired += how == why::expired ? 1 : 0;
    if (how == why::expired && of.delays) {
        ++_delayed;
        close(of, when);
    }
    if (how == why::removed) {
        // If the table had not noticed yet that one of its holders ended, it never does.
        of.closed_from = shards::start_of_time;
    }
    of.holders.clear();
    of.what = kind::none;
    of.native = of.orphaned = of.delays = false;
    of.free_since = when;
}

bool lock_oracle::broken(size_t key) {
    return removed(key);
}

bool lock_oracle::removed(size_t key) {
    if (!present(key)) {
        return false;
    }
    gone(at(key), why::removed, _now);
    return true;
}

bool lock_oracle::removed_if(size_t key, std::string_view token) {
    const std::string* const held = text(key);
    if (held == nullptr || *held != token) {
        return false;
    }
    gone(at(key), why::released, _now);
    return true;
}

void lock_oracle::flush(uint32_t database) {
    for (lock& each : _locks) {
        if (each.plan->database != database) {
            continue;
        }
        if (each.what != kind::none) {
            gone(each, why::removed, _now);
        } else if (_now - each.free_since <= clearing_interval + lateness) {
            // It had ended, and went with the rest before that was noticed: then it has no delay.
            each.closed_from = shards::start_of_time;
        }
    }
}

void lock_oracle::disconnected(uint64_t connection) {
    for (lock& each : _locks) {
        for (holder& who : each.holders) {
            if (who.bound && who.client == connection) {
                who.bound = false;
                who.until = std::min(who.until, std::max(_now + who.after, who.not_before));
            }
        }
    }
    tick(_now);
}

lock_oracle::release lock_oracle::released(size_t key, std::string_view owner) {
    lock& of = at(key);
    if (of.what == kind::hash) {
        return {.fails = true};
    }
    holder* const own = find(of, owner);
    if (own == nullptr) {
        return {};
    }
    const int64_t left = --own->holds;
    if (left == 0) {
        of.holders.erase(of.holders.begin() + (own - of.holders.data()));
        if (of.holders.empty()) {
            gone(of, why::released, _now);
        }
    }
    return {.left = left};
}

bool lock_oracle::holds(size_t key, std::string_view owner, uint64_t fence) const {
    const holder* const own = find(at(key), owner);
    return own != nullptr && own->fence == fence;
}

std::optional<instant> lock_oracle::confirmed(size_t key, const wish& what, uint64_t fence,
                                              bool is_fresh) {
    lock& of = at(key);
    holder* const own = find(of, what.owner);
    if (of.what != kind::plain || own == nullptr || own->fence != fence) {
        return std::nullopt;
    }
    if (is_fresh && what.ttl && own->bound && own->client == what.connection) {
        own->until = std::max(_now + *what.ttl, own->not_before);
        own->bound = false;
        return own->until;
    }
    if (is_fresh && own->bound && own->client == what.connection) {
        return own->until;
    }
    const bool lives = own->bound && of.native;
    const instant promised = !own->bound ? own->until
                             : lives     ? std::min(own->until, own->not_before)
                                         : std::min(own->until, _now + own->after);
    const instant end = end_of(of, what);
    own->until = std::max(lives ? own->until : promised, end);
    const instant told = what.ttl && lives ? std::max(promised, end) : own->until;
    own->bound = lives || !what.ttl;
    own->not_before = what.ttl ? told : promised;
    if (!what.ttl) {
        own->client = what.connection;
        own->after = of.plan->policy.grace;
    }
    of.native = true;
    of.orphaned = false;
    return told;
}

std::optional<instant> lock_oracle::extended(size_t key, std::string_view owner, milliseconds ttl) {
    lock& of = at(key);
    holder* const own = of.what == kind::hash ? nullptr : find(of, owner);
    if (own == nullptr) {
        return std::nullopt;
    }
    own->until = _now + ttl;
    own->bound = false;
    of.orphaned = false;
    return own->until;
}

// ---- commands of Redis --------------------------------------------------------------------------

const std::string* lock_oracle::text(size_t key) const {
    const lock& of = at(key);
    return of.what == kind::plain ? &of.holders.front().owner : nullptr;
}

std::optional<instant> lock_oracle::until(size_t key) const {
    instant last = shards::start_of_time;
    for (const holder& each : at(key).holders) {
        last = std::max(last, each.until);
    }
    return last == end_of_time ? std::nullopt : std::optional(last);
}

bool lock_oracle::expire(size_t key, instant when) {
    if (!present(key)) {
        return false;
    }
    if (when <= _now) {
        gone(at(key), why::removed, _now);
        return true;
    }
    give_end(at(key), when);
    return true;
}

bool lock_oracle::expire_if(size_t key, std::string_view token, instant when) {
    const std::string* const held = text(key);
    if (held == nullptr || *held != token) {
        return false;
    }
    at(key).orphaned = false;
    return expire(key, when);
}

bool lock_oracle::persist(size_t key) {
    if (!present(key) || !until(key)) {
        return false;
    }
    give_end(at(key), end_of_time);
    return true;
}

/// An end of its own: it is not renewed by the policy any more.
void lock_oracle::give_end(lock& of, instant when) {
    for (holder& each : of.holders) {
        each.until = when;
        each.bound = each.bound && of.native;
    }
}

expected lock_oracle::expect_set_nx(size_t key, std::string_view token, uint32_t actor,
                                    uint64_t connection, bool has_fences) const {
    const lock& of = at(key);
    if (of.what == kind::none) {
        return at_the_door(of, actor, decide(of, {}, has_fences));
    }
    const bool is_resent = of.orphaned && of.what == kind::plain &&
                           of.holders.front().owner == token &&
                           of.holders.front().client != connection;
    return expected::to(is_resent ? answer::granted : answer::refused);
}

void lock_oracle::set_nx(size_t key, std::string_view token, uint32_t actor, uint64_t connection,
                         std::optional<milliseconds> ttl, uint64_t fence) {
    lock& of = at(key);
    const instant end = ttl ? _now + *ttl : end_of_time;
    if (of.what == kind::none) {
        overtook(of, actor);
        create(of, kind::plain,
               {.owner = std::string(token), .client = connection, .fence = fence, .until = end});
        of.delays = of.plan->policy.lock_delay > 0ms;
    } else {
        holder& own = of.holders.front();
        demand(own.fence == fence, "P2", "a lock that was asked for twice has another fence");
        own.client = connection;
        own.until = end;
        own.bound = false;
        of.orphaned = false;
        of.granted = _now;
    }
    if (ttl && of.plan->policy.renew && connection != 0) {
        keep_alive(of, *ttl);
    }
    won(of, actor);
}

void lock_oracle::set(size_t key, std::string_view token, std::optional<milliseconds> ttl,
                      uint64_t fence) {
    lock& of = at(key);
    const instant end = ttl ? _now + *ttl : end_of_time;
    if (of.what == kind::none) {
        create(of, kind::plain, {.owner = std::string(token), .fence = fence, .until = end});
        of.delays = of.plan->policy.lock_delay > 0ms;
        return;
    }
    of.orphaned = false;
    if (of.what == kind::plain && of.holders.front().owner == token) {
        give_end(of, end);
        return;
    }
    for (const holder& each : of.holders) {
        lose(of, each);
    }
    of.closed_from = shards::start_of_time;
    of.holders = {{.owner = std::string(token), .fence = fence, .until = end}};
    of.what = kind::plain;
    of.mode = lock_mode::exclusive;
    of.native = false;
    of.granted = _now;
}

void lock_oracle::orphan(size_t key, uint64_t connection) {
    lock& of = at(key);
    if (of.what == kind::plain && of.holders.front().client == connection &&
        _now - of.granted < 10s) {
        of.orphaned = true;
    }
}

void lock_oracle::keep_alive(lock& of, milliseconds ttl) {
    holder& own = of.holders.front();
    const milliseconds most = of.plan->policy.max_hold;
    own.bound = true;
    own.after = ttl;
    own.until = most > 0ms ? _now + std::max(most, ttl) : end_of_time;
}

void lock_oracle::create(lock& of, kind what, holder first) {
    of.what = what;
    of.mode = lock_mode::exclusive;
    of.of = 1;
    of.holders = {std::move(first)};
    of.granted = _now;
    of.refused_since.reset();
}

// ---- hash locks ---------------------------------------------------------------------------------

bool lock_oracle::is_hash_owner(size_t key, std::string_view owner) const {
    return at(key).what == kind::hash && find(at(key), owner) != nullptr;
}

expected lock_oracle::expect_hash(size_t key, std::string_view owner, uint32_t actor,
                                  bool has_fences) const {
    const lock& of = at(key);
    switch (of.what) {
        case kind::none:
            return at_the_door(of, actor, decide(of, {}, has_fences));
        case kind::hash:
            return expected::to(find(of, owner) != nullptr ? answer::granted : answer::refused);
        default:
            return expected::to_fail(lock_error::wrong_type);
    }
}

void lock_oracle::hash_took(size_t key, std::string_view owner, uint32_t actor, milliseconds ttl) {
    lock& of = at(key);
    if (of.what == kind::none) {
        overtook(of, actor);
        create(of, kind::hash, {.owner = std::string(owner), .until = _now + ttl});
        of.delays = of.plan->policy.lock_delay > 0ms;
    } else {
        holder& own = of.holders.front();
        ++own.holds;
        own.until = _now + ttl;
    }
    won(of, actor);
}

void lock_oracle::hash_released(size_t key, std::string_view owner) {
    lock& of = at(key);
    holder* const own = find(of, owner);
    if (--own->holds == 0) {
        gone(of, why::released, _now);
    }
}

// ---- in the end ---------------------------------------------------------------------------------

void lock_oracle::told_lost(size_t key, std::string_view owner, uint64_t fence, uint64_t client) {
    const auto found = std::ranges::find_if(_losses, [&](const loss& each) {
        return each.key == key && each.owner == owner && each.fence == fence;
    });
    demand(found != _losses.end(), "lost", "somebody was told of a loss that was none");
    demand(found->client == client, "lost", "a loss was told to another client");
    _losses.erase(found);
}

void lock_oracle::check_told() const {
    demand(_losses.empty(), "lost", "a grant ended without a release, and its owner was not told");
}

void lock_oracle::check_empty() const {
    demand(waiting() == 0, "P4", "somebody waits for ever");
    demand(_losses.empty(), "lost", "a grant ended without a release, and its owner was not told");
    for (const lock& each : _locks) {
        demand(each.what == kind::none, "P4", "a lock never ended");
    }
}

void lock_oracle::restarted() {
    _losses.clear();
    for (lock& each : _locks) {
        demand(each.queue.empty(), "P4", "somebody waits although its process has ended");
        const key_plan* const plan = each.plan;
        each = {};
        each.plan = plan;
        each.free_since = _now;
    }
}

size_t lock_oracle::waiting() const {
    size_t sum = 0;
    for (const lock& each : _locks) {
        sum += each.queue.size();
    }
    return sum;
}

}  // namespace lockkeeper::sim
