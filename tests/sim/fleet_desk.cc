#include "fleet_desk.hh"

#include <algorithm>
#include <utility>

#include "shards/core/planted.hh"

namespace lockkeeper::sim {

using namespace shards;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using kind = peer_message::kind;

namespace {

constexpr int64_t between_beats = 300 * ms;
/// From then on there is a place for everybody.
constexpr true_time full_until = 13 * s;

std::string owner_name(uint8_t client, uint32_t request) {
    return std::to_string(client) + "." + std::to_string(request);
}

}  // namespace

fleet_desk::fleet_desk(surroundings& world, fleet_proxy& proxy, uint8_t index, uint32_t epoch,
                       const fleet_rules& rules)
    : _world(world),
      _proxy(proxy),
      _index(index),
      _epoch(epoch),
      _rules(rules),
      _roster({.own_id = name_of(index, epoch),
               .masters = rules.leases.masters,
               .patience = milliseconds(1'100)}) {
    _world.wake(_index, surroundings::timer::desk, beat_timer, _world.now() + ms);
}

std::string fleet_desk::name_of(uint8_t index, uint32_t epoch) {
    return std::to_string(index) + "." + std::to_string(epoch);
}

std::pair<uint8_t, uint32_t> fleet_desk::place_named(const std::string& name) {
    const size_t dot = name.find('.');
    return {static_cast<uint8_t>(std::stoul(name.substr(0, dot))),
            static_cast<uint32_t>(std::stoul(name.substr(dot + 1)))};
}

lock_key fleet_desk::key_of(uint8_t key) {
    static constexpr std::string_view names[] = {"0", "1", "2", "3"};
    return {0, names[key], key_hash{key}};
}

void fleet_desk::broken(const std::string& story) {
    if (_world.is_told()) {
        _world.note("WRONG: " + story);
    }
    _world.history().broken("proxy " + std::to_string(_index) + ": " + story);
}

/// Of errands and orders; no two in the world are the same.
uint64_t fleet_desk::next_number() {
    return uint64_t{_index} << 56 | uint64_t{_epoch} << 40 | ++_numbers;
}

std::optional<std::string> fleet_desk::known_home(uint8_t key) {
    auto home = _hints.find(key_of(key), now());
    if (!home) {
        return std::nullopt;
    }
    const auto [index, epoch] = place_named(*home);
    return _world.wire_to(_index, index, epoch) != no_wire ? home : std::nullopt;
}

lease_place fleet_desk::place_of(uint8_t key) {
    return {.is_here = _proxy.is_here(key),
            .is_coming = _proxy.phase(key) == lease::phase::acquiring,
            .has_home = known_home(key).has_value()};
}

// ---- Clients of this proxy

void fleet_desk::on_acquire(uint8_t key, const seat& who) {
    if (_draining) {
        return _world.tell_failed(who.client, who.request);
    }
    begin({.what = errand::kind::acquire,
           .key = key,
           .who = who,
           .way = forward_journey(forward_journey::if_unknown::ask_again)});
}

void fleet_desk::on_release(uint8_t key, uint8_t client, uint32_t request) {
    begin({.what = errand::kind::release,
           .key = key,
           .who = {.client = client, .request = request},
           .way = forward_journey(forward_journey::if_unknown::tell)});
}

void fleet_desk::on_extend(uint8_t key, uint8_t client, uint32_t request, nanoseconds ttl) {
    begin({.what = errand::kind::extend,
           .key = key,
           .who = {.client = client, .request = request, .ttl = ttl},
           .way = forward_journey(forward_journey::if_unknown::tell)});
}

/// Its conversations end with it, and so does what is under way for it.
void fleet_desk::on_client_gone(uint8_t key, uint8_t client, uint32_t request) {
    std::erase_if(_errands, [&](const auto& each) {
        return each.second.who.client == client && each.second.who.request == request;
    });
    _away.erase({client, request});
    if (const auto all = _conversations.find({client, request}); all != _conversations.end()) {
        for (const uint32_t wire : all->second) {
            _world.send_over(wire, peer_wire::caller,
                             {.what = kind::close, .client = client, .request = request});
        }
        _conversations.erase(all);
    }
    _proxy.on_client_gone(key, client, request, no_wire, _rules.grace);
}

void fleet_desk::begin(errand&& one) {
    one.id = next_number();
    one.since = _world.now();
    const uint64_t id = one.id;
    _errands.emplace(id, std::move(one));
    step(id);
}

fleet_desk::errand* fleet_desk::find_errand(uint8_t client, uint32_t request, errand::kind what) {
    for (auto& [id, each] : _errands) {
        if (each.who.client == client && each.who.request == request && each.what == what) {
            return &each;
        }
    }
    return nullptr;
}

void fleet_desk::step(uint64_t id) {
    errand& it = _errands.at(id);
    it.who.arrival = _world.next_arrival();
    const auto home = known_home(it.key);
    switch (next_step(it.way.route(), place_of(it.key))) {
        case forward_step::send:
            return send(id, *home);
        case forward_step::find_out:
            if (it.what == errand::kind::acquire) {
                return attempt(id);
            }
            if (planted(fault::release_without_asking)) {
                return do_here(id);
            }
            it.now = errand::state::searching;
            it.joined = _searches[it.key].has_value();
            return begin_search(it.key);
        default:
            return do_here(id);
    }
}

/// Who takes a lock finds out by trying whose it is.
void fleet_desk::attempt(uint64_t id) {
    errand& it = _errands.at(id);
    const uint8_t key = it.key;
    it.now = errand::state::trying;
    it.who.arrival = _world.next_arrival();
    ++it.tries;
    if (_proxy.phase(key) == lease::phase::elsewhere && !_proxy.may_try(key)) {
        it.now = errand::state::searching;
        return begin_search(key);
    }
    _proxy.want(key, it.who);
    if (_proxy.phase(key) != lease::phase::acquiring && _errands.contains(id) &&
        it.now == errand::state::trying) {
        do_here(id);
    }
}

void fleet_desk::do_here(uint64_t id) {
    errand& it = _errands.at(id);
    const uint8_t key = it.key;
    const seat who = it.who;
    if (it.what == errand::kind::acquire) {
        it.now = errand::state::in_line;
        it.sent = 0;
        return _proxy.on_acquire(key, who);
    }
    const auto what = it.what;
    _errands.erase(id);
    if (what == errand::kind::release) {
        const bool done = _proxy.on_release(key, who.client, who.request);
        _world.release_answered(who.client, who.request, done);
    } else {
        _proxy.on_extend(key, who.client, who.request, who.ttl);
    }
}

void fleet_desk::send(uint64_t id, const std::string& home) {
    errand& it = _errands.at(id);
    const auto [index, epoch] = place_named(home);
    const uint32_t wire = _world.wire_to(_index, index, epoch);
    if (_world.now() > _hint_ends[it.key]) {
        broken("a hint is followed after its lease has ended");
    }
    if (_refused_by[it.key] == home) {
        broken("a proxy that was not the home is asked again, and nobody has looked since");
    }
    if (++it.sent > forward_journey::attempts) {
        broken("a request is sent from home to home");
    }
    if (it.order == 0) {
        it.order = next_number();
    }
    it.now = errand::state::away;
    it.home = home;
    it.wire = wire;
    constexpr kind words[] = {kind::acquire, kind::release, kind::extend};
    const peer_message what{.what = words[static_cast<size_t>(it.what)],
                            .key = it.key,
                            .client = it.who.client,
                            .request = it.who.request,
                            .errand = id,
                            .order = it.order,
                            .again = it.again,
                            .untimed = it.who.untimed,
                            .ttl = it.who.ttl};
    auto& all = _conversations[{it.who.client, it.who.request}];
    if (std::ranges::find(all, wire) == all.end()) {
        all.push_back(wire);
    }
    _world.covered().add(it.again > 0 ? seen::order_repeated : seen::request_forwarded);
    _world.send_over(wire, peer_wire::caller, what);
}

void fleet_desk::trouble(uint64_t id, forward_trouble why) {
    errand& it = _errands.at(id);
    const uint8_t key = it.key;
    _hints.drop(key_of(key));
    if (why == forward_trouble::not_home) {
        _hints.doubt(key_of(key), it.home, now());
        _refused_by[key] = it.home;
        _world.covered().add(seen::not_home);
    } else if (why == forward_trouble::unknown) {
        _world.covered().add(seen::answer_lost);
        ++it.again;
    }
    it.wire = no_wire;
    switch (it.way.on_trouble(why)) {
        case forward_journey::next::tell_unknown:
            if (it.what == errand::kind::release) {
                _world.release_answered(it.who.client, it.who.request, std::nullopt);
            }
            _errands.erase(id);
            return;
        case forward_journey::next::do_here:
            _world.covered().add(seen::forwarding_given_up);
            [[fallthrough]];
        case forward_journey::next::look_again:
            it.tries = 0;
            return step(id);
    }
}

// ---- Whose a key is

void fleet_desk::begin_search(uint8_t key) {
    if (_searches[key]) {
        return;
    }
    const voter_set asked = _proxy.admitted();
    _searches[key] =
        search{.state = home_search(_rules.leases.masters, asked.size(), name_of(_index, _epoch),
                                    _hints.doubted(key_of(key), now())),
               .attempt = {_world.random().next(), _world.random().next()},
               .ends = _world.now() + _rules.leases.timeout.count()};
    for (const master_index master : asked) {
        _world.send(_index, master,
                    {.what = question::kind::look,
                     .key = key,
                     .attempt = _searches[key]->attempt,
                     .fingerprint = _rules.admission.fingerprint});
    }
    _world.wake(_index, surroundings::timer::desk, key, _searches[key]->ends);
}

void fleet_desk::on_looked(const question& asked, const answer& got) {
    auto& open = _searches[asked.key];
    if (!open || open->attempt != asked.attempt) {
        return;
    }
    if (got.verdict == 1) {
        const auto word = got.holder.high & 0xffff;
        open->state.on_answer(
            name_of(static_cast<uint8_t>(word >> 8), static_cast<uint32_t>(word & 0xff)),
            nanoseconds(got.remaining));
    } else if (got.verdict == 0) {
        open->state.on_answer(std::nullopt, std::nullopt);
    } else {
        open->state.on_no_answer();
    }
    if (open->state.state() != home_search::verdict::open) {
        conclude(asked.key);
    }
}

void fleet_desk::conclude(uint8_t key) {
    const search found = std::move(*_searches[key]);
    _searches[key].reset();
    _refused_by[key].clear();
    if (found.state.state() == home_search::verdict::proxy) {
        const auto lasts = found.state.remaining().value_or(nanoseconds(s));
        _hints.note(key_of(key), found.state.home(), now() + lasts, now());
        // Clocks differ a little.
        _hint_ends[key] = _world.now() + lasts.count() + lasts.count() / 50;
    }
    if (found.state.state() == home_search::verdict::no_home) {
        _proxy.forget_elsewhere(key);
    }
    std::vector<uint64_t> waiting;
    for (const auto& [id, each] : _errands) {
        if (each.key == key && each.now == errand::state::searching) {
            waiting.push_back(id);
        }
    }
    for (const uint64_t id : waiting) {
        const auto it = _errands.find(id);
        if (it == _errands.end() || it->second.now != errand::state::searching) {
            continue;
        }
        if (known_home(key)) {
            step(id);
        } else if (std::exchange(it->second.joined, false) && !planted(fault::old_search_counts)) {
            begin_search(key);  // those answers may be older than what it asks about
        } else if (it->second.what == errand::kind::acquire && it->second.tries < 2) {
            attempt(id);  // whoever had it may have just given it back
        } else {
            it->second.who.arrival = _world.next_arrival();
            do_here(id);
        }
    }
    if (std::exchange(_line_wants_home[key], false)) {
        send_line_home(key);
    }
}

/// Those who stand in line here for a key that another proxy has are better off in the line there.
void fleet_desk::send_line_home(uint8_t key) {
    if (!known_home(key) || _proxy.is_here(key)) {
        return;
    }
    for (const seat& each : _proxy.take_line(key)) {
        if (each.wire != no_wire) {
            answer_guest({each.wire, each.client, each.request}, {.what = kind::not_home});
            continue;
        }
        _world.covered().add(seen::line_sent_home);
        errand* const it = find_errand(each.client, each.request, errand::kind::acquire);
        it->way.on_moved();
        it->tries = it->sent = 0;
        step(it->id);
    }
}

// ---- What the proxy says

void fleet_desk::settled(uint8_t key) {
    const auto phase = _proxy.phase(key);
    if (phase == lease::phase::acquiring) {
        return;
    }
    // All who waited for the round go on in the order in which they came.
    std::map<uint64_t, std::pair<uint64_t, guest_name>> waiting;
    for (const auto& [id, each] : _errands) {
        if (each.key == key && each.now == errand::state::trying) {
            waiting.emplace(each.who.arrival, std::pair{id, guest_name{}});
        }
    }
    for (const auto& [name, each] : _guests) {
        if (each.wish.key == key && each.now == guest::state::coming) {
            waiting.emplace(each.arrival, std::pair{uint64_t{0}, name});
        }
    }
    for (const auto& [arrival, who] : waiting) {
        const auto& [id, name] = who;
        if (id == 0) {
            if (const auto one = _guests.find(name);
                one != _guests.end() && one->second.now == guest::state::coming) {
                step(name);
            }
            continue;
        }
        const auto it = _errands.find(id);
        if (it == _errands.end() || it->second.now != errand::state::trying) {
            continue;
        }
        if (phase == lease::phase::elsewhere) {
            it->second.now = errand::state::searching;
            begin_search(key);
        } else {
            do_here(id);
        }
    }
    if (phase == lease::phase::elsewhere && !_proxy.line_is_empty(key)) {
        _line_wants_home[key] = true;
        begin_search(key);
    }
    if (phase == lease::phase::unreachable) {
        for (const seat& each : _proxy.take_line(key)) {
            if (each.wire != no_wire) {
                answer_guest({each.wire, each.client, each.request}, {.what = kind::failed});
                continue;
            }
            const errand* const it = find_errand(each.client, each.request, errand::kind::acquire);
            _errands.erase(it->id);
            _world.tell_failed(each.client, each.request);
        }
    }
}

void fleet_desk::granted(uint8_t key, const seat& who, const fleet_proxy::holder& given) {
    if (who.wire == no_wire) {
        const errand* const it = find_errand(who.client, who.request, errand::kind::acquire);
        if (it == nullptr || it->now != errand::state::in_line) {
            return broken("a lock is granted to a client that does not wait here");
        }
        _errands.erase(it->id);
        return _world.tell_granted(who.client, who.request, _index, key, given.grant);
    }
    const guest_name name{who.wire, who.client, who.request};
    const auto one = _guests.find(name);
    if (one == _guests.end()) {
        return broken("a lock is granted to a client of another proxy whose link is gone");
    }
    one->second.fence = given.fence;
    _world.covered().add(seen::granted_over_a_link);
    answer_guest(name, {.what = kind::granted,
                        .untimed = given.untimed,
                        .fence = given.fence,
                        .holds = given.holds,
                        .grant = given.grant});
}

void fleet_desk::lost(uint8_t key, const fleet_proxy::holder& whose) {
    (void)key;
    if (whose.gone) {
        return;
    }
    if (whose.wire == no_wire) {
        return _world.tell_lost(whose.client, whose.request);
    }
    const guest_name name{whose.wire, whose.client, whose.request};
    if (_guests.contains(name)) {
        _world.send_over(
            whose.wire, peer_wire::callee,
            {.what = kind::lost, .key = key, .client = whose.client, .request = whose.request});
    }
}

void fleet_desk::gave_up(uint8_t key, const fleet_proxy::holder& whose) {
    (void)key;
    if (whose.gone && whose.untimed && whose.wire != no_wire) {
        _world.covered().add(seen::lock_given_up_for_a_link);
        _world.gave_up(whose.client, whose.request, whose.grant);
    }
}

// ---- What other proxies say

void fleet_desk::on_message(uint32_t wire, peer_wire::end at, const peer_message& what) {
    if (at == peer_wire::caller) {
        return on_answer(wire, what);
    }
    const guest_name name{wire, what.client, what.request};
    if (what.what == kind::close) {
        if (_guests.contains(name)) {
            leave(name, false);
        }
        return;
    }
    on_wish(wire, what);
}

void fleet_desk::on_answer(uint32_t wire, const peer_message& what) {
    if (what.what == kind::lost) {
        if (const auto away = _away.find({what.client, what.request}); away != _away.end()) {
            away->second.gone(0, key_of(what.key).name, owner_name(what.client, what.request));
        }
        return _world.tell_lost(what.client, what.request);
    }
    if (what.what == kind::closed) {
        std::vector<uint64_t> under_way;
        std::string home;
        for (const auto& [id, each] : _errands) {
            if (each.now == errand::state::away && each.wire == wire &&
                each.who.client == what.client && each.who.request == what.request) {
                under_way.push_back(id);
                home = each.home;
            }
        }
        tell_losses({what.client, what.request}, _world.callee_of(wire));
        for (const uint64_t id : under_way) {
            trouble(id, forward_trouble::unknown);
        }
        return;
    }
    const auto found = _errands.find(what.errand);
    if (found == _errands.end() || found->second.now != errand::state::away ||
        found->second.wire != wire) {
        return;  // its client has left
    }
    errand& it = found->second;
    switch (what.what) {
        case kind::granted:
            if (what.holds != 1) {
                broken("a client that asked once has " + std::to_string(what.holds) + " holds");
            }
            if (what.untimed) {
                _away[{it.who.client, it.who.request}].granted(
                    it.home, 0, key_of(it.key).name, owner_name(it.who.client, it.who.request),
                    what.fence);
            }
            _world.tell_granted(it.who.client, it.who.request, _index, it.key, what.grant);
            break;
        case kind::not_home:
            return trouble(it.id, forward_trouble::not_home);
        case kind::refused:
            return trouble(it.id, forward_trouble::not_sent);
        case kind::failed:
            _world.tell_failed(it.who.client, it.who.request);
            break;
        case kind::done:
            if (it.what == errand::kind::release) {
                _away.erase({it.who.client, it.who.request});
                _world.release_answered(it.who.client, it.who.request, what.yes);
            }
            break;
        default:
            break;
    }
    _errands.erase(found);
}

void fleet_desk::tell_losses(std::pair<uint8_t, uint32_t> whose, const std::string& home) {
    if (const auto away = _away.find(whose); away != _away.end()) {
        for (const lost_grant& each : away->second.conversation_ended(home)) {
            (void)each;
            _world.covered().add(seen::lock_lost_with_its_link);
            _world.tell_lost(whose.first, whose.second);
        }
    }
}

void fleet_desk::on_wire_ended(uint32_t wire, peer_wire::end at, const peer_wire& which) {
    if (at == peer_wire::callee) {
        std::vector<guest_name> all;
        for (const auto& [name, each] : _guests) {
            if (std::get<0>(name) == wire) {
                all.push_back(name);
            }
        }
        for (const guest_name& name : all) {
            leave(name, true);
        }
        return;
    }
    const auto& there = which.sides[peer_wire::callee];
    std::vector<std::pair<uint8_t, uint32_t>> clients;
    for (const auto& [whose, away] : _away) {
        clients.push_back(whose);
    }
    for (const auto& whose : clients) {
        tell_losses(whose, name_of(there.proxy, there.epoch));
    }
    for (auto& [whose, wires] : _conversations) {
        std::erase(wires, wire);
    }
    std::vector<uint64_t> under_way;
    for (const auto& [id, each] : _errands) {
        if (each.now == errand::state::away && each.wire == wire) {
            under_way.push_back(id);
        }
    }
    for (const uint64_t id : under_way) {
        trouble(id, forward_trouble::unknown);
    }
}

// ---- Clients of other proxies

void fleet_desk::answer_guest(const guest_name& name, peer_message what) {
    const auto one = _guests.find(name);
    if (one == _guests.end()) {
        return;
    }
    one->second.now = guest::state::idle;
    what.key = one->second.wish.key;
    what.client = std::get<1>(name);
    what.request = std::get<2>(name);
    what.errand = one->second.wish.errand;
    _world.send_over(std::get<0>(name), peer_wire::callee, what);
}

bool fleet_desk::has_place() const {
    return !_draining && (_world.now() >= full_until || !_world.random().one_in(20));
}

void fleet_desk::on_wish(uint32_t wire, const peer_message& what) {
    if (what.hops > 1) {
        broken("a request came over two links");
    }
    const guest_name name{wire, what.client, what.request};
    if (!_guests.contains(name) && !has_place()) {
        _world.covered().add(seen::place_refused);
        return _world.send_over(wire, peer_wire::callee,
                                {.what = kind::refused,
                                 .key = what.key,
                                 .client = what.client,
                                 .request = what.request,
                                 .errand = what.errand});
    }
    if (const auto earlier = _guests.find(name);
        earlier != _guests.end() && earlier->second.now == guest::state::coming) {
        answer_guest(name, {.what = kind::not_home});  // one at a time is enough here
    }
    guest& one = _guests[name];
    one.wish = what;
    one.fence = 0;  // it has said something since, so it knew
    one.arrival = _world.next_arrival();
    if (_draining) {
        return answer_guest(name, {.what = kind::closed});
    }
    step(name);
}

void fleet_desk::step(const guest_name& name) {
    guest& one = _guests.at(name);
    const uint8_t key = one.wish.key;
    switch (next_step(order_route::as_home, place_of(key))) {
        case forward_step::wait:
            one.now = guest::state::coming;
            return;
        case forward_step::do_here:
            return take_in(name);
        case forward_step::send: {
            const auto [index, epoch] = place_named(*known_home(key));
            peer_message on = one.wish;
            ++on.hops;
            _world.send_over(_world.wire_to(_index, index, epoch), peer_wire::caller, on);
            return;
        }
        default:
            return answer_guest(name, {.what = kind::not_home});
    }
}

/// The proxy that repeats an order does not listen to its earlier one any more.
void fleet_desk::end_earlier(const guest_name& name) {
    const uint64_t order = _guests.at(name).wish.order;
    std::vector<guest_name> earlier;
    for (const auto& [other, each] : _guests) {
        if (other != name && each.wish.order == order && each.wish.what == kind::acquire) {
            earlier.push_back(other);
        }
    }
    for (const guest_name& other : earlier) {
        _world.covered().add(seen::order_repeated_before_its_end);
        leave(other, true);
    }
}

void fleet_desk::take_in(const guest_name& name) {
    const peer_message wish = _guests.at(name).wish;
    if (!_proxy.is_here(wish.key)) {
        broken("a request of another proxy is taken in without a lease");
    }
    if (wish.what != kind::acquire) {
        bool yes = false;
        if (wish.what == kind::release) {
            _world.carried_out(wish.errand);
            yes = _proxy.on_release(wish.key, wish.client, wish.request);
        } else {
            _proxy.on_extend(wish.key, wish.client, wish.request, wish.ttl);
        }
        return answer_guest(name, {.what = kind::done, .yes = yes});
    }
    std::optional<uint64_t> given;
    const std::string number = std::to_string(wish.order);
    if (wish.again < _ledger.times_repeated(number, now())) {
        _world.covered().add(seen::order_came_after_its_repeat);
        return answer_guest(name, {.what = kind::not_home});  // nobody listens there any more
    }
    if (wish.again > 0) {
        _ledger.repeated(number, wish.again, now() + std::chrono::seconds(60), now());
        if (!planted(fault::old_order_goes_on)) {
            end_earlier(name);
        }
        given = _ledger.take(number, now());
        if (given) {
            _world.covered().add(seen::order_known_again);
        }
    }
    _guests.at(name).now = guest::state::in_line;
    const seat who{.client = wish.client,
                   .request = wish.request,
                   .ttl = wish.ttl,
                   .untimed = wish.untimed,
                   .since = _world.now(),
                   .arrival = _guests.at(name).arrival,
                   .wire = std::get<0>(name)};
    if (const auto* const held = _proxy.take_again(wish.key, who, given)) {
        return granted(wish.key, who, *held);
    }
    if (_proxy.is_in_line(wish.key, wish.client, wish.request)) {
        broken("one order stands in line twice");
    }
    _proxy.on_acquire(wish.key, who);
}

void fleet_desk::leave(const guest_name& name, bool left_unheard) {
    const guest one = _guests.at(name);
    const auto [wire, client, request] = name;
    _guests.erase(name);
    if (one.fence != 0 && one.wish.what == kind::acquire) {
        _ledger.note(std::to_string(one.wish.order), one.fence, now() + std::chrono::seconds(60),
                     now());
    }
    if (left_unheard && planted(fault::dead_link_keeps_place) && one.now == guest::state::in_line) {
        return;
    }
    const bool is_long = left_unheard && !planted(fault::short_grace_of_links);
    _proxy.on_client_gone(one.wish.key, client, request, wire,
                          is_long ? nanoseconds(_rules.links.grace()) : _rules.grace);
}

void fleet_desk::drain() {
    _draining = true;
    _world.covered().add(seen::proxy_drained);
    for (uint8_t key = 0; key < keys; ++key) {
        for (const seat& each : _proxy.take_line(key)) {
            if (each.wire == no_wire) {
                const errand* const it =
                    find_errand(each.client, each.request, errand::kind::acquire);
                _errands.erase(it->id);
                _world.tell_failed(each.client, each.request);
            }
        }
    }
    std::vector<guest_name> all;
    for (const auto& [name, each] : _guests) {
        all.push_back(name);
    }
    for (const guest_name& name : all) {
        answer_guest(name, {.what = kind::closed});
        leave(name, true);
    }
    for (uint8_t key = 0; key < keys; ++key) {
        _proxy.look(key);
    }
}

// ---- Who there is

void fleet_desk::beat() {
    if (!_readings.empty()) {
        _roster.on_reading(_readings, now());
        _readings.clear();
    }
    (void)_roster.take_forgotten();
    for (const auto& [id, member] : _roster.members()) {
        const auto [index, epoch] = place_named(id);
        if (member.alive && !_draining) {
            _world.dial(_index, index, epoch);
        }
    }
    ++_beat;
    for (uint8_t master = 0; master < _rules.leases.masters; ++master) {
        _world.send(
            _index, master,
            {.what = question::kind::beat, .block = _index, .number = _epoch, .base = _beat});
    }
    _world.wake(_index, surroundings::timer::desk, beat_timer, _world.now() + between_beats);
}

void fleet_desk::on_beat(const answer& got) {
    if (got.verdict != 1) {
        return;
    }
    std::vector<proxy_card> cards;
    for (uint8_t index = 0; index < got.cards.size(); ++index) {
        if (got.cards[index].beat > 0) {
            cards.push_back(
                {.id = name_of(index, got.cards[index].epoch), .beat = got.cards[index].beat});
        }
    }
    _readings.push_back(std::move(cards));
}

void fleet_desk::on_timer(uint8_t index) {
    if (index == beat_timer) {
        return beat();
    }
    if (auto& open = _searches[index]; open && _world.now() >= open->ends) {
        open->state.on_time_up();
        conclude(index);
    }
}

true_time fleet_desk::waiting_since() const {
    true_time first = _world.now();
    for (const auto& [id, each] : _errands) {
        first = std::min(first, each.since);
    }
    return first;
}

std::string fleet_desk::state() const {
    constexpr const char* states[] = {"trying", "searching", "away", "in line"};
    std::string text;
    for (const auto& [id, each] : _errands) {
        text += " [client " + std::to_string(each.who.client) + ", request " +
                std::to_string(each.who.request) + ", key " + std::to_string(each.key) + ": " +
                states[static_cast<size_t>(each.now)] + " " + each.home + "]";
    }
    return text;
}

}  // namespace lockkeeper::sim
