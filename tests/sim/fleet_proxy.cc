#include "fleet_proxy.hh"

#include <algorithm>
#include <sstream>

#include "fleet_desk.hh"
#include "shards/core/fence_slots.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::sim {

using namespace shards;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using timer = surroundings::timer;

namespace {

/// The world began in October 2025.
constexpr uint64_t unix_start = 1'760'000'000;
constexpr int64_t reads_last = 100 * ms;

/// A clock that stands still, or a round without an end, would make timers that are due at once
/// fire for ever.
int64_t shortest_wait() {
    return planted(fault::stale_clock) || planted(fault::votes_after_the_deadline) ? ms : us;
}

bool is_at_work(lease::phase state) {
    return state == lease::phase::held || state == lease::phase::acquiring;
}

std::string nonce_text(uint64_t nonce) {
    return std::to_string(nonce);
}

}  // namespace

fleet_rules fleet_rules::of(uint8_t masters) {
    fleet_rules rules;
    rules.leases.masters = masters;
    rules.leases.slack = milliseconds(300);
    rules.leases.max_ttl = milliseconds(3'000);
    rules.leases.untimed = milliseconds(900);
    rules.leases.timeout = milliseconds(150);
    rules.leases.min_grant = milliseconds(10);
    rules.admission.masters = masters;
    rules.admission.fingerprint = "fleet";
    rules.admission.max_ttl = rules.leases.max_ttl;
    rules.admission.round_timeout = rules.leases.timeout;
    rules.admission.first = admission_options::first_contact::strict;
    return rules;
}

fleet_proxy::fleet_proxy(surroundings& world, uint8_t index, const fleet_rules& rules,
                         const wall_clock& clock)
    : _world(world), _index(index), _rules(rules), _wall(clock) {
    _cached = read_clock();
    _links.assign(rules.leases.masters, link(rules));
}

instant fleet_proxy::read_clock() const {
    return instant{_wall.shows(_world.now())};
}

instant fleet_proxy::clock() const {
    return planted(fault::stale_clock) ? _cached : read_clock();
}

voter_set fleet_proxy::admitted() const {
    voter_set result;
    for (uint8_t master = 0; master < _links.size(); ++master) {
        if (_links[master].admission.may_vote() && _world.is_connected(_index, master)) {
            result.add(master);
        }
    }
    return result;
}

lease_turn fleet_proxy::turn() {
    return {_rules.leases, admitted(), clock(), _world.random().next(), _actions};
}

// ---- Clients

void fleet_proxy::on_acquire(uint8_t key, const seat& who) {
    if (_world.is_told() && _desk != nullptr) {
        _world.note("proxy " + std::to_string(_index) + ", key " + std::to_string(key) +
                    ": client " + std::to_string(who.client) + " stands in line, arrival " +
                    std::to_string(who.arrival));
    }
    _locks[key].line.push_back(who);
    serve(key);
}

bool fleet_proxy::on_release(uint8_t key, uint8_t client, uint32_t request) {
    auto& held = _locks[key].held;
    if (!held || held->client != client || held->request != request) {
        return false;
    }
    if (_world.is_told() && _desk != nullptr) {
        _world.note("proxy " + std::to_string(_index) + ", key " + std::to_string(key) +
                    ": client " + std::to_string(client) + " releases it");
    }
    if (--held->holds == 0) {
        if (_desk != nullptr) {
            // Also a grant that its client has never heard of: an order of its came late.
            auto& told = _world.history().grants[held->grant];
            told.until = std::min(told.until, _world.now());
            told.given_up = true;
        }
        held.reset();
        serve(key);
    }
    return true;
}

void fleet_proxy::on_client_gone(uint8_t key, uint8_t client, uint32_t request) {
    lock& it = _locks[key];
    std::erase_if(it.line,
                  [&](const seat& one) { return one.client == client && one.request == request; });
    if (it.held && it.held->client == client && it.held->request == request) {
        // What it was told stays promised: it may still believe in it.
        it.held->gone = true;
        it.lease.needed_until(it.held->promise);
        if (planted(fault::hand_off_on_disconnect)) {
            it.held.reset();
        }
    }
    serve(key);
}

void fleet_proxy::serve(uint8_t key) {
    lock& it = _locks[key];
    if (it.held && (!it.held->untimed || it.held->gone) && clock() >= it.held->promise) {
        const holder whose = *it.held;
        it.held.reset();
        if (_desk != nullptr) {
            _desk->gave_up(key, whose);
        }
    }
    if (!it.held) {
        const bool enough = it.hand_offs >= _rules.hand_offs_most;
        if ((it.line.empty() || enough) && it.lease.state() == lease::phase::held) {
            it.lease.release(turn());
            it.hand_offs = 0;
            it.rest_until =
                clock() + nanoseconds(enough ? _world.random().between(ms, 20 * ms) : 0);
        }
        if (!it.line.empty()) {
            grant(key);
        }
    }
    check(key);
    const bool waited_for = !it.line.empty();
    const nanoseconds next = !waited_for               ? nanoseconds{0}
                             : it.line.front().untimed ? _rules.leases.untimed / 2
                                                       : it.line.front().ttl;
    it.lease.expect(next, _rules.leases);
    carry_out(key);
    arm(key);
}

void fleet_proxy::check(uint8_t key) {
    if (const auto wrong = _locks[key].lease.verify(_rules.leases)) {
        _world.history().broken(*wrong);
    }
}

true_time fleet_proxy::waiting_since(uint8_t key) const {
    return _locks[key].line.empty() ? _world.now() : _locks[key].line.front().since;
}

void fleet_proxy::grant(uint8_t key) {
    lock& it = _locks[key];
    const seat first = it.line.front();
    const auto given =
        first.untimed ? it.lease.grant_untimed(turn()) : it.lease.grant(first.ttl, turn());
    if (given) {
        it.line.pop_front();
        if (it.hand_offs++ > 0) {
            _world.covered().add(seen::hand_off);
        }
        _world.promised(_index, key, it.lease.attempt(), _wall.when(given->until.nanoseconds));
        it.held = holder{.client = first.client,
                         .request = first.request,
                         .promise = given->until,
                         .untimed = first.untimed,
                         .gone = false,
                         .grant = _world.history().grants.size(),
                         .fence = given->fence,
                         .wire = first.wire};
        note_order(key, first);
        if (!first.untimed) {
            it.lease.needed_until(given->until);
        }
        _world.history().grants.push_back({.key = key,
                                           .client = first.client,
                                           .proxy = _index,
                                           .given_up = false,
                                           .fence = given->fence,
                                           .from = _world.now(),
                                           .until = _wall.when(given->until.nanoseconds)});
        if (_desk != nullptr) {
            const holder whose = *it.held;
            return _desk->granted(key, first, whose);
        }
        _world.tell_granted(first.client, first.request, _index, key, it.held->grant);
        return;
    }
    if (given.error() == grant_obstacle::not_held && clock() >= it.rest_until &&
        it.lease.may_try(clock())) {
        begin_round(key, first);
    }
}

/// The value on the masters names the proxy.
void fleet_proxy::begin_round(uint8_t key, const seat& whose) {
    lock& it = _locks[key];
    const uint64_t name = uint64_t{_index} << 8 | (_epoch & 0xff);
    const attempt_id fresh{.high = (_world.random().next() & ~uint64_t{0xffff}) | name,
                           .low = _world.random().next()};
    it.asked = _world.now();
    it.block = lease_rules::first_block;
    it.lease.acquire(whose.untimed ? _rules.leases.untimed / 2 : whose.ttl, fresh, turn());
}

/// Under one lease, nobody who came later than it is served before one who came earlier.
void fleet_proxy::note_order(uint8_t key, const seat& whose) {
    lock& it = _locks[key];
    if (it.reign == it.lease.attempt() && whose.arrival < it.served && it.served > it.reign_began) {
        if (_world.is_told()) {
            _world.note("WRONG: client " + std::to_string(whose.client) + " of arrival " +
                        std::to_string(whose.arrival) + " after " + std::to_string(it.served));
        }
        _world.history().broken("key " + std::to_string(key) + ": client " +
                                std::to_string(whose.client) + " came before the one served last");
    }
    it.reign = it.lease.attempt();
    it.served = whose.arrival;
}

/// After an answer or a moment: what it changed for clients.
void fleet_proxy::settle(uint8_t key, lease::phase before, uint64_t next_fence) {
    lock& it = _locks[key];
    const auto after = it.lease.state();
    if (_world.is_told() && (after != before || after == lease::phase::held)) {
        _world.note("proxy " + std::to_string(_index) + ", key " + std::to_string(key) + ": " +
                    state_of(key));
    }
    if (before == lease::phase::acquiring && after == lease::phase::held) {
        _world.covered().add(seen::round_won);
    } else if (before == lease::phase::acquiring && after == lease::phase::elsewhere) {
        _world.covered().add(seen::round_lost_to_another);
    } else if (before == lease::phase::acquiring && after == lease::phase::unreachable) {
        _world.covered().add(seen::round_unreachable);
    } else if (before == lease::phase::held && after == lease::phase::lost) {
        _world.covered().add(seen::lease_lost);
    }
    // Not by a grant on the way, while no fences were asked for.
    if (after == lease::phase::held && it.lease.next_fence() != next_fence && it.block > 0) {
        if (before == lease::phase::held) {
            _world.covered().add(seen::fences_renewed);
        }
        _world.history().blocks.push_back({.key = key,
                                           .asked = it.asked,
                                           .decided = _world.now(),
                                           .first = it.lease.next_fence(),
                                           .last = it.lease.next_fence() + it.block - 1});
    }
    if (before == lease::phase::held && after != lease::phase::held) {
        if (it.held && _desk != nullptr) {
            _desk->lost(key, *it.held);
        } else if (it.held && !it.held->gone) {
            _world.tell_lost(it.held->client, it.held->request);
        }
        it.held.reset();
        it.hand_offs = 0;
    }
    if (after == lease::phase::held && it.held && it.held->untimed && !it.held->gone) {
        // The promise moves with the lease.
        if (it.held->promise < it.lease.valid_until()) {
            it.held->promise = it.lease.valid_until();
            _world.promised(_index, key, it.lease.attempt(),
                            _wall.when(it.held->promise.nanoseconds));
            _world.covered().add(seen::lease_renewed);
        }
        auto& told = _world.history().grants[it.held->grant];
        if (!told.given_up) {
            told.until = std::max(told.until, _wall.when(it.held->promise.nanoseconds));
        }
    }
    if (_desk != nullptr && after != before) {
        it.reign_began = _world.next_arrival();
        _desk->settled(key);
    }
    serve(key);
}

// ---- What a desk asks

void fleet_proxy::report_to(fleet_desk& desk, uint32_t epoch) {
    _desk = &desk;
    _epoch = epoch;
}

bool fleet_proxy::is_here(uint8_t key) const {
    const lock& it = _locks[key];
    return it.held.has_value() ||
           (it.lease.state() == lease::phase::held && clock() < it.lease.valid_until());
}

bool fleet_proxy::may_try(uint8_t key) const {
    return _locks[key].lease.may_try(clock()) && clock() >= _locks[key].rest_until;
}

bool fleet_proxy::is_in_line(uint8_t key, uint8_t client, uint32_t request) const {
    return std::ranges::any_of(_locks[key].line, [&](const seat& one) {
        return one.client == client && one.request == request;
    });
}

void fleet_proxy::want(uint8_t key, const seat& who) {
    const auto phase = _locks[key].lease.state();
    if (phase != lease::phase::held && phase != lease::phase::acquiring && may_try(key)) {
        begin_round(key, who);
        carry_out(key);
        arm(key);
    }
}

void fleet_proxy::forget_elsewhere(uint8_t key) {
    lock& it = _locks[key];
    if (it.lease.state() == lease::phase::elsewhere && it.line.empty()) {
        it.lease = lease();
    }
}

const fleet_proxy::holder* fleet_proxy::take_again(uint8_t key, const seat& who,
                                                   std::optional<uint64_t> repeats) {
    auto& held = _locks[key].held;
    if (!held || held->client != who.client || held->request != who.request) {
        return nullptr;
    }
    held->holds += repeats == held->fence ? 0 : 1;
    held->wire = who.wire;
    if (held->untimed && held->gone) {
        held->gone = false;
        _world.history().grants[held->grant].given_up = false;
        held->promise = _locks[key].lease.valid_until();
    }
    return &*held;
}

/// To what the lease covers already.
void fleet_proxy::on_extend(uint8_t key, uint8_t client, uint32_t request, nanoseconds ttl) {
    lock& it = _locks[key];
    if (!it.held || it.held->client != client || it.held->request != request || it.held->untimed ||
        it.held->gone || it.lease.state() != lease::phase::held) {
        return;
    }
    const instant until = std::min(clock() + ttl, it.lease.valid_until());
    if (until <= it.held->promise || until <= clock()) {
        return;
    }
    it.held->promise = until;
    it.lease.needed_until(until);
    _world.promised(_index, key, it.lease.attempt(), _wall.when(until.nanoseconds));
    if (auto& told = _world.history().grants[it.held->grant]; !told.given_up) {
        told.until = std::max(told.until, _wall.when(until.nanoseconds));
    }
    serve(key);
}

void fleet_proxy::on_client_gone(uint8_t key, uint8_t client, uint32_t request, uint32_t wire,
                                 nanoseconds grace) {
    lock& it = _locks[key];
    std::erase_if(it.line, [&](const seat& one) {
        return one.client == client && one.request == request && one.wire == wire;
    });
    if (it.held && it.held->client == client && it.held->request == request &&
        it.held->wire == wire && !it.held->gone) {
        it.held->gone = true;
        if (it.held->untimed) {
            // It was told no end: it has its connection, and what comes after that.
            it.held->promise = clock() + grace;
            auto& told = _world.history().grants[it.held->grant];
            told.until = std::min(told.until, _wall.when(it.held->promise.nanoseconds));
            told.given_up = true;
        }
        it.lease.needed_until(it.held->promise);
    }
    serve(key);
}

void fleet_proxy::arm(uint8_t key) {
    lock& it = _locks[key];
    const bool idle = !is_at_work(it.lease.state());
    instant next = it.lease.wake_at(_rules.leases);
    if (idle) {
        // To try again is worth something only if somebody waits.
        next = it.line.empty()             ? end_of_time
               : it.lease.may_try(clock()) ? it.rest_until
                                           : std::max(next, it.rest_until);
    }
    if (it.held && (!it.held->untimed || it.held->gone)) {
        next = std::min(next, it.held->promise);
    }
    if (next == end_of_time) {
        return;
    }
    true_time at = _world.now() + shortest_wait();
    if (next > clock()) {
        at = std::max(at, _wall.when(next.nanoseconds));
    }
    if (it.wake_at < 0 || at < it.wake_at) {
        it.wake_at = at;
        _world.wake(_index, timer::key, key, at);
    }
}

// ---- What leases want to have sent

void fleet_proxy::carry_out(uint8_t key) {
    std::vector<lease_action> actions;
    std::swap(actions, _actions);
    for (const auto& action : actions) {
        if (action.what == lease_action::kind::raise) {
            _world.covered().add(seen::round_raised);
        }
        if (action.what == lease_action::kind::vote &&
            _locks[key].lease.state() == lease::phase::held) {
            _world.covered().add(seen::lease_repaired);
        }
        if (action.what == lease_action::kind::renew) {
            _locks[key].asked = _world.now();
            _locks[key].block = action.block;
        }
        for (const master_index master : action.to) {
            if (action.what == lease_action::kind::release) {
                send_release(key, master, action.attempt, action.until);
                continue;
            }
            question asked{.key = key,
                           .block = action.block,
                           .attempt = action.attempt,
                           .length = nanoseconds(action.length).count(),
                           .number = action.raise_to,
                           .fingerprint = _rules.admission.fingerprint};
            switch (action.what) {
                case lease_action::kind::vote:
                    asked.what = question::kind::vote;
                    break;
                case lease_action::kind::raise:
                    asked.what = question::kind::raise;
                    break;
                case lease_action::kind::renew:
                    asked.what = question::kind::renew;
                    break;
                default:
                    asked.what = question::kind::look;
                    break;
            }
            if (asked.length > 0) {
                if (const auto mark = _links[master].horizon.mark_for(action.length, clock())) {
                    _world.send(_index, master,
                                {.what = question::kind::mark,
                                 .length = nanoseconds(*mark).count(),
                                 .fingerprint = _rules.admission.fingerprint});
                }
            }
            _world.send(_index, master, asked);
        }
    }
}

void fleet_proxy::send_release(uint8_t key, uint8_t master, attempt_id attempt, instant until) {
    link& to = _links[master];
    pending_release release{
        .database = 0, .key = std::to_string(key), .attempt = attempt, .until = until};
    if (_world.send(_index, master,
                    {.what = question::kind::release, .key = key, .attempt = attempt})) {
        to.releasing.push_back(std::move(release));
    } else {
        to.undelivered.add(std::move(release));
    }
}

// ---- Masters

void fleet_proxy::on_connected(uint8_t master) {
    link& to = _links[master];
    to.horizon = lease_horizon(_rules.leases.max_ttl);
    to.step_under_way = false;
    look_at_clock(master);
    for (const auto& release : to.undelivered.take(clock())) {
        _world.covered().add(seen::release_sent_again);
        send_release(static_cast<uint8_t>(std::stoi(release.key)), master, release.attempt,
                     release.until);
    }
    advance(master);
}

void fleet_proxy::on_disconnected(uint8_t master) {
    link& to = _links[master];
    for (auto& release : to.releasing) {
        to.undelivered.add(std::move(release));
    }
    to.releasing.clear();
    to.step_under_way = false;
    to.admission.on_connection_lost();
    for (uint8_t other = 0; other < _links.size(); ++other) {
        link& asking = _links[other];
        if ((asking.still_to_tell >> master & 1) != 0) {
            asking.still_to_tell = static_cast<uint16_t>(asking.still_to_tell & ~(1U << master));
            if (asking.still_to_tell == 0 && asking.step_under_way) {
                others_have_told(other);
            }
        }
    }
    drop_votes_of(master);
}

void fleet_proxy::drop_votes_of(uint8_t master) {
    for (uint8_t key = 0; key < keys; ++key) {
        const auto before = _locks[key].lease.state();
        const uint64_t fence = _locks[key].lease.next_fence();
        _locks[key].lease.on_link_lost(master, turn());
        settle(key, before, fence);
    }
}

void fleet_proxy::forget_admission(uint8_t master) {
    _world.covered().add(seen::vote_of_another_incarnation);
    _links[master].admission.on_vote_refused();
    drop_votes_of(master);
    advance(master);
}

/// What came behind the mark must not count.
void fleet_proxy::not_marked(uint8_t master, const answer& got) {
    link& from = _links[master];
    from.horizon = lease_horizon(_rules.leases.max_ttl);
    if (got.verdict == -1) {
        return forget_admission(master);
    }
    _world.covered().add(seen::mark_refused);
    from.admission.on_refusal("it refuses writes", clock());
    drop_votes_of(master);
    advance(master);
}

void fleet_proxy::look_at_clock(uint8_t master) {
    _links[master].clock_asked = read_clock();
    const auto asked = static_cast<uint64_t>(read_clock().nanoseconds);
    if (_world.send(_index, master, {.what = question::kind::time, .number = asked})) {
        _world.wake(_index, timer::clock, master, _world.now() + s);
    }
}

void fleet_proxy::on_clock(uint8_t master, const question& asked, const answer& got) {
    link& from = _links[master];
    if (got.verdict != 1 ||
        !from.clock.on_sample({.sent = instant{static_cast<int64_t>(asked.number)},
                               .received = read_clock(),
                               .unix_time = std::chrono::microseconds(got.remaining / us)})) {
        return;
    }
    _world.covered().add(seen::step_noticed);
    from.admission.on_clock_step(clock());
    drop_votes_of(master);
    advance(master);
}

/// For the coverage: how long masters waited.
void fleet_proxy::count_admission(uint8_t master) {
    link& of = _links[master];
    const bool pending = of.admission.status() == admission::state::pending;
    if (pending && !of.was_pending) {
        _world.covered().add(seen::master_quarantined);
        of.pending_since = read_clock();
    }
    if (!pending && of.was_pending && of.admission.may_vote()) {
        _world.covered().add(seen::master_admitted);
        if (read_clock() - of.pending_since < _rules.admission.max_ttl) {
            _world.covered().add(seen::quarantine_shorter_than_the_longest_lease);
        }
    }
    of.was_pending = pending;
    if (of.admission.epoch_bumps() != of.epoch_bumps) {
        of.epoch_bumps = of.admission.epoch_bumps();
        _world.covered().add(seen::fences_from_the_clock);
    }
}

void fleet_proxy::on_answer(uint8_t master, const question& asked, const answer& got) {
    using kind = question::kind;
    link& from = _links[master];
    if (got.verdict == -3) {
        // It is not a master any more: a new connection finds out what it is.
        return _world.drop_link(_index, master);
    }
    switch (asked.what) {
        case kind::head:
            return on_head(master, got);
        case kind::pend:
            from.step_under_way = false;
            if (got.verdict == -2) {
                from.admission.on_failed_step("an error", clock());
                return advance(master);
            }
            from.admission.on_pend(
                {.already_admitted = got.verdict == 1,
                 .nonce = nonce_text(got.counter),
                 .incarnation =
                     got.incarnation.empty() ? std::nullopt : std::optional(got.incarnation)},
                clock());
            return advance(master);
        case kind::admit:
            from.step_under_way = false;
            if (got.verdict == -2) {
                from.admission.on_failed_step("an error", clock());
                return advance(master);
            }
            from.admission.on_admit(got.verdict == 1, clock());
            return advance(master);
        case kind::horizon:
        case kind::counters:
            return on_other_told(master, asked, got);
        case kind::time:
            return on_clock(master, asked, got);
        case kind::beat:
            return _desk != nullptr ? _desk->on_beat(got) : void();
        case kind::mark:
            return got.verdict != 1 ? not_marked(master, got) : void();
        case kind::release:
            from.releasing.erase(from.releasing.begin());
            return;
        default:
            break;
    }
    if (asked.what == kind::look && _desk != nullptr) {
        _desk->on_looked(asked, got);
    }
    // About a lease.
    if (_world.is_told()) {
        constexpr const char* kinds[] = {"vote", "raise", "renew", "release", "look"};
        _world.note("proxy " + std::to_string(_index) + ", key " + std::to_string(asked.key) +
                    ": master " + std::to_string(master) + " says " + std::to_string(got.verdict) +
                    " to " + kinds[static_cast<size_t>(asked.what)] + " of " +
                    std::to_string(asked.attempt.low % 1000) + ", counter " +
                    std::to_string(got.counter));
    }
    lock& it = _locks[asked.key];
    const auto before = it.lease.state();
    const uint64_t fence = it.lease.next_fence();
    if (got.verdict == -1) {
        forget_admission(master);
    }
    if (asked.what == kind::vote) {
        const vote answered = got.verdict == 1   ? vote::granted(got.counter)
                              : got.verdict == 0 ? vote::busy()
                                                 : vote::refused();
        it.lease.on_vote(asked.attempt, master, answered, turn());
    } else if (asked.what == kind::raise) {
        it.lease.on_raised(asked.attempt, master, asked.number, got.verdict == 1, turn());
    } else if (asked.what == kind::renew) {
        const renewal_answer answered = got.verdict == 1   ? renewal_answer::extended(got.counter)
                                        : got.verdict == 0 ? renewal_answer::not_ours()
                                                           : renewal_answer::refused();
        it.lease.on_renewed(asked.attempt, master, answered, turn());
    } else if (got.verdict == 1) {
        it.lease.on_looked(asked.attempt, "another", nanoseconds(got.remaining), turn());
    }
    settle(asked.key, before, fence);
}

void fleet_proxy::on_head(uint8_t master, const answer& got) {
    link& from = _links[master];
    from.step_under_way = false;
    if (got.verdict != 1) {
        // It cannot be asked now; a new connection will.
        return _world.drop_link(_index, master);
    }
    if (from.run_id != got.run_id) {
        from.clock.forget();
    }
    from.run_id = got.run_id;
    const bool durable = got.verdict == 1 && got.counter == 1;
    handshake_facts facts{.run_id = got.run_id,
                          .role = got.replica ? "slave" : "master",
                          .promoted = got.promoted,
                          .maxmemory = 0,
                          .maxmemory_policy = "noeviction",
                          .appendonly = durable ? "yes" : "no",
                          .appendfsync = durable ? "always" : "everysec"};
    if (!got.incarnation.empty()) {
        facts.incarnation = got.incarnation;
        facts.fingerprint = got.fingerprint;
        facts.durability = got.durability;
    }
    if (facts.incarnation != facts.run_id) {
        from.horizon = lease_horizon(_rules.leases.max_ttl);
    }
    from.admission.on_handshake(facts, clock());
    advance(master);
    for (uint8_t key = 0; key < keys; ++key) {
        serve(key);
    }
}

void fleet_proxy::advance(uint8_t master) {
    link& to = _links[master];
    if (to.step_under_way || !_world.is_connected(_index, master)) {
        return;
    }
    const admission_step step = to.admission.next(clock());
    count_admission(master);
    if (step.at == end_of_time) {
        return;
    }
    if (step.what == admission_step::kind::wait || step.at > clock()) {
        true_time at = _world.now() + shortest_wait();
        if (step.at > clock()) {
            at = std::max(at, _wall.when(step.at.nanoseconds));
        }
        return _world.wake(_index, timer::admission, master, at);
    }
    question asked{.run_id = to.run_id, .fingerprint = _rules.admission.fingerprint};
    switch (step.what) {
        case admission_step::kind::shake_hands:
            asked.what = question::kind::head;
            break;
        case admission_step::kind::pend:
            asked.what = question::kind::pend;
            asked.number = _world.random().next() | 1;
            asked.durability = step.durability;
            break;
        case admission_step::kind::admit:
            asked.what = question::kind::admit;
            asked.number = std::stoull(step.nonce);
            asked.base = step.base;
            asked.durability = step.durability;
            break;
        case admission_step::kind::read_horizons:
            return read_others(master, false);
        case admission_step::kind::read_counters:
            return read_others(master, true);
        case admission_step::kind::wait:
            return;
    }
    to.step_under_way = _world.send(_index, master, asked);
}

void fleet_proxy::read_others(uint8_t master, bool counters) {
    link& to = _links[master];
    to.step_under_way = true;
    to.reads_counters = counters;
    to.others.assign(_links.size(), {});
    to.still_to_tell = 0;
    for (uint8_t other = 0; other < _links.size(); ++other) {
        if (other == master) {
            continue;
        }
        question asked{.what = counters ? question::kind::counters : question::kind::horizon,
                       .number = master,
                       .fingerprint = _rules.admission.fingerprint};
        if (_world.send(_index, other, asked)) {
            to.still_to_tell = static_cast<uint16_t>(to.still_to_tell | 1U << other);
        }
    }
    to.read_ends = _world.now() + reads_last;
    _world.wake(_index, timer::others, master, to.read_ends);
    if (to.still_to_tell == 0) {
        others_have_told(master);
    }
}

void fleet_proxy::on_other_told(uint8_t other, const question& asked, const answer& got) {
    const auto whom = static_cast<uint8_t>(asked.number);
    link& to = _links[whom];
    const bool counters = asked.what == question::kind::counters;
    if (!to.step_under_way || (to.still_to_tell >> other & 1) == 0 ||
        to.reads_counters != counters) {
        return;
    }
    to.still_to_tell = static_cast<uint16_t>(to.still_to_tell & ~(1U << other));
    if (got.verdict == 1) {
        to.others[other] = {.what = other_master::standing::admitted,
                            .horizon = nanoseconds(got.remaining),
                            .counter = counters ? got.counter : 0};
    } else if (got.verdict == -1) {
        to.others[other] = {.what = other_master::standing::forgot};
    }
    if (to.still_to_tell == 0) {
        others_have_told(whom);
    }
}

void fleet_proxy::others_have_told(uint8_t master) {
    link& to = _links[master];
    to.step_under_way = false;
    to.read_ends = 0;
    auto others = to.others;
    others.erase(others.begin() + master);
    const auto seconds = unix_start + static_cast<uint64_t>(_world.now() / s);
    to.admission.on_others(others, seconds, clock());
    advance(master);
}

void fleet_proxy::on_timer(timer which, uint8_t index) {
    if (which == timer::admission) {
        return advance(index);
    }
    if (which == timer::desk) {
        return _desk != nullptr ? _desk->on_timer(index) : void();
    }
    if (which == timer::clock) {
        // One plan for each connection; a broken one asks again when it is back.
        if (_world.is_connected(_index, index) &&
            read_clock() - _links[index].clock_asked > milliseconds(900)) {
            look_at_clock(index);
        }
        return;
    }
    if (which == timer::others) {
        link& to = _links[index];
        if (to.step_under_way && to.read_ends != 0 && _world.now() >= to.read_ends) {
            others_have_told(index);
        }
        return;
    }
    lock& it = _locks[index];
    if (it.wake_at < 0 || _world.now() < it.wake_at) {
        return;  // an earlier plan
    }
    it.wake_at = -1;
    const auto before = it.lease.state();
    const uint64_t fence = it.lease.next_fence();
    it.lease.on_time(turn());
    if (is_at_work(it.lease.state()) && it.lease.wake_at(_rules.leases) <= clock()) {
        _world.history().broken("key " + std::to_string(index) +
                                ": an alarm that has rung rings again at once");
    }
    settle(index, before, fence);
}

std::string fleet_proxy::state_of(uint8_t key) const {
    const lock& it = _locks[key];
    std::ostringstream text;
    constexpr const char* phases[] = {"absent",    "acquiring",   "held",
                                      "elsewhere", "unreachable", "lost"};
    text << phases[static_cast<size_t>(it.lease.state())] << " by " << it.lease.attempt().low % 1000
         << ", " << it.line.size() << " in line" << (it.held ? ", granted" : "");
    if (it.lease.state() == lease::phase::held) {
        text << ", until "
             << static_cast<double>(_wall.when(it.lease.valid_until().nanoseconds)) / ms << " on";
        for (const master_index master : it.lease.holders()) {
            text << " " << static_cast<int>(master);
        }
        text << ", next fence " << it.lease.next_fence();
    }
    text << "; masters";
    for (const auto& one : _links) {
        text << " " << static_cast<int>(one.admission.status()) << "(" << one.admission.reason()
             << ")";
    }
    return text.str();
}

}  // namespace lockkeeper::sim
