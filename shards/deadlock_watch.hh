#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/timer.hh>
#include <set>
#include <vector>

#include "shards/lock_service.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Looks for clients that wait for each other's locks in a circle, over all cores. A circle is
/// reported once in the log, shown by LK.WAITERS and counted; where the policy of the lock says so,
/// the wait that closed it is refused. Lives on core 0.
class deadlock_watch {
public:
    explicit deadlock_watch(ss::sharded<lock_service>& locks);

    void start();
    ss::future<> stop();

private:
    ss::future<> look();

    ss::sharded<lock_service>& _locks;
    std::set<std::vector<uint64_t>> _known;  ///< circles that have been reported, by their clients
    ss::timer<> _timer;
    ss::gate _gate;
};

}  // namespace lockkeeper::shards
