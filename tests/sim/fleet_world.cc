#include "fleet_world.hh"

#include <algorithm>
#include <cstdio>

#include "fleet_desk.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::sim {

namespace {

/// Rates of proxies and masters differ by up to 0.9 %; leases allow for 1 %.
constexpr int64_t rate_most = 4'500;
/// Many times what any schedule needs; one that goes beyond turns in a circle.
constexpr uint64_t events_most = 2'000'000;

}  // namespace

fleet_world::fleet_world(const schedule& what)
    : _schedule(what),
      _chance(what.seed * 0x9e3779b97f4a7c15 + what.masters * 1'000'003 + what.beyond_model),
      _rules(fleet_rules::of(what.masters)) {
    for (auto& row : _wire_of) {
        row.fill(no_wire);
    }
}

fleet_world::~fleet_world() = default;

schedule_result fleet_world::run() {
    begin();
    schedule_result result;
    while (!_agenda.empty()) {
        const event next = _agenda.take();
        if (next.at > end()) {
            break;
        }
        _now = next.at;
        if (++result.events > events_most) {
            result.endless = true;
            break;
        }
        happen(next);
    }
    look_for_the_starved();
    result.found = _history.judge(healed, end());
    if (_skewed) {
        result.found.starved = 0;  // nobody heals a fleet that is not of one mind
    }
    if (_schedule.verbose && result.found.starved > 0) {
        for (size_t proxy = 0; proxy < proxies; ++proxy) {
            for (uint8_t key = 0; key < keys && _proxies[proxy].proxy; ++key) {
                std::printf("  proxy %zu, key %d: %s\n", proxy, key,
                            _proxies[proxy].proxy->state_of(key).c_str());
            }
        }
    }
    result.grants = _history.grants.size();
    result.covered = _covered;
    result.faults = _faults;
    result.digest = _history.digest() ^ (result.events * 0x9e3779b97f4a7c15);
    return result;
}

/// A promise stands on a majority: on masters that hold the key for so long, or have lost their
/// memory since and do not vote before it has ended.
void fleet_world::promised(uint8_t proxy, uint8_t key, const shards::attempt_id& attempt,
                           true_time until) {
    if (_schedule.beyond_model) {
        return;
    }
    const true_time longest = _rules.leases.max_ttl.count() + _rules.leases.max_ttl.count() / 50;
    int holding = 0;
    for (uint8_t master = 0; master < _schedule.masters; ++master) {
        const fleet_master& one = _masters[master];
        const bool excused = one.forgot >= 0 && one.forgot > _now - longest;
        holding += excused || one.held_until(key, attempt) >= until ? 1 : 0;
    }
    if (holding <= _schedule.masters / 2) {
        _history.uncovered("key " + std::to_string(key) + ": proxy " + std::to_string(proxy) +
                           " promises it until " + std::to_string(until / us) + " us at " +
                           std::to_string(_now / us) + " us, which " + std::to_string(holding) +
                           " of " + std::to_string(_schedule.masters) + " masters hold");
    }
}

void fleet_world::look_for_the_starved() {
    for (uint8_t proxy = 0; proxy < proxies; ++proxy) {
        for (uint8_t key = 0; key < keys && _proxies[proxy].proxy; ++key) {
            const true_time since = _proxies[proxy].proxy->waiting_since(key);
            if (_now - since > waits_most()) {
                _history.starved("key " + std::to_string(key) + ": somebody waits at proxy " +
                                 std::to_string(proxy) + " since " + std::to_string(since / us) +
                                 " us: " + _proxies[proxy].proxy->state_of(key));
            }
        }
        if (_proxies[proxy].desk && _now - _proxies[proxy].desk->waiting_since() > waits_most()) {
            _history.starved("somebody waits at proxy " + std::to_string(proxy) + ":" +
                             _proxies[proxy].desk->state());
        }
    }
}

