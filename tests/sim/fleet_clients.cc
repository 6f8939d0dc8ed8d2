/// What clients do in the world: ask, wait, hold, release; give up, vanish, hold for too long.
#include <algorithm>

#include "fleet_desk.hh"
#include "fleet_world.hh"

namespace lockkeeper::sim {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr int64_t patience = 3 * s;

}  // namespace

void fleet_world::start_client(uint8_t client, true_time in) {
    auto& one = _clients[client];
    ++one.request;
    one.waiting = one.holding = false;
    _agenda.add({.at = _now + in,
                 .kind = static_cast<uint8_t>(kind::client_starts),
                 .a = client,
                 .epoch = one.request});
}

void fleet_world::client_starts(uint8_t client) {
    auto& one = _clients[client];
    one.proxy = static_cast<uint8_t>(_chance.between(0, proxies - 1));
    one.key = static_cast<uint8_t>(_chance.between(0, keys - 1));
    if (_mood == mood::hot && !is_calm() && !_chance.one_in(10)) {
        one.key = 0;
        one.proxy = _schedule.linked ? one.proxy : 0;
    }
    if (!_proxies[one.proxy].proxy || _proxies[one.proxy].draining) {
        return start_client(client, 50 * ms);
    }
    one.waiting = true;
    _agenda.add({.at = _now + delay(),
                 .kind = static_cast<uint8_t>(kind::client_asks),
                 .a = one.proxy,
                 .b = client,
                 .epoch = _proxies[one.proxy].epoch,
                 .x = one.request});
    _agenda.add({.at = _now + patience,
                 .kind = static_cast<uint8_t>(kind::client_gives_up),
                 .a = client,
                 .epoch = one.request});
}

void fleet_world::tell_granted(uint8_t client, uint32_t request, uint8_t proxy, uint8_t key,
                               size_t grant) {
    (void)key;
    if (_schedule.linked) {
        resolve(client, request);
        _history.grants[grant].door = proxy;
    }
    _agenda.add({.at = _now + delay(),
                 .kind = static_cast<uint8_t>(kind::client_is_told),
                 .a = client,
                 .epoch = request,
                 .x = grant});
}

void fleet_world::tell_lost(uint8_t client, uint32_t request) {
    _told_lost[client] = request;
    _agenda.add({.at = _now + delay(),
                 .kind = static_cast<uint8_t>(kind::client_lost_it),
                 .a = client,
                 .epoch = request});
}

