#include "bench/load/lock_client.hh"

namespace lockkeeper::bench {

namespace {

/// After an error reply: a server that refuses to work is not asked 100,000 times a second.
constexpr auto pause_after_error = std::chrono::milliseconds(100);

/// Round 0 is never open: its replies are dropped.
constexpr std::uint32_t nobodys_round = 0;

constexpr std::string_view hex = "0123456789abcdef";

}  // namespace

lock_client::lock_client(std::uint32_t id, std::uint32_t place, std::uint32_t first_connection,
                         client_world& world)
    : _id(id), _place(place), _first_connection(first_connection) {
    // The first half is the client's, the second half counts its sections.
    random_source mixed(world.plan.seed ^ (std::uint64_t{id} << 32));
    std::uint64_t bits = mixed.next();
    for (std::size_t i = 0; i != _token.size(); ++i) {
        _token[i] = i < _token.size() / 2 ? hex[bits & 15] : '0';
        bits >>= 4;
    }
    _key = world.plan.keys_are_own() ? id : 0;
    _key_size =
        static_cast<std::uint8_t>(world.plan.write_key(_key_text.data(), _key) - _key_text.data());
}

void lock_client::start(client_world& world) {
    if (_state == state::idle) {
        begin_section(world);
    }
}

void lock_client::begin_section(client_world& world) {
    choose_key(world);
    next_token();
    _wait_began = world.now;
    _turn_before = world.judge.turns(_key);
    _refusals = 0;
    attempt(world);
}

void lock_client::attempt(client_world& world) {
    ask(world, state::acquiring);
}

// ---- rounds
// -------------------------------------------------------------------------------------------------

void lock_client::ask(client_world& world, state what) {
    _state = what;
    _open = true;
    _failed = false;
    _yes = 0;
    _no = 0;
    ++_round;
    _asked = world.now;
    if (world.plan.masters > 1) {
        world.timers.set(_place, world.now + world.plan.options.round_timeout);
    }
    if (what == state::acquiring) {
        _masters_asked = 0;
    }
    for (std::uint32_t i = 0; i != world.plan.masters; ++i) {
        if (may_ask(world, i, what)) {
            send(world, i, what, _round);
        } else {
            _failed = _failed || world.connections[_first_connection + i].is_lost();
            ++_no;
        }
    }
    decide(world);
}

/// A master that has fallen behind is left out, as a lost one is; but what it was asked for is
/// released there in any case.
bool lock_client::may_ask(client_world& world, std::uint32_t master, state what) const {
    const connection& to = world.connections[_first_connection + master];
    if (to.is_lost()) {
        return false;
    }
    if (what == state::releasing) {
        return (_masters_asked >> master & 1) != 0;
    }
    return !to.is_behind();
}

void lock_client::send(client_world& world, std::uint32_t master, state what, std::uint32_t round) {
    const std::uint32_t index = _first_connection + master;
    connection& to = world.connections[index];
    protocol::output& out = to.ask({.client = _place, .round = round});
    if (what == state::acquiring) {
        world.commands.write_acquire(out, lock());
        _masters_asked |= std::uint32_t{1} << master;
    } else if (what == state::renewing) {
        world.commands.write_renew(out, lock());
    } else {
        world.commands.write_release(out, lock());
    }
    if (to.mark_touched()) {
        world.touched.push_back(index);
    }
    ++world.counted.commands;
}

/// After a lost round: a minority may have said yes, and one that was silent may still do. Nobody
/// waits for the replies.
void lock_client::release_everywhere(client_world& world) {
    for (std::uint32_t i = 0; i != world.plan.masters; ++i) {
        if (may_ask(world, i, state::releasing)) {
            send(world, i, state::releasing, nobodys_round);
        }
    }
}

void lock_client::on_reply(client_world& world, std::uint32_t round, const scanned_reply& reply) {
    if (!_open || round != _round) {
        return;
    }
    const vote heard = read(world, reply);
    if (heard.what == vote::answer::yes) {
        ++_yes;
        _fence = heard.fence;
    } else {
        _failed = _failed || heard.what == vote::answer::error;
        ++_no;
    }
    decide(world);
}

void lock_client::on_no_reply(client_world& world, std::uint32_t round) {
    if (!_open || round != _round) {
        return;
    }
    _failed = true;
    ++_no;
    decide(world);
}

vote lock_client::read(client_world& world, const scanned_reply& reply) {
    if (reply.what == scanned_reply::kind::error) {
        world.counted.errors.add(reply.text);
        return {.what = vote::answer::error};
    }
    const vote heard = _state == state::acquiring  ? world.commands.read_acquire(reply)
                       : _state == state::renewing ? world.commands.read_renew(reply)
                                                   : world.commands.read_release(reply);
    if (heard.what == vote::answer::error) {
        world.counted.errors.add("a reply of a kind that the command cannot have");
    }
    return heard;
}

void lock_client::decide(client_world& world) {
    const bool is_won = _yes >= world.plan.votes_needed;
    const bool is_lost = _no > world.plan.masters - world.plan.votes_needed;
    if (!is_won && !is_lost) {
        return;
    }
    _open = false;
    if (world.plan.masters > 1) {
        world.timers.cancel(_place);
    }
    is_won ? won(world) : lost(world);
}

void lock_client::won(client_world& world) {
    if (_state == state::acquiring) {
        entered(world);
    } else if (_state == state::renewing) {
        renewed(world);
    } else {
        released(world);
    }
}

void lock_client::lost(client_world& world) {
    if (_state == state::acquiring) {
        refused(world);
    } else {
        not_the_owner(world);
    }
}

// ---- sections
// -------------------------------------------------------------------------------------------------

void lock_client::entered(client_world& world) {
    // Who polls knows that its lease began after it asked. Who waited in the server knows only that
    // it began before now; a tenth is left out for what was under way.
    const std::chrono::nanoseconds lease = world.plan.lease;
    _lease_end = world.commands.waits_in_server() ? world.now + lease - lease / 10
                                                  : _asked + lease - world.plan.drift;
    if (world.now >= _lease_end) {
        _failed = true;
        world.counted.errors.add("a lock was won too late to be worth anything");
        refused(world);
        return;
    }
    const auto seen = world.judge.enter(_key, _id, world.now, _lease_end - world.now, _fence);
    const std::chrono::nanoseconds waiting = world.now - _wait_began;
    tally& counted = world.counted;
    ++counted.grants;
    counted.hand_offs += seen.from_another_client ? 1 : 0;
    counted.intrusions += seen.intruded ? 1 : 0;
    counted.expired_holds += seen.after_expiry ? 1 : 0;
    counted.fences_fallen += seen.fence_fell ? 1 : 0;
    counted.wait.record(static_cast<std::uint64_t>(waiting.count()));
    counted.turns.record(seen.turn - _turn_before);
    _starved = _starved || waiting >= world.plan.options.starved_after;
    if (world.plan.options.mode == load_mode::once) {
        _served = world.board.served++;
        world.board.last_grant = world.now.time_since_epoch().count();
        if (_served == 0) {
            world.board.first_is_in = true;
        }
    }
    hold(world);
}

void lock_client::hold(client_world& world) {
    const load_options& options = world.plan.options;
    _state = state::holding;
    if (world.draining) {
        leave(world);
    } else if (options.mode == load_mode::once && _served == 0) {
        if (world.board.gate_is_open) {
            on_gate(world);
        }
    } else if (options.mode == load_mode::renew) {
        if (options.renew_every == std::chrono::nanoseconds(0)) {
            ask(world, state::renewing);
        } else {
            world.timers.set(_place, world.now + options.renew_every);
        }
    } else if (options.hold == std::chrono::nanoseconds(0)) {
        leave(world);
    } else {
        world.timers.set(_place, world.now + options.hold);
    }
}

void lock_client::refused(client_world& world) {
    ++world.counted.refusals;
    if (++_refusals == 1) {
        ++world.board.refused;
    }
    if (world.plan.masters > 1) {
        release_everywhere(world);
    }
    if (world.draining) {
        end(world);
        return;
    }
    _state = state::pausing;
    const auto pause = _failed ? std::chrono::nanoseconds(pause_after_error)
                               : world.plan.retry.pause(_refusals, world.random);
    world.timers.set(_place, world.now + pause);
}

void lock_client::renewed(client_world& world) {
    ++world.counted.renewals;
    world.counted.renewal.record(static_cast<std::uint64_t>((world.now - _asked).count()));
    _lease_end = _asked + world.plan.lease - world.plan.drift;
    ++_sections;
    hold(world);
}

void lock_client::leave(client_world& world) {
    world.judge.leave(_key, _id);
    ask(world, state::releasing);
}

void lock_client::released(client_world& world) {
    ++world.counted.sections;
    if (world.plan.options.mode != load_mode::renew) {
        ++_sections;
    }
    next(world);
}

/// A release or a renewal was refused. That is a broken promise unless the lease has run out, or
/// something else failed that would explain it.
void lock_client::not_the_owner(client_world& world) {
    world.judge.leave(_key, _id);
    if (world.now >= _lease_end) {
        ++world.counted.expired_holds;
    } else if (!_failed) {
        ++world.counted.locks_lost;
    }
    next(world);
}

void lock_client::next(client_world& world) {
    const load_options& options = world.plan.options;
    if (world.draining || options.mode == load_mode::once) {
        end(world);
    } else if (options.think != std::chrono::nanoseconds(0)) {
        _state = state::thinking;
        world.timers.set(_place, world.now + options.think);
    } else {
        begin_section(world);
    }
}

void lock_client::end(client_world& world) {
    _state = state::ended;
    ++world.ended;
    ++world.board.ended;
}

// ---- events
// -------------------------------------------------------------------------------------------------

void lock_client::on_alarm(client_world& world) {
    switch (_state) {
        case state::pausing:
            attempt(world);
            break;
        case state::thinking:
            begin_section(world);
            break;
        case state::holding:
            if (world.plan.options.mode == load_mode::renew) {
                ask(world, state::renewing);
            } else {
                leave(world);
            }
            break;
        case state::acquiring:
        case state::renewing:
        case state::releasing:
            _open = false;
            _failed = true;
            world.counted.errors.add("a majority of the masters did not answer in time");
            lost(world);
            break;
        case state::idle:
        case state::ended:
            break;
    }
}

void lock_client::on_gate(client_world& world) {
    if (_state == state::holding && _served == 0) {
        world.board.gate_opened = world.now.time_since_epoch().count();
        leave(world);
    }
}

void lock_client::on_drain(client_world& world) {
    switch (_state) {
        case state::idle:
        case state::pausing:
        case state::thinking:
            world.timers.cancel(_place);
            end(world);
            break;
        case state::holding:
            world.timers.cancel(_place);
            leave(world);
            break;
        default:  // a reply is under way, and what follows from it knows that the end has come
            break;
    }
}

void lock_client::on_connection_lost(client_world& world) {
    if (_state == state::ended) {
        return;
    }
    std::uint32_t alive = 0;
    for (std::uint32_t i = 0; i != world.plan.masters; ++i) {
        alive += world.connections[_first_connection + i].is_lost() ? 0 : 1;
    }
    if (alive >= world.plan.votes_needed) {
        return;
    }
    if (_state == state::holding) {
        world.judge.leave(_key, _id);
    }
    world.timers.cancel(_place);
    ++world.clients_lost;
    end(world);
}

void lock_client::begin_measuring() {
    _sections = 0;
    _starved = false;
}

std::optional<std::chrono::nanoseconds> lock_client::end_measuring(const client_world& world) {
    if (_state != state::acquiring && _state != state::pausing) {
        return std::nullopt;
    }
    const std::chrono::nanoseconds waiting = world.now - _wait_began;
    _starved = _starved || waiting >= world.plan.options.starved_after;
    return waiting;
}

// ---- names
// -------------------------------------------------------------------------------------------------

void lock_client::choose_key(client_world& world) {
    if (world.plan.options.mode == load_mode::zipf) {
        _key = static_cast<std::uint32_t>(world.plan.popularity->draw(world.random));
    } else if (world.plan.options.mode == load_mode::spread) {
        _key = static_cast<std::uint32_t>(world.random.below(world.plan.keys));
    } else {
        return;  // always the same one
    }
    world.plan.write_key(_key_text.data(), _key);
}

/// Counts in place: most sections change one digit.
void lock_client::next_token() {
    for (std::size_t i = _token.size(); i-- != _token.size() / 2;) {
        const std::size_t digit = hex.find(_token[i]) + 1;
        _token[i] = hex[digit & 15];
        if (digit < 16) {
            return;
        }
    }
}

}  // namespace lockkeeper::bench
