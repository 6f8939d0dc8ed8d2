#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "lock_clerk.hh"
#include "lock_schedule.hh"

namespace lockkeeper::sim {

class lock_world;

/// Somebody who does things. Each has a connection, and gets a new one when it loses that.
class actor {
public:
    actor(lock_world& world, uint32_t number);
    virtual ~actor() = default;

    /// It asked to be woken now. Only the last time that it asked for counts.
    virtual void wake() = 0;
    void wake(uint64_t alarm) {
        if (alarm == _alarm && !_stopped) {
            wake();
        }
    }
    virtual void wait_ended(place&) {}
    /// Its connection ends, whatever it was doing.
    virtual void hang_up();
    /// No more of it: it waits for nothing and takes nothing.
    void stop();
    bool has_stopped() const { return _stopped; }
    uint64_t connection() const { return _connection; }

protected:
    void sleep(nanoseconds time);
    void sleep_between(milliseconds least, milliseconds most);
    draws& random();
    lock_clerk& clerk();
    const schedule& plan() const;
    instant now() const;
    void reconnect();
    bool happens(unsigned percent);
    /// Rather one that is used so.
    size_t any_key(usage preferred);

    lock_world& _world;
    const uint32_t _number;

private:
    uint64_t _connection = 0;
    uint64_t _alarm = 0;
    bool _stopped = false;
};

/// One schedule: virtual time, everybody who acts in it, and the timers of a shell that is
/// sometimes late.
class lock_world final : public audience {
public:
    lock_world(schedule& plan, tally& counted);
    ~lock_world();

    /// Throws a violation if a promise is broken.
    void run();

    // For actors.
    void wake_at(instant when, uint32_t number, uint64_t alarm = 0);
    uint64_t new_connection() { return ++_connections; }
    schedule& plan() { return _plan; }
    lock_clerk& clerk() { return _clerk; }
    instant now() const { return _now; }

    void wait_ended(place& who) override;
    bool is_unreachable(const place& who) override;

private:
    enum class event : uint32_t { timer = 0xffff'0000, clearing, turn, fences, restart };
    struct appointment {
        instant when;
        uint64_t order;
        uint32_t who;  ///< an actor, or an event
        uint64_t alarm;

        bool operator>(const appointment& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };

    void arm_timer();
    void happen(const appointment& next);
    void wind_up();

    schedule& _plan;
    tally& _counted;
    std::vector<std::unique_ptr<actor>> _actors;
    lock_clerk _clerk;  ///< goes before them: the places in line are theirs
    std::priority_queue<appointment, std::vector<appointment>, std::greater<>> _agenda;
    instant _now = start;
    instant _timer_at = shards::end_of_time;
    uint64_t _timer = 0;
    uint64_t _appointments = 0;
    uint64_t _connections = 0;
    std::vector<uint32_t> _cut_off;  ///< whose connection ends in this event
};

// Who there is. Each in a file of its own.
std::unique_ptr<actor> make_native_client(lock_world& world, uint32_t number);
std::unique_ptr<actor> make_collector(lock_world& world, uint32_t number);
std::unique_ptr<actor> make_poller(lock_world& world, uint32_t number);
std::unique_ptr<actor> make_hash_client(lock_world& world, uint32_t number);
std::unique_ptr<actor> make_administrator(lock_world& world, uint32_t number);

}  // namespace lockkeeper::sim