void fleet_world::client_is_told(const event& what) {
    auto& one = _clients[what.a];
    granted& told = _history.grants[what.x];
    if (one.request != what.epoch || !one.waiting) {
        // It does not wait any more and never believed in it; its connection is gone.
        told.given_up = true;
        told.until = told.from;
        const uint8_t door = _schedule.linked ? told.door : told.proxy;
        _agenda.add({.at = _now + delay(),
                     .kind = static_cast<uint8_t>(kind::client_vanishes),
                     .a = door,
                     .b = what.a,
                     .epoch = _proxies[door].epoch,
                     .x = uint64_t{what.epoch} << 8 | told.key});
        return;
    }
    one.waiting = false;
    one.holding = true;
    one.grant = what.x;
    const int64_t luck = _chance.between(0, 99);
    const int64_t short_ones = is_calm()             ? 100
                               : _mood == mood::slow ? 20
                               : _mood == mood::hot  ? 99
                                                     : 80;
    const true_time hold = luck < short_ones        ? _chance.between(200 * us, 5 * ms)
                           : luck < short_ones + 16 ? _chance.between(5 * ms, 200 * ms)
                           : _mood == mood::slow    ? _chance.between(200 * ms, 5 * s)
                                                    : _chance.between(200 * ms, 2'500 * ms);
    _agenda.add({.at = _now + hold,
                 .kind = static_cast<uint8_t>(kind::client_is_done),
                 .a = what.a,
                 .epoch = what.epoch});
    if (_schedule.linked && hold > 10 * ms && _chance.one_in(2)) {
        const uint8_t door = any_door(one.proxy);
        _agenda.add({.at = _now + hold / 2,
                     .kind = static_cast<uint8_t>(kind::client_extends),
                     .a = door,
                     .b = what.a,
                     .epoch = _proxies[door].epoch,
                     .x = uint64_t{what.epoch} << 8 | one.key});
    }
}

/// Pools spread what they ask for over all proxies.
uint8_t fleet_world::any_door(uint8_t own) {
    const auto other = static_cast<uint8_t>(_chance.between(0, proxies - 1));
    return _proxies[other].desk && _chance.percent(40) ? other : own;
}

void fleet_world::client_is_done(const event& what) {
    auto& one = _clients[what.a];
    if (one.request != what.epoch || !one.holding) {
        return;
    }
    granted& told = _history.grants[one.grant];
    // Two in a hundred end without a word: what they were told stays promised.
    const bool vanishes = _chance.percent(2) && !is_calm();
    if (!vanishes) {
        _releasing[what.a] = {.request = what.epoch,
                              .since = _now,
                              .until = told.until,
                              .door = one.proxy,
                              .key = one.key};
        told.given_up = true;
        told.until = std::min(told.until, _now);
    }
    uint8_t door = one.proxy;
    if (_schedule.linked && !vanishes) {
        door = any_door(one.proxy);
        // Its connection ends some time later.
        _agenda.add({.at = _now + _chance.between(1'600 * ms, 2'500 * ms),
                     .kind = static_cast<uint8_t>(kind::client_vanishes),
                     .a = one.proxy,
                     .b = what.a,
                     .epoch = _proxies[one.proxy].epoch,
                     .x = uint64_t{what.epoch} << 8 | one.key});
    }
    _agenda.add(
        {.at = _now + delay(),
         .kind = static_cast<uint8_t>(vanishes ? kind::client_vanishes : kind::client_releases),
         .a = door,
         .b = what.a,
         .epoch = _proxies[door].epoch,
         .x = uint64_t{what.epoch} << 8 | one.key});
    start_client(what.a, is_calm()            ? _chance.between(20 * ms, 200 * ms)
                         : _mood == mood::hot ? _chance.between(10 * us, 500 * us)
                                              : _chance.between(100 * us, 30 * ms));
}

void fleet_world::client_happens(const event& what) {
    const auto request = static_cast<uint32_t>(what.x >> 8);
    const auto key = static_cast<uint8_t>(what.x & 255);
    switch (static_cast<kind>(what.kind)) {
        case kind::client_starts:
            if (_clients[what.a].request == what.epoch) {
                client_starts(what.a);
            }
            return;
        case kind::client_asks: {
            auto& one = _clients[what.b];
            if (!reaches_proxy(what) || one.request != what.x) {
                return;
            }
            const int64_t luck = _chance.between(0, 99);
            const nanoseconds ttl{luck < 80 ? _chance.between(100 * ms, 400 * ms)
                                            : _chance.between(400 * ms, 1'400 * ms)};
            const fleet_proxy::seat who{.client = what.b,
                                        .request = one.request,
                                        .ttl = ttl,
                                        .untimed = _chance.percent(_mood == mood::slow ? 70 : 15),
                                        .since = _now};
            if (_proxies[what.a].desk) {
                return _proxies[what.a].desk->on_acquire(one.key, who);
            }
            _proxies[what.a].proxy->on_acquire(one.key, who);
            return;
        }
        case kind::client_gives_up: {
            auto& one = _clients[what.a];
            if (one.request != what.epoch || !one.waiting) {
                return;
            }
            _agenda.add({.at = _now + delay(),
                         .kind = static_cast<uint8_t>(kind::client_vanishes),
                         .a = one.proxy,
                         .b = what.a,
                         .epoch = _proxies[one.proxy].epoch,
                         .x = uint64_t{one.request} << 8 | one.key});
            return start_client(what.a, _chance.between(ms, 50 * ms));
        }
        case kind::client_is_told:
            return client_is_told(what);
        case kind::client_is_done:
            return client_is_done(what);
        case kind::client_releases:
            if (reaches_proxy(what)) {
                if (_proxies[what.a].desk) {
                    return _proxies[what.a].desk->on_release(key, what.b, request);
                }
                _proxies[what.a].proxy->on_release(key, what.b, request);
            }
            return;
        case kind::client_extends:
            if (reaches_proxy(what) && _clients[what.b].request == request &&
                _clients[what.b].holding) {
                _proxies[what.a].desk->on_extend(key, what.b, request,
                                                 nanoseconds(_chance.between(100 * ms, s)));
            }
            return;
        case kind::client_vanishes:
            if (reaches_proxy(what)) {
                if (_proxies[what.a].desk) {
                    return _proxies[what.a].desk->on_client_gone(key, what.b, request);
                }
                _proxies[what.a].proxy->on_client_gone(key, what.b, request);
            }
            return;
        case kind::client_lost_it:
            if (_clients[what.a].request == what.epoch) {
                start_client(what.a, _chance.between(100 * us, 30 * ms));
            }
            return;
        default:
            return;
    }
}

}  // namespace lockkeeper::sim
