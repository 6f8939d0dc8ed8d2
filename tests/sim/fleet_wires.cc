/// Links between proxies, and what becomes of them.
#include <algorithm>
#include <string>

#include "fleet_desk.hh"
#include "fleet_world.hh"

namespace lockkeeper::sim {

using wire_end = peer_wire::end;

shards::instant fleet_world::clock_of(uint8_t proxy) const {
    return shards::instant{_proxies[proxy].clock.shows(_now)};
}

uint32_t fleet_world::wire_to(uint8_t from, uint8_t to, uint32_t epoch) const {
    const uint32_t wire = _wire_of[from][to];
    return wire != no_wire && _wires[wire].sides[peer_wire::caller].open &&
                   _wires[wire].sides[peer_wire::callee].epoch == epoch
               ? wire
               : no_wire;
}

std::string fleet_world::callee_of(uint32_t wire) const {
    const auto& side = _wires[wire].sides[peer_wire::callee];
    return std::to_string(side.proxy) + "." + std::to_string(side.epoch);
}

void fleet_world::dial(uint8_t from, uint8_t to, uint32_t epoch) {
    if (to == from || _dialing[from][to] || wire_to(from, to, epoch) != no_wire) {
        return;
    }
    _dialing[from][to] = true;
    _agenda.add({.at = _now + delay(),
                 .kind = static_cast<uint8_t>(kind::peer_connects),
                 .a = from,
                 .b = to,
                 .epoch = _proxies[from].epoch,
                 .x = epoch});
}

/// Both have to be there, and to hear each other.
void fleet_world::peer_connects(const event& what) {
    _dialing[what.a][what.b] = false;
    const auto& there = _proxies[what.b];
    if (!there.desk || there.epoch != what.x || _now < there.paused_until ||
        _now < _parted[what.a][what.b] || _now < _parted[what.b][what.a] || there.draining ||
        wire_to(what.a, what.b, there.epoch) != no_wire) {
        return;  // the next beat tries again
    }
    peer_wire wire;
    const uint8_t who[] = {what.a, what.b};
    for (const wire_end which : {peer_wire::caller, peer_wire::callee}) {
        wire.sides[which] = {.proxy = who[which],
                             .epoch = _proxies[who[which]].epoch,
                             .last = _now,
                             .heard = _now,
                             .watch = shards::link_watch(_rules.links, clock_of(who[which]))};
    }
    const auto index = static_cast<uint32_t>(_wires.size());
    _wires.push_back(wire);
    _wire_of[what.a][what.b] = index;
    for (const wire_end which : {peer_wire::caller, peer_wire::callee}) {
        plan_look(index, which);
    }
}

void fleet_world::plan_look(uint32_t wire, wire_end which) {
    const auto& side = _wires[wire].sides[which];
    _agenda.add({.at = _now + std::chrono::nanoseconds(_rules.links.watch_period).count(),
                 .kind = static_cast<uint8_t>(kind::wire_is_watched),
                 .a = side.proxy,
                 .b = which,
                 .epoch = side.epoch,
                 .x = wire});
}

void fleet_world::wire_is_watched(const event& what) {
    const auto wire = static_cast<uint32_t>(what.x);
    const auto which = static_cast<wire_end>(what.b);
    auto& side = _wires[wire].sides[which];
    if (!side.open) {
        return;
    }
    const auto now = clock_of(side.proxy);
    if (side.watch->is_gone(now)) {
        _covered.add(seen::silent_link_cut);
        return end_wire(wire, which);
    }
    const true_time longest = 2 * std::chrono::nanoseconds(_rules.links.seen_within()).count();
    if (_now - side.heard > longest && _now - _proxies[side.proxy].paused_until > longest) {
        _history.broken("a link that is silent for long is taken for one that is there");
    }
    if (which == peer_wire::caller) {
        if (const auto number = side.watch->sign(now)) {
            send_over(wire, which, {.what = peer_message::kind::sign, .number = *number});
        }
    }
    plan_look(wire, which);
}

/// TCP keeps the order, and brings what was sent into a gap when that closes.
true_time fleet_world::arrival_over(peer_wire& which, wire_end from) {
    auto& to = which.sides[other_end(from)];
    const true_time gap = _parted[which.sides[from].proxy][to.proxy];
    if (_now < gap) {
        _covered.add(seen::message_waited_for_a_gap);
    }
    return to.last = std::max(to.last, std::max(_now, gap) + delay());
}

void fleet_world::send_over(uint32_t wire, wire_end from, const peer_message& what) {
    if (wire == no_wire || !_wires[wire].sides[from].open) {
        return;
    }
    const uint32_t place = keep_message({what, wire, other_end(from)});
    const auto& to = _wires[wire].sides[other_end(from)];
    _agenda.add({.at = arrival_over(_wires[wire], from),
                 .kind = static_cast<uint8_t>(kind::peer_says),
                 .a = to.proxy,
                 .epoch = to.epoch,
                 .x = place});
}

uint32_t fleet_world::keep_message(peer_letter&& one) {
    if (_free_messages.empty()) {
        _messages.push_back(one);
        return static_cast<uint32_t>(_messages.size() - 1);
    }
    const uint32_t place = _free_messages.back();
    _free_messages.pop_back();
    _messages[place] = one;
    return place;
}

void fleet_world::peer_says(const event& what) {
    const peer_letter one = _messages[what.x];
    _free_messages.push_back(static_cast<uint32_t>(what.x));
    peer_wire& wire = _wires[one.wire];
    auto& side = wire.sides[one.to];
    if (!side.open) {
        return;
    }
    if (_now > wire.lost_after) {
        _covered.add(seen::message_lost);
        return;
    }
    side.heard = _now;
    if (one.to == peer_wire::callee) {
        side.watch->heard(clock_of(side.proxy));
    }
    if (one.what.what == peer_message::kind::sign) {
        if (one.to == peer_wire::callee) {
            send_over(one.wire, one.to, one.what);
        } else {
            side.watch->echoed(one.what.number);
        }
        return;
    }
    if (is_told()) {
        constexpr const char* words[] = {"acquire", "release",  "extend", "close",
                                         "granted", "not home", "failed", "done",
                                         "lost",    "closed",   "refused"};
        note("proxy " + std::to_string(wire.sides[other_end(one.to)].proxy) + " says to " +
             std::to_string(side.proxy) + " over " + std::to_string(one.wire) + ": " +
             words[static_cast<size_t>(one.what.what)] + ", key " + std::to_string(one.what.key) +
             ", client " + std::to_string(one.what.client) + ", request " +
             std::to_string(one.what.request) + (one.what.again > 0 ? ", again" : ""));
    }
    _proxies[side.proxy].desk->on_message(one.wire, one.to, one.what);
}

/// The other end hears of it behind all that was said before.
void fleet_world::say_end(uint32_t wire, wire_end which) {
    const auto& to = _wires[wire].sides[other_end(which)];
    _agenda.add({.at = arrival_over(_wires[wire], which),
                 .kind = static_cast<uint8_t>(kind::wire_ends),
                 .a = to.proxy,
                 .b = other_end(which),
                 .epoch = to.epoch,
                 .x = wire});
}

/// One end takes it for broken, and lets the other know if it can.
void fleet_world::end_wire(uint32_t wire, wire_end which) {
    auto& side = _wires[wire].sides[which];
    if (!side.open) {
        return;
    }
    side.open = false;
    const auto& to = _wires[wire].sides[other_end(which)];
    say_end(wire, which);
    if (is_told()) {
        note("proxy " + std::to_string(side.proxy) + " sees the end of wire " +
             std::to_string(wire) + " with " + std::to_string(to.proxy));
    }
    if (_proxies[side.proxy].desk && _proxies[side.proxy].epoch == side.epoch) {
        _proxies[side.proxy].desk->on_wire_ended(wire, which, _wires[wire]);
    }
}

void fleet_world::wire_ends(const event& what) {
    const auto wire = static_cast<uint32_t>(what.x);
    if (_now <= _wires[wire].lost_after) {
        end_wire(wire, static_cast<wire_end>(what.b));
    }
}

/// What is under way in it is lost, and each end hears of it in a moment, or not at all. Or it is
/// only late.
void fleet_world::break_wire(uint32_t wire, chance& luck) {
    peer_wire& which = _wires[wire];
    if (!which.sides[0].open && !which.sides[1].open) {
        return;
    }
    _covered.add(seen::wire_broke);
    auto& there = which.sides[peer_wire::callee];
    if (luck.one_in(3)) {
        // Stuck: the caller gives it up, and what it has said in it arrives after all, late.
        there.last = std::max(there.last, _now + luck.between(100 * ms, 600 * ms));
        _agenda.add({.at = _now + luck.between(ms, 100 * ms),
                     .kind = static_cast<uint8_t>(kind::wire_is_reset),
                     .a = which.sides[peer_wire::caller].proxy,
                     .b = peer_wire::caller,
                     .epoch = which.sides[peer_wire::caller].epoch,
                     .x = wire});
        return;
    }
    which.lost_after = std::min(which.lost_after, _now + luck.between(0, ms));
    for (const wire_end one : {peer_wire::caller, peer_wire::callee}) {
        if (luck.percent(70)) {
            _agenda.add({.at = _now + luck.between(0, 3 * ms),
                         .kind = static_cast<uint8_t>(kind::wire_is_reset),
                         .a = which.sides[one].proxy,
                         .b = one,
                         .epoch = which.sides[one].epoch,
                         .x = wire});
        }
    }
}

/// The process at one end is gone, and with it all of its wires.
void fleet_world::lose_wires_of(uint8_t proxy, bool in_order) {
    for (uint32_t wire = 0; wire < _wires.size(); ++wire) {
        for (const wire_end which : {peer_wire::caller, peer_wire::callee}) {
            auto& side = _wires[wire].sides[which];
            if (side.proxy != proxy || !side.open) {
                continue;
            }
            side.open = false;
            const auto& to = _wires[wire].sides[other_end(which)];
            if (to.open && (in_order || !_chance.one_in(4))) {
                say_end(wire, which);
            }
        }
    }
    for (uint8_t other = 0; other < proxies; ++other) {
        _dialing[proxy][other] = false;
    }
}

// ---- What clients are owed

void fleet_world::tell_failed(uint8_t client, uint32_t request) {
    resolve(client, request);
    _agenda.add({.at = _now + delay(),
                 .kind = static_cast<uint8_t>(kind::client_lost_it),
                 .a = client,
                 .epoch = request});
}

/// Each wish has one end.
void fleet_world::resolve(uint8_t client, uint32_t request) {
    auto& last = _resolved[client];
    if (last == request) {
        _history.broken("client " + std::to_string(client) + " is answered twice");
    }
    last = request;
}

void fleet_world::gave_up(uint8_t client, uint32_t request, size_t grant) {
    const auto& one = _clients[client];
    const auto& door = _proxies[one.proxy];
    const true_time lately = 2 * s;
    if (one.request == request && one.holding && one.grant == grant &&
        _told_lost[client] != request && door.desk &&
        (door.paused_until == 0 || _now - door.paused_until > lately)) {
        _history.broken("client " + std::to_string(client) +
                        " does not know that the proxy which has its lock gave it up at " +
                        std::to_string(_now / us) + " us");
    }
}

void fleet_world::carried_out(uint64_t errand) {
    if (++_carried_out[errand] > 1) {
        _history.broken("a release that was asked for once is carried out twice");
    }
}

void fleet_world::release_answered(uint8_t client, uint32_t request, std::optional<bool> done) {
    const auto& last = _releasing[client];
    if (done == true) {
        return;
    }
    if (last.request == request) {
        // It does not know what to think, and closes its connection.
        _agenda.add({.at = _now + delay(),
                     .kind = static_cast<uint8_t>(kind::client_vanishes),
                     .a = last.door,
                     .b = client,
                     .epoch = _proxies[last.door].epoch,
                     .x = uint64_t{request} << 8 | last.key});
    }
    if (!done || _skewed || _schedule.beyond_model) {
        return;
    }
    // When all is well, and every master votes again, a lock that is held is found and released.
    if (last.request == request && last.since >= healed + s && _now < last.until &&
        _told_lost[client] != request) {
        _history.broken("client " + std::to_string(client) + " is told at " +
                        std::to_string(_now / us) + " us that it does not hold what it holds");
    }
}

}  // namespace lockkeeper::sim
