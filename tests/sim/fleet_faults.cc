/// What goes wrong in the world.
#include <algorithm>

#include "fleet_desk.hh"
#include "fleet_world.hh"

namespace lockkeeper::sim {

namespace {

enum class trouble : uint8_t {
    master_loses_everything,
    master_loses_a_second,
    master_loses_nothing,
    master_gets_an_old_dump,
    master_fails_over,
    master_is_a_replica,
    master_is_flushed,
    master_is_flushed_twice,
    fences_are_evicted,
    master_freezes,
    master_is_full,
    master_errs,
    proxy_pauses,
    proxy_crashes,
    proxy_is_configured_otherwise,
    link_is_cut,
    replies_are_cut,
    proxy_is_parted,  ///< from some of the masters
    link_is_reset,
    master_is_clogged,  ///< its links stop one by one and come back in another order
    in_model,
    clock_steps = in_model,
    clock_runs_wild,
    key_is_evicted,
    all,
    // Of proxies that have links.
    links = all,
    wire_breaks = links,
    proxies_are_parted,       ///< one from another, both ways or one way
    proxy_is_alone,           ///< from all others, not from the masters
    proxy_loses_the_masters,  ///< and not the others
    home_pauses,              ///< for about as long as a link may be silent
    proxy_is_drained,
    links_end,
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
    if (!_schedule.linked) {
        return;
    }
    const int64_t more = _chance.between(3, 25);
    for (int64_t i = 0; i < more; ++i) {
        _agenda.add(
            {.at = _chance.between(3'500 * ms, faults_end),
             .kind = static_cast<uint8_t>(kind::fault),
             .a = static_cast<uint8_t>(_chance.between(0, _schedule.masters - 1)),
             .b = static_cast<uint8_t>(_chance.between(0, proxies - 1)),
             .epoch = static_cast<uint32_t>(
                 _chance.one_in(3) ? _chance.between(static_cast<int64_t>(trouble::links) + 1,
                                                     static_cast<int64_t>(trouble::links_end) - 1)
                                   : static_cast<int64_t>(trouble::wire_breaks)),
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
    if (static_cast<kind>(what.kind) == kind::master_is_well) {
        _masters[what.a].out_of_order = false;
        return;
    }
    if (static_cast<kind>(what.kind) == kind::master_leads) {
        return _masters[what.a].lead_again();
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
    if (is_told()) {
        note("fault " + std::to_string(what.epoch) + ", master " + std::to_string(what.a) +
             ", proxy " + std::to_string(what.b));
    }
    chance luck(what.x);
    const uint8_t proxy = what.b;
    fleet_master& master = _masters[what.a];
    const true_time lasts =
        luck.one_in(2) ? luck.between(ms, 200 * ms) : luck.between(200 * ms, 3 * s);
    const true_time until = std::min(_now + lasts, calm);
    const auto ends_by = [&](kind how) {
        _agenda.add({.at = until, .kind = static_cast<uint8_t>(how), .a = what.a});
    };
    switch (static_cast<trouble>(what.epoch)) {
        case trouble::master_loses_everything:
            return crash_master(what.a, fleet_master::loss::everything);
        case trouble::master_loses_a_second:
            return crash_master(what.a, fleet_master::loss::last_second);
        case trouble::master_loses_nothing:
            return crash_master(what.a, fleet_master::loss::nothing);
        case trouble::master_gets_an_old_dump:
            return crash_master(what.a, fleet_master::loss::old_dump);
        case trouble::master_fails_over:
            if (master.alive) {
                _covered.add(seen::master_failed_over);
                master.forgot = _now;
                master.fail_over();
                break_links_of(what.a);
            }
            return;
        case trouble::master_is_a_replica: {
            const auto other = static_cast<uint8_t>(luck.between(0, _schedule.masters - 1));
            if (other != what.a && master.alive && master.follow(_masters[other], _now)) {
                _covered.add(seen::master_was_a_replica);
                master.forgot = _now;
                ends_by(kind::master_leads);
            }
            return;
        }
        case trouble::fences_are_evicted:
            _covered.add(seen::fence_table_evicted);
            return master.evict_fences();
        case trouble::master_is_flushed_twice:
            _agenda.add({.at = std::min(_now + luck.between(ms, 3 * s), faults_end),
                         .kind = static_cast<uint8_t>(kind::fault),
                         .a = what.a,
                         .b = what.b,
                         .epoch = static_cast<uint32_t>(trouble::master_is_flushed),
                         .x = luck.next()});
            [[fallthrough]];
        case trouble::master_is_flushed:
            _covered.add(seen::master_flushed);
            master.forgot = _now;
            return master.flush();
        case trouble::master_freezes:
            master.frozen_until = std::max(master.frozen_until, until);
            return;
        case trouble::master_is_full:
            master.full = true;
            return ends_by(kind::master_has_room);
        case trouble::master_errs:
            master.out_of_order = true;
            return ends_by(kind::master_is_well);
        case trouble::proxy_pauses:
            _proxies[proxy].paused_until = std::max(_proxies[proxy].paused_until, until);
            return;
        case trouble::proxy_crashes:
            return crash_proxy(proxy);
        case trouble::proxy_is_configured_otherwise:
            if (luck.one_in(4)) {
                _skewed = true;
                _covered.add(seen::proxy_configured_otherwise);
                _proxies[proxy].otherwise = !_proxies[proxy].otherwise;
                return crash_proxy(proxy);
            }
            return;
        case trouble::replies_are_cut:
            _links[proxy][what.a].no_reply_until = until;
            return;
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
            _covered.add(seen::link_reset, _links[proxy][what.a].up ? 1 : 0);
            return _agenda.add({.at = _now,
                                .kind = static_cast<uint8_t>(kind::link_breaks),
                                .a = proxy,
                                .b = what.a,
                                .epoch = _proxies[proxy].epoch,
                                .x = _links[proxy][what.a].generation});
        case trouble::master_is_clogged:
            for (uint8_t i = 0; i < proxies; ++i) {
                _links[i][what.a].cut_until = std::min(_now + luck.between(10 * ms, 2 * s), calm);
            }
            return;
        case trouble::key_is_evicted:
            _covered.add(seen::key_evicted,
                         master.evict(static_cast<uint8_t>(luck.between(0, keys - 1))) ? 1 : 0);
            return;
        case trouble::clock_steps:
            _covered.add(seen::clock_stepped);
            return master.wall.step(_now, luck.between(-4 * s, 4 * s));
        case trouble::clock_runs_wild:
            _covered.add(seen::clock_ran_wild);
            return master.wall.change_rate(_now, luck.between(-100'000, 100'000));
        case trouble::wire_breaks: {
            const auto other = static_cast<uint8_t>((proxy + luck.between(1, 2)) % proxies);
            for (const uint32_t wire : {_wire_of[proxy][other], _wire_of[other][proxy]}) {
                if (wire != no_wire && luck.one_in(2)) {
                    break_wire(wire, luck);
                }
            }
            return;
        }
        case trouble::proxies_are_parted: {
            const auto other = static_cast<uint8_t>((proxy + luck.between(1, 2)) % proxies);
            _parted[proxy][other] = until;
            if (luck.one_in(2)) {
                _parted[other][proxy] = until;
            }
            return;
        }
        case trouble::proxy_is_alone:
            for (uint8_t other = 0; other < proxies; ++other) {
                _parted[proxy][other] = _parted[other][proxy] = until;
            }
            return;
        case trouble::proxy_loses_the_masters:
            for (uint8_t i = 0; i < _schedule.masters; ++i) {
                _links[proxy][i].cut_until = until;
            }
            return;
        case trouble::home_pauses: {
            const true_time silence = std::chrono::nanoseconds(_rules.links.silence).count();
            _proxies[proxy].paused_until =
                std::max(_proxies[proxy].paused_until,
                         std::min(_now + luck.between(silence / 2, 2 * silence), calm));
            return;
        }
        case trouble::proxy_is_drained:
            if (_proxies[proxy].desk && !_proxies[proxy].draining &&
                _now >= _proxies[proxy].paused_until) {
                _proxies[proxy].draining = true;
                _proxies[proxy].desk->drain();
                _agenda.add({.at = _now + luck.between(20 * ms, 200 * ms),
                             .kind = static_cast<uint8_t>(kind::proxy_is_drained),
                             .a = proxy,
                             .epoch = _proxies[proxy].epoch});
            }
            return;
        case trouble::links_end:
            return;
    }
}

void fleet_world::crash_master(uint8_t master, fleet_master::loss lost) {
    fleet_master& it = _masters[master];
    if (!it.alive || it.is_promoted_unseen()) {
        return;
    }
    it.alive = false;
    if (it.durable) {
        lost = fleet_master::loss::nothing;
    }
    if (lost != fleet_master::loss::nothing) {
        it.forgot = _now;
    }
    constexpr seen what[] = {seen::master_lost_everything, seen::master_lost_a_second,
                             seen::master_kept_everything, seen::master_got_an_old_dump};
    _covered.add(what[static_cast<size_t>(lost)]);
    break_links_of(master);
    _agenda.add({.at = _now + _chance.between(5 * ms, 400 * ms),
                 .kind = static_cast<uint8_t>(kind::master_is_back),
                 .a = master,
                 .b = static_cast<uint8_t>(lost)});
}

void fleet_world::break_links_of(uint8_t master) {
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
}

void fleet_world::crash_proxy(uint8_t proxy, bool in_order) {
    auto& process = _proxies[proxy];
    if (!process.proxy) {
        return;
    }
    _covered.add(seen::proxy_crashed);
    process.desk.reset();
    process.proxy.reset();
    ++process.epoch;
    process.paused_until = 0;
    lose_wires_of(proxy, in_order);
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