void fleet_world::note(const std::string& text) {
    std::printf("%9.3f ms  %s\n", static_cast<double>(_now) / ms, text.c_str());
}

void fleet_world::begin() {
    const auto some_clock = [&] {
        return wall_clock{.offset = _chance.between(0, 1'000 * s),
                          .per_million = _chance.between(-rate_most, rate_most)};
    };
    const int64_t luck = _chance.between(0, 99);
    _mood = luck < 8 ? mood::hot : luck < 40 ? mood::slow : mood::mixed;
    if (_mood == mood::hot) {
        _rules.hand_offs_most = 400;
    }
    const bool durable = _chance.one_in(4);
    for (uint8_t master = 0; master < _schedule.masters; ++master) {
        _masters[master].begin(master, some_clock());
        _masters[master].durable = durable;
    }
    for (uint8_t proxy = 0; proxy < proxies; ++proxy) {
        _proxies[proxy].clock = some_clock();
        start_proxy(proxy);
    }
    for (uint8_t client = 0; client < clients; ++client) {
        start_client(client, _chance.between(0, 20 * ms));
    }
    _agenda.add({.at = s, .kind = static_cast<uint8_t>(kind::snapshot)});
    plan_faults();
}

true_time fleet_world::delay() {
    const int64_t luck = _chance.between(0, is_calm() ? 984 : 999);
    if (luck < 900) {
        return _chance.between(40 * us, 400 * us);
    }
    if (luck < 985) {
        return _chance.between(400 * us, 5 * ms);
    }
    return luck < 998 ? _chance.between(5 * ms, 80 * ms) : _chance.between(80 * ms, 1'500 * ms);
}

void fleet_world::start_proxy(uint8_t proxy) {
    auto& process = _proxies[proxy];
    fleet_rules rules = _rules;
    if (process.otherwise) {
        rules.admission.fingerprint = "other";
    }
    process.proxy = std::make_unique<fleet_proxy>(static_cast<surroundings&>(*this), proxy, rules,
                                                  process.clock);
    process.draining = false;
    if (_schedule.linked) {
        process.desk = std::make_unique<fleet_desk>(static_cast<surroundings&>(*this),
                                                    *process.proxy, proxy, process.epoch, rules);
        process.proxy->report_to(*process.desk, process.epoch);
    }
    for (uint8_t master = 0; master < _schedule.masters; ++master) {
        connect(proxy, master);
    }
    if (shards::planted(shards::fault::stale_clock)) {
        _agenda.add({.at = _now,
                     .kind = static_cast<uint8_t>(kind::tick),
                     .a = proxy,
                     .epoch = process.epoch});
    }
}

// ---- Connections

bool fleet_world::is_connected(uint8_t proxy, uint8_t master) const {
    return _links[proxy][master].up;
}

void fleet_world::connect(uint8_t proxy, uint8_t master) {
    connection& link = _links[proxy][master];
    if (link.up || !_proxies[proxy].proxy) {
        return;
    }
    const fleet_master& there = _masters[master];
    if (!there.alive || _now < there.frozen_until || _now < link.cut_until) {
        _agenda.add({.at = _now + _chance.between(5 * ms, 50 * ms),
                     .kind = static_cast<uint8_t>(kind::connect),
                     .a = proxy,
                     .b = master,
                     .epoch = _proxies[proxy].epoch});
        return;
    }
    ++link.generation;
    link.up = true;
    link.run_id = there.run_id();
    link.last_request = link.last_reply = _now;
    _proxies[proxy].proxy->on_connected(master);
}

void fleet_world::drop_link(uint8_t proxy, uint8_t master) {
    connection& link = _links[proxy][master];
    if (!link.up) {
        return;
    }
    ++link.generation;
    link.up = false;
    _proxies[proxy].proxy->on_disconnected(master);
    _agenda.add({.at = _now + _chance.between(ms, 60 * ms),
                 .kind = static_cast<uint8_t>(kind::connect),
                 .a = proxy,
                 .b = master,
                 .epoch = _proxies[proxy].epoch});
}

uint32_t fleet_world::keep(letter&& one) {
    if (_free_letters.empty()) {
        _letters.push_back(std::move(one));
        return static_cast<uint32_t>(_letters.size() - 1);
    }
    const uint32_t place = _free_letters.back();
    _free_letters.pop_back();
    _letters[place] = std::move(one);
    return place;
}

bool fleet_world::send(uint8_t proxy, uint8_t master, question what) {
    connection& link = _links[proxy][master];
    if (!link.up) {
        return false;
    }
    // TCP keeps the order, and brings what was sent into a cut link when it heals.
    if (_now < link.cut_until) {
        _covered.add(seen::request_waited_for_a_cut_link);
    }
    link.last_request = std::max(link.last_request, std::max(_now, link.cut_until) + delay());
    const uint32_t place = keep({.asked = std::move(what),
                                 .got = {},
                                 .proxy = proxy,
                                 .master = master,
                                 .outlives_its_link = _chance.one_in(2),
                                 .generation = link.generation,
                                 .epoch = _proxies[proxy].epoch,
                                 .run_id = link.run_id});
    _agenda.add(
        {.at = link.last_request, .kind = static_cast<uint8_t>(kind::request_arrives), .x = place});
    return true;
}

void fleet_world::request_arrives(const event& what) {
    letter& one = _letters[what.x];
    fleet_master& there = _masters[one.master];
    connection& link = _links[one.proxy][one.master];
    const bool broken = link.generation != one.generation;
    if (!there.alive || there.run_id() != one.run_id || (broken && !one.outlives_its_link)) {
        _free_letters.push_back(static_cast<uint32_t>(what.x));
        return;
    }
    if (_now < there.frozen_until) {
        _covered.add(seen::request_waited_for_a_frozen_master);
        event later = what;
        later.at = there.frozen_until;
        return _agenda.add(later);
    }
    one.got = there.carry_out(one.asked, _now);
    if (one.got.verdict == -2 && (there.full || there.out_of_order)) {
        _covered.add(there.out_of_order ? seen::request_answered_with_an_error
                                        : seen::vote_refused_by_a_full_master);
    }
    if (is_told() &&
        (one.asked.what == question::kind::pend || one.asked.what == question::kind::head ||
         one.asked.what == question::kind::admit)) {
        note("master " + std::to_string(one.master) + " is asked by proxy " +
             std::to_string(one.proxy) +
             (one.asked.what == question::kind::pend   ? " to pend: "
              : one.asked.what == question::kind::head ? " for its head: "
                                                       : " to admit: ") +
             std::to_string(one.got.verdict) + ", nonce " +
             std::to_string(one.asked.number % 1000) + ", in force " +
             std::to_string(one.got.counter % 1000) + (broken ? ", late" : ""));
    }
    if (broken) {
        _covered.add(seen::request_outlived_its_link);
        _free_letters.push_back(static_cast<uint32_t>(what.x));
        return;  // a key with a dead owner, perhaps
    }
    const true_time cut_until = std::max(link.cut_until, link.no_reply_until);
    if (_now < cut_until) {
        _covered.add(seen::reply_waited_for_a_cut_link);
    }
    link.last_reply = std::max(link.last_reply, std::max(_now, cut_until) + delay());
    _agenda.add({.at = link.last_reply,
                 .kind = static_cast<uint8_t>(kind::reply_arrives),
                 .a = one.proxy,
                 .epoch = one.epoch,
                 .x = what.x});
}

void fleet_world::reply_arrives(const event& what) {
    if (_proxies[what.a].epoch == what.epoch && _now < _proxies[what.a].paused_until) {
        _covered.add(seen::event_waited_for_a_paused_proxy);
        event later = what;
        later.at = _proxies[what.a].paused_until;
        return _agenda.add(later);
    }
    const letter one = std::move(_letters[what.x]);
    _free_letters.push_back(static_cast<uint32_t>(what.x));
    const connection& link = _links[one.proxy][one.master];
    if (link.up && link.generation == one.generation && _proxies[one.proxy].epoch == one.epoch) {
        _proxies[one.proxy].proxy->on_answer(one.master, one.asked, one.got);
    }
}

void fleet_world::wake(uint8_t proxy, timer which, uint8_t index, true_time at) {
    _agenda.add({.at = at,
                 .kind = static_cast<uint8_t>(kind::timer),
                 .a = proxy,
                 .b = index,
                 .epoch = _proxies[proxy].epoch,
                 .x = static_cast<uint64_t>(which)});
}

// ---- What happens

bool fleet_world::reaches_proxy(const event& what) {
    const auto& process = _proxies[what.a];
    if (!process.proxy || process.epoch != what.epoch) {
        return false;
    }
    if (_now < process.paused_until) {
        _covered.add(seen::event_waited_for_a_paused_proxy);
        event later = what;
        later.at = process.paused_until;
        _agenda.add(later);
        return false;
    }
    return true;
}

void fleet_world::happen(const event& what) {
    switch (static_cast<kind>(what.kind)) {
        case kind::request_arrives:
            return request_arrives(what);
        case kind::reply_arrives:
            return reply_arrives(what);
        case kind::connect:
            if (reaches_proxy(what)) {
                connect(what.a, what.b);
            }
            return;
        case kind::timer:
            if (reaches_proxy(what)) {
                _proxies[what.a].proxy->on_timer(static_cast<timer>(what.x), what.b);
            }
            return;
        case kind::tick:
            // The cached clock is brought up to date by the same loop as everything else: after a
            // pause, not before what has piled up meanwhile.
            if (_proxies[what.a].proxy && _proxies[what.a].epoch == what.epoch) {
                const true_time paused = _proxies[what.a].paused_until;
                event again = what;
                again.at = _now < paused ? paused + 5 * ms : _now + 10 * ms;
                if (_now >= paused) {
                    _proxies[what.a].proxy->tick();
                }
                _agenda.add(again);
            }
            return;
        case kind::client_starts:
        case kind::client_asks:
        case kind::client_gives_up:
        case kind::client_is_told:
        case kind::client_is_done:
        case kind::client_releases:
        case kind::client_vanishes:
        case kind::client_lost_it:
        case kind::client_extends:
            return client_happens(what);
        case kind::peer_connects:
            if (reaches_proxy(what)) {
                peer_connects(what);
            } else if (_proxies[what.a].epoch != what.epoch) {
                _dialing[what.a][what.b] = false;
            }
            return;
        case kind::peer_says:
            if (reaches_proxy(what)) {
                peer_says(what);
            }
            return;
        case kind::wire_is_watched:
            if (reaches_proxy(what)) {
                wire_is_watched(what);
            }
            return;
        case kind::wire_ends:
            if (reaches_proxy(what)) {
                wire_ends(what);
            }
            return;
        case kind::wire_is_reset:
            if (reaches_proxy(what)) {
                end_wire(static_cast<uint32_t>(what.x), static_cast<peer_wire::end>(what.b));
            }
            return;
        case kind::proxy_is_drained:
            if (reaches_proxy(what)) {
                crash_proxy(what.a, true);
            }
            return;
        case kind::fault:
        case kind::link_breaks:
        case kind::master_is_back:
        case kind::master_has_room:
        case kind::master_is_well:
        case kind::master_leads:
        case kind::proxy_is_back:
            return fault_happens(what);
        case kind::snapshot:
            for (auto& master : _masters) {
                master.write_to_disk();
                if (_chance.one_in(4)) {
                    master.keep_dump();
                }
            }
            _agenda.add({.at = _now + s, .kind = static_cast<uint8_t>(kind::snapshot)});
            return;
    }
}

}  // namespace lockkeeper::sim
