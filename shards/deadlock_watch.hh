#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/timer.hh>
#include <set>
#include <string>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/deadlock.hh"
#include "shards/core/lock_policy.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Which wait: a client waits for one lock at a time.
struct wait_id {
    ss::shard_id core = 0;  ///< of the lock
    uint64_t client = 0;
    instant since{};

    friend auto operator<=>(const wait_id&, const wait_id&) = default;
};

/// A wait that is part of a circle.
struct stuck_wait {
    wait_id which;
    std::string key;
    deadlock_rule rule = deadlock_rule::report;
};

/// Looks for clients that wait for each other in a circle, over all cores. Lives on core 0.
///
/// Twice a second, if anybody waits. A look goes over the lines bit by bit while they change, so
/// what it sees may never have been true at one moment. A circle therefore counts only if a second
/// look right after the first finds the very same waits in it: between the two looks none of these
/// owners could do anything, so at that moment all of it was true.
///
/// Only owners that hold what somebody waits for, and themselves wait, can be part of a circle; no
/// others are told from core to core, and most of the time there are none.
class deadlock_watch {
public:
    explicit deadlock_watch(ss::sharded<lock_service>& locks);

    void start();
    ss::future<> stop();

    /// A look, and what follows from it. One at a time.
    ss::future<> look();

private:
    /// The waits of a circle, the newest first.
    using circle = std::vector<stuck_wait>;
    /// The same in an order of its own, to know it again.
    using circle_id = std::set<wait_id>;

    ss::future<> look_again_later();
    ss::future<bool> somebody_waits();
    ss::future<std::vector<circle>> find_circles();
    ss::future<> judge(std::vector<circle> circles);
    ss::future<> mark(std::set<wait_id> stuck);
    void report(const circle& one);

    ss::sharded<lock_service>& _locks;
    std::set<circle_id> _known;  ///< circles that have been reported and are still there
    std::set<wait_id> _marked;   ///< waits that are told to be in a circle
    ss::timer<ss::lowres_clock> _timer;
    ss::gate _gate;
};

}  // namespace lockkeeper::shards
