#include "lock_world.hh"

#include <algorithm>
#include <utility>

#include "violation.hh"

namespace lockkeeper::sim {

using namespace std::chrono_literals;

// ---- an actor -----------------------------------------------------------------------------------

actor::actor(lock_world& world, uint32_t number)
    : _world(world), _number(number), _connection(world.new_connection()) {}

void actor::hang_up() {
    clerk().disconnect(_connection);
    reconnect();
}

void actor::stop() {
    _stopped = true;
    hang_up();
}

void actor::sleep(nanoseconds time) {
    _world.wake_at(now() + std::max<nanoseconds>(time, 1us), _number, ++_alarm);
}

void actor::sleep_between(milliseconds least, milliseconds most) {
    sleep(random().between(least, most));
}

draws& actor::random() {
    return _world.plan().random;
}
lock_clerk& actor::clerk() {
    return _world.clerk();
}
const schedule& actor::plan() const {
    return _world.plan();
}
instant actor::now() const {
    return _world.now();
}
void actor::reconnect() {
    _connection = _world.new_connection();
}
bool actor::happens(unsigned percent) {
    return percent > 0 && random().chance(percent);
}
size_t actor::any_key(usage preferred) {
    size_t key = random().below(plan().keys.size());
    for (int tries = 0; tries < 3 && plan().keys[key].used_as != preferred; ++tries) {
        key = random().below(plan().keys.size());
    }
    return key;
}

// ---- the world ----------------------------------------------------------------------------------

lock_world::lock_world(schedule& plan, tally& counted)
    : _plan(plan), _counted(counted), _clerk(plan, counted, *this) {
    const auto add = [this](uint32_t how_many, auto make) {
        for (uint32_t i = 0; i < how_many; ++i) {
            const auto number = static_cast<uint32_t>(_actors.size());
            _actors.push_back(make(*this, number));
            wake_at(_now + _plan.random.between(0ms, _plan.think), number);
        }
    };
    add(plan.native_clients, make_native_client);
    add(plan.collectors, make_collector);
    add(plan.pollers, make_poller);
    add(plan.hash_clients, make_hash_client);
    add(plan.administrator ? 1 : 0, make_administrator);
    wake_at(_now + clearing_interval, static_cast<uint32_t>(event::clearing));
    if (plan.bad.deferral > 0) {
        wake_at(_now + 10ms, static_cast<uint32_t>(event::turn));
    }
    wake_at(_now + 50ms, static_cast<uint32_t>(event::fences));
    if (plan.restarts) {
        wake_at(_now + _plan.random.between(20ms, 300ms), static_cast<uint32_t>(event::restart));
    }
}

lock_world::~lock_world() = default;

void lock_world::wake_at(instant when, uint32_t number, uint64_t alarm) {
    _agenda.push({when, ++_appointments, number, alarm});
}

/// The shell's timer: set to when something is due, and sometimes late.
void lock_world::arm_timer() {
    const auto due = _clerk.next_due();
    if (!due || *due >= _timer_at) {
        return;
    }
    _timer_at = *due;
    const nanoseconds late = _plan.random.chance(50) ? 0ns : _plan.random.between(0ms, lateness);
    wake_at(std::max(*due, _now) + late, static_cast<uint32_t>(event::timer), ++_timer);
}

void lock_world::run() {
    const instant end = start + _plan.length;
    while (!_agenda.empty() && _agenda.top().when <= end) {
        const appointment next = _agenda.top();
        _agenda.pop();
        happen(next);
    }
    _now = end;
    wind_up();
}

void lock_world::happen(const appointment& next) {
    _now = next.when;
    _clerk.set_time(_now);
    ++_counted.events;
    switch (static_cast<event>(next.who)) {
        case event::timer:
            if (next.alarm != _timer) {
                return;  // set anew since, for an earlier time
            }
            _timer_at = shards::end_of_time;
            if (_clerk.is_deferred()) {
                _timer_at = _now + 1ms;
                wake_at(_timer_at, next.who, ++_timer);
            } else {
                _clerk.advance();
            }
            break;
        case event::clearing:
            _clerk.clear_away();
            wake_at(_now + clearing_interval, next.who);
            break;
        case event::turn:
            // A command over several cores begins, or ends.
            _clerk.defer(!_clerk.is_deferred() && _plan.random.chance(_plan.bad.deferral));
            wake_at(_now + (_clerk.is_deferred() ? 1ms : 5ms), next.who);
            break;
        case event::fences:
            _clerk.raise_fences(50);
            wake_at(_now + _plan.random.between(1ms, 50ms), next.who);
            break;
        case event::restart:
            _clerk.defer(false);
            for (const auto& each : _actors) {
                each->hang_up();
            }
            _cut_off.clear();
            _clerk.restart();
            wake_at(_now + _plan.random.between(50ms, 500ms), next.who);
            break;
        default:
            _actors[next.who]->wake(next.alarm);
    }
    while (!_cut_off.empty()) {
        const uint32_t who = _cut_off.back();
        _cut_off.pop_back();
        _actors[who]->hang_up();
    }
    arm_timer();
    if (_plan.asks_the_table && _counted.events % 16 == 0) {
        _clerk.verify();
    }
}

void lock_world::wait_ended(place& who) {
    _actors[who.actor]->wait_ended(who);
}

bool lock_world::is_unreachable(const place& who) {
    if (_plan.bad.lost_reply == 0 || !_plan.random.chance(_plan.bad.lost_reply)) {
        return false;
    }
    _cut_off.push_back(who.actor);
    return true;
}

/// Everybody leaves, an administrator removes what would stay for ever, and time goes on until
/// nothing is left.
void lock_world::wind_up() {
    _clerk.set_time(_now);
    _clerk.defer(false);
    _clerk.raise_fences(1'000);
    for (const auto& each : _actors) {
        each->stop();
    }
    _cut_off.clear();
    for (size_t key = 0; key < _plan.keys.size(); ++key) {
        _clerk.remove(key);
    }
    for (int rounds = 0; rounds < 1'000; ++rounds) {
        const auto due = _clerk.next_due();
        const auto expiry = _clerk.next_expiry();
        if (!due && !expiry) {
            return _clerk.check_empty();
        }
        _now = std::max(_now, std::min(due.value_or(shards::end_of_time),
                                       expiry.value_or(shards::end_of_time)));
        _clerk.set_time(_now);
        _clerk.clear_away();
        _clerk.advance();
    }
    throw violation("P4", "time goes on and something is always due");
}

}  // namespace lockkeeper::sim
