/// What goes wrong in the world.
#include <algorithm>

#include "fleet_world.hh"

namespace lockkeeper::sim {

namespace {

enum class trouble : uint8_t {
    master_loses_everything,
    master_loses_a_second,
    master_loses_nothing,
    master_is_flushed,
    master_is_flushed_twice,
    master_freezes,
    master_is_full,
    proxy_pauses,
    proxy_crashes,
    link_is_cut,
    proxy_is_parted,  ///< from some of the masters
    link_is_reset,
    master_is_clogged,  ///< its links stop one by one and come back in another order
    in_model,
    clock_steps = in_model,
    clock_runs_wild,
    all,
};

}  // namespace

void fleet_world::plan_faults() {
    const int64_t count = _chance.between(3, 20);
    const auto kinds =
        static_cast<int64_t>(_schedule.beyond_model ? trouble::all : trouble::in_model);
    for (int64_t i = 0; i < count; ++i) {
        // The first leases are granted after the first quarantine.
        _agenda.add({.at = _chance.between(3'500 * ms, faults_end),
                     .kind = static_cast<uint8_t>(kind::fault),
                     .a = static_cast<uint8_t>(_chance.between(0, _schedule.masters - 1)),
                     .b = static_cast<uint8_t>(_chance.between(0, proxies - 1)),
                     .epoch = static_cast<uint32_t>(_chance.between(0, kinds - 1)),
                     .x = _chance.next()});
    }
}

void fleet_world::fault_happens(const event& what) {
    if (static_cast<kind>(what.kind) == kind::link_breaks) {
        if (reaches_proxy(what) && _links[what.a][what.b].up &&
            _links[what.a][what.b].generation == what.x) {
            drop_link(what.a, what.b);
        }
        return;
    }
    if (static_cast<kind>(what.kind) == kind::master_has_room) {
        _masters[what.a].full = false;
        return;
    }
    if (static_cast<kind>(what.kind) == kind::master_is_back) {
        _masters[what.a].restart(static_cast<fleet_master::loss>(what.b));
        _masters[what.a].alive = true;
        return;
    }
    if (static_cast<kind>(what.kind) == kind::proxy_is_back) {
        return start_proxy(what.a);
    }
    ++_faults;
    chance luck(what.x);
    const uint8_t proxy = what.b;
    fleet_master& master = _masters[what.a];
    const true_time lasts =
        luck.one_in(2) ? luck.between(ms, 200 * ms) : luck.between(200 * ms, 3 * s);
    const true_time until = _now + lasts;
    switch (static_cast<trouble>(what.epoch)) {
        case trouble::master_loses_everything:
            return crash_master(what.a, fleet_master::loss::everything);
        case trouble::master_loses_a_second:
            return crash_master(what.a, fleet_master::loss::last_second);
        case trouble::master_loses_nothing:
            return crash_master(what.a, fleet_master::loss::nothing);
        case trouble::master_is_flushed_twice:
            _agenda.add({.at = _now + luck.between(ms, 3 * s),
                         .kind = static_cast<uint8_t>(kind::fault),
                         .a = what.a,
                         .b = what.b,
                         .epoch = static_cast<uint32_t>(trouble::master_is_flushed),
                         .x = luck.next()});
            [[fallthrough]];
        case trouble::master_is_flushed:
            return master.flush();
        case trouble::master_freezes:
            master.frozen_until = std::max(master.frozen_until, until);
            return;
        case trouble::master_is_full:
            master.full = true;
            return _agenda.add(
                {.at = until, .kind = static_cast<uint8_t>(kind::master_has_room), .a = what.a});
        case trouble::proxy_pauses:
            _proxies[proxy].paused_until = std::max(_proxies[proxy].paused_until, until);
            return;
        case trouble::proxy_crashes:
            return crash_proxy(proxy);
        case trouble::link_is_cut:
            _links[proxy][what.a].cut_until = until;
            return;
        case trouble::proxy_is_parted:
            for (uint8_t i = 0; i < _schedule.masters; ++i) {
                if (luck.one_in(2)) {
                    _links[proxy][i].cut_until = until;
                }
            }
            return;
        case trouble::link_is_reset:
            return _agenda.add({.at = _now,
                                .kind = static_cast<uint8_t>(kind::link_breaks),
                                .a = proxy,
                                .b = what.a,
                                .epoch = _proxies[proxy].epoch,
                                .x = _links[proxy][what.a].generation});
        case trouble::master_is_clogged:
            for (uint8_t i = 0; i < proxies; ++i) {
                _links[i][what.a].cut_until = _now + luck.between(10 * ms, 2 * s);
            }
            return;
        case trouble::clock_steps:
            return master.wall.step(_now, luck.between(-4 * s, 4 * s));
        case trouble::clock_runs_wild:
            return master.wall.change_rate(_now, luck.between(-100'000, 100'000));
        case trouble::all:
            return;
    }
}

void fleet_world::crash_master(uint8_t master, fleet_master::loss lost) {
    fleet_master& it = _masters[master];
    if (!it.alive) {
        return;
    }
    it.alive = false;
    if (it.durable) {
        lost = fleet_master::loss::nothing;
    }
    for (uint8_t proxy = 0; proxy < proxies; ++proxy) {
        if (_links[proxy][master].up) {
            _agenda.add({.at = _now + _chance.between(100 * us, 3 * ms),
                         .kind = static_cast<uint8_t>(kind::link_breaks),
                         .a = proxy,
                         .b = master,
                         .epoch = _proxies[proxy].epoch,
                         .x = _links[proxy][master].generation});
        }
    }
    _agenda.add({.at = _now + _chance.between(5 * ms, 400 * ms),
                 .kind = static_cast<uint8_t>(kind::master_is_back),
                 .a = master,
                 .b = static_cast<uint8_t>(lost)});
}

void fleet_world::crash_proxy(uint8_t proxy) {
    auto& process = _proxies[proxy];
    if (!process.proxy) {
        return;
    }
    _rounds += process.proxy->rounds;
    _second_round_trips += process.proxy->second_round_trips;
    process.proxy.reset();
    ++process.epoch;
    process.paused_until = 0;
    for (auto& link : _links[proxy]) {
        ++link.generation;
        link.up = false;
    }
    for (uint8_t client = 0; client < clients; ++client) {
        if (_clients[client].proxy == proxy &&
            (_clients[client].waiting || _clients[client].holding)) {
            start_client(client, _chance.between(ms, 200 * ms));
        }
    }
    _agenda.add({.at = _now + _chance.between(20 * ms, s),
                 .kind = static_cast<uint8_t>(kind::proxy_is_back),
                 .a = proxy});
}

}  // namespace lockkeeper::sim
