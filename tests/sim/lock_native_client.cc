#include <algorithm>
#include <utility>

#include "lock_world.hh"
#include "violation.hh"

namespace lockkeeper::sim {
namespace {

using namespace std::chrono_literals;
using state = shards::waiter::state;

/// Takes one lock after the other by the native verbs: alone, shared, or permits; with a TTL or
/// bound to its connection; trying once, or in line for a while or for ever. While it holds one it
/// may take it again, over another connection too, share it, extend it, sleep too long, crash, or
/// lose its connection.
class native_client final : public actor {
public:
    native_client(lock_world& world, uint32_t number)
        : actor(world, number), _owner("n" + std::to_string(number)) {}

    void wake() override {
        if (_waits) {
            return lose_patience();
        }
        _holds > 0 ? go_on() : begin();
    }

    void wait_ended(place& who) override {
        demand(&who == &_line, "I11", "the end of another's wait was told");
        _waits = false;
        if (who.how == state::granted && !has_stopped()) {
            return holds(who.given);
        }
        rest();
    }

    void hang_up() override {
        if (_waits) {
            clerk().stop_waiting(_line);
        }
        actor::hang_up();
        close_second();
        _holds = 0;
        rest();
    }

private:
    void close_second() {
        if (_second != 0) {
            clerk().disconnect(std::exchange(_second, 0));
        }
    }

    void rest() {
        close_second();
        _holds = 0;
        if (!has_stopped()) {
            sleep_between(0ms, plan().think);
        }
    }

    wish any_wish() {
        const key_plan& key = plan().keys[_key];
        wish what{.owner = _owner, .actor = _number, .connection = connection()};
        bool semaphore = key.used_as == usage::semaphore;
        if (happens(plan().bad.mistake)) {
            semaphore = !semaphore;
        }
        if (semaphore) {
            what.mode = lock_mode::permits;
            what.of = happens(plan().bad.mistake) ? key.permits + 1 : key.permits;
            what.permits = static_cast<uint32_t>(random().between(1, what.of));
        } else if (random().chance(40)) {
            what.mode = lock_mode::shared;
        }
        if (random().chance(70)) {
            what.ttl = random().whole(1ms, plan().ttl);
        }
        return what;
    }

    void begin() {
        _key = random().below(plan().keys.size());
        _wish = any_wish();
        if (random().chance(25)) {
            return answered(clerk().acquire(_key, _wish, nullptr));
        }
        _line.how = state::idle;
        _line.came = shards::end_of_time;
        _line.asked_to_leave = false;
        _line.priority = random().chance(80) ? 0 : static_cast<int32_t>(random().between(-1, 2));
        _line.deadline =
            random().chance(30) ? shards::end_of_time : now() + random().between(1ms, plan().wait);
        // A SET NX whose answer is held back.
        if (_wish.mode == lock_mode::exclusive && _wish.ttl && random().chance(15)) {
            _wish.is_parked = true;
            _line.priority = 0;
            _line.deadline = now() + random().between(1ms, 20ms);
            // It has tried before, or says so.
            if (random().chance(50)) {
                _line.came = now() - random().between(0ms, 40ms);
            }
        }
        _waits = true;
        const auto got = clerk().acquire(_key, _wish, &_line);
        if (got.how != lock_clerk::reply::waits) {
            _waits = false;
            return answered(got);
        }
        if (_waits && (_line.deadline == shards::end_of_time || happens(plan().bad.disconnect))) {
            sleep_between(1ms, 2 * plan().wait);
        }
    }

    void answered(const lock_clerk::outcome& got) {
        got.how == lock_clerk::reply::granted ? holds(got.given) : rest();
    }

    void holds(const grant& given) {
        _holds = given.holds;
        _until = given.until;
        sleep_between(0ms, plan().hold);
    }

    /// It has waited for long enough: it is unblocked, or its connection ends.
    void lose_patience() {
        if (happens(plan().bad.disconnect)) {
            return hang_up();
        }
        if (random().chance(30)) {
            clerk().stop_waiting(_line);
            return;
        }
        sleep_between(1ms, 2 * plan().wait);
    }

    void go_on() {
        if (happens(plan().bad.crash)) {
            // Silence; its connection stays, and what it had ends by itself or never.
            return rest();
        }
        if (happens(plan().bad.disconnect)) {
            return hang_up();
        }
        if (happens(plan().bad.mistake)) {
            clerk().release(_key, "somebody else");
        }
        if (happens(plan().bad.oversleep) && _until != shards::end_of_time && !_has_slept) {
            _has_slept = true;
            return sleep(_until - now() + random().between(0ms, plan().hold));
        }
        _has_slept = false;
        if (_second != 0 && random().chance(30)) {
            close_second();
        }
        if (random().chance(15)) {
            return once_more();
        }
        if (random().chance(15) && !_wish.is_parked) {
            if (!clerk().extend(_key, _owner, random().whole(1ms, plan().ttl))) {
                return rest();
            }
            return sleep_between(0ms, plan().hold);
        }
        if (const auto left = clerk().release(_key, _owner); left && *left > 0) {
            return sleep_between(0ms, plan().hold);
        }
        rest();
    }

    /// The same lock again: as before, or shared from now on, or alone, which is refused.
    void once_more() {
        wish again = _wish;
        again.is_parked = false;
        if (again.mode == lock_mode::exclusive && random().chance(40)) {
            again.mode = lock_mode::shared;
        } else if (again.mode == lock_mode::shared && random().chance(10)) {
            again.mode = lock_mode::exclusive;
        }
        if (random().chance(30)) {
            close_second();
            again.connection = _second = _world.new_connection();
        }
        again.ttl =
            random().chance(50) ? again.ttl : std::optional(random().whole(1ms, plan().ttl));
        const auto got = clerk().acquire(_key, again, nullptr);
        if (got.how == lock_clerk::reply::granted) {
            _wish = again;
            _wish.connection = connection();
            return holds(got.given);
        }
        sleep_between(0ms, plan().hold);
    }

    const std::string _owner;
    size_t _key = 0;
    wish _wish;
    place _line;
    bool _waits = false;
    bool _has_slept = false;
    int64_t _holds = 0;
    uint64_t _second = 0;  ///< another connection of its
    instant _until{};
};

}  // namespace

std::unique_ptr<actor> make_native_client(lock_world& world, uint32_t number) {
    return std::make_unique<native_client>(world, number);
}

}  // namespace lockkeeper::sim
