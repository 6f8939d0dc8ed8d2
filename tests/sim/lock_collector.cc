#include <algorithm>
#include <utility>

#include "lock_world.hh"
#include "violation.hh"

namespace lockkeeper::sim {
namespace {

using namespace std::chrono_literals;
using state = shards::waiter::state;

/// Takes several locks at once or none, as LK.ACQUIREALL does: one after the other in the order of
/// their names, bound to its connection while it collects; then they get their TTL. If it cannot
/// have one in time, or has lost one by then, it gives the others back. What it has from a time
/// before a crash stays as it was until it has all.
class collector final : public actor {
public:
    collector(lock_world& world, uint32_t number)
        : actor(world, number), _owner("c" + std::to_string(number)) {}

    void wake() override {
        if (_waits) {
            if (happens(plan().bad.disconnect)) {
                hang_up();
            }
            return;
        }
        if (_has_all) {
            return finish();
        }
        begin();
    }

    void wait_ended(place& who) override {
        demand(&who == &_line, "I11", "the end of another's wait was told");
        _waits = false;
        if (has_stopped()) {
            return;
        }
        who.how == state::granted ? has_one(who.given) : give_back();
    }

    void hang_up() override {
        if (_waits) {
            clerk().stop_waiting(_line);
        }
        actor::hang_up();
        _taken.clear();
        _has_all = false;
        rest();
    }

private:
    void rest() {
        if (!has_stopped()) {
            sleep_between(0ms, plan().think);
        }
    }

    void begin() {
        _keys.clear();
        for (size_t key = 0; key < plan().keys.size(); ++key) {
            if (plan().keys[key].used_as != usage::semaphore && random().chance(60)) {
                _keys.push_back(key);
            }
        }
        // In the order of their names, databases apart: the same for everybody.
        std::ranges::sort(_keys, {}, [this](size_t key) {
            return std::pair(plan().keys[key].database, plan().keys[key].name);
        });
        _taken.clear();
        _deadline = now() + random().between(1ms, 2 * plan().wait);
        _ttl = random().chance(50) ? std::optional(random().whole(1ms, plan().ttl)) : std::nullopt;
        next();
    }

    wish any_wish() const {
        return {
            .owner = _owner, .actor = _number, .connection = connection(), .is_collected = true};
    }

    void next() {
        if (_taken.size() == _keys.size()) {
            return has_them_all();
        }
        _line.how = state::idle;
        _line.came = shards::end_of_time;
        _line.asked_to_leave = false;
        _line.deadline = _deadline;
        if (now() >= _deadline) {
            return give_back();
        }
        _waits = true;
        const auto got = clerk().acquire(_keys[_taken.size()], any_wish(), &_line);
        if (got.how == lock_clerk::reply::waits) {
            if (_waits && happens(plan().bad.disconnect)) {
                sleep_between(0ms, plan().wait);
            }
            return;
        }
        _waits = false;
        got.how == lock_clerk::reply::granted ? has_one(got.given) : give_back();
    }

    void has_one(const grant& given) {
        _taken.push_back(given);
        next();
    }

    void give_back() {
        if (!_has_all && !_taken.empty()) {
            clerk().saw(feature::multi_locks_given_back);
        }
        const auto all = std::exchange(_taken, {});
        for (size_t i = all.size(); i-- > 0;) {
            clerk().give_back(_keys[i], _owner, all[i].fence);
        }
        rest();
    }

    void has_them_all() {
        for (size_t i = 0; i < _keys.size(); ++i) {
            if (!clerk().holds(_keys[i], _owner, _taken[i].fence)) {
                clerk().saw(feature::multi_locks_lost);
                return give_back();
            }
        }
        auto what = any_wish();
        what.ttl = _ttl;
        for (const bool fresh_ones : {true, false}) {
            for (size_t i = 0; i < _keys.size(); ++i) {
                if ((_taken[i].holds == 1) == fresh_ones &&
                    !clerk().confirm(_keys[i], what, _taken[i])) {
                    return give_back();
                }
            }
        }
        _has_all = true;
        clerk().saw(feature::multi_locks);
        if (std::ranges::any_of(_taken, [](const grant& each) { return each.holds > 1; })) {
            clerk().saw(feature::multi_locks_held_before);
        }
        sleep_between(0ms, plan().hold);
    }

    void finish() {
        if (happens(plan().bad.crash)) {
            _has_all = false;
            _taken.clear();
            return rest();
        }
        give_back();
        _has_all = false;
    }

    const std::string _owner;
    std::vector<size_t> _keys;
    std::vector<grant> _taken;  ///< of the first so many of them
    bool _has_all = false;
    bool _waits = false;
    instant _deadline{};
    std::optional<milliseconds> _ttl;
    place _line;
};

}  // namespace

std::unique_ptr<actor> make_collector(lock_world& world, uint32_t number) {
    return std::make_unique<collector>(world, number);
}

}  // namespace lockkeeper::sim
