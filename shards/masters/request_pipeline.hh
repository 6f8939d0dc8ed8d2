#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <seastar/core/chunked_fifo.hh>
#include <seastar/core/future.hh>
#include <seastar/core/timer.hh>

#include "protocol/reply.hh"
#include "shards/masters/master.hh"
#include "shards/masters/master_statistics.hh"

namespace lockkeeper::shards {

/// How much one core may have in flight to one master. More would only wait: at 100,000 requests a
/// second, which is much for a Redis, this many are answered within the time that a round waits.
struct pipeline_limits {
    std::size_t requests = 16 * 1024;
    /// Bytes of commands. A vote has about 300; a batch of renewals has many.
    std::size_t bytes = 8 * 1024 * 1024;
};

/// Who waits for which reply on one connection. Redis answers in order, so this is a queue;
/// requests whose time is up stay in it, answered, until their replies have come and are dropped.
/// Does no I/O. Belongs to a redis_master.
template <typename Clock>
class request_pipeline {
public:
    struct expectation {
        uint32_t replies = 1;  ///< at least one
        std::size_t bytes = 0;
        std::optional<std::chrono::milliseconds> timeout{};
        link_generation generation{};
        instant sent{};
    };

    /// Counts into `counted`, which outlives it.
    request_pipeline(pipeline_limits limits, master_statistics& counted);
    request_pipeline(const request_pipeline&) = delete;
    request_pipeline& operator=(const request_pipeline&) = delete;

    bool has_room(std::size_t bytes) const;

    /// A request has been put on the way: its replies come after all those expected so far.
    ss::future<master_result> expect(expectation what);

    /// The next reply came. False if nobody asked for any: the master does not keep to the
    /// protocol.
    bool take(protocol::reply reply, instant now);

    /// The connection ended. Everyone is told so who has not been answered.
    void fail_all(master_error why);

    std::size_t requests() const { return _in_flight.size(); }
    std::size_t bytes() const { return _bytes; }
    /// Since when the oldest answer has been owed; nothing if none is.
    std::optional<typename Clock::time_point> owed_since() const;

private:
    struct pending {
        uint32_t due;
        std::size_t bytes;
        typename Clock::time_point since;
        bool answered = false;
        master_replies got;
        ss::promise<master_result> done{};
        ss::timer<Clock> deadline{};
    };

    void time_out(pending& request);

    pipeline_limits _limits;
    master_statistics& _counted;
    /// Elements never move: their timers point at them.
    ss::chunked_fifo<pending, 32> _in_flight;
    std::size_t _bytes = 0;
};

}  // namespace lockkeeper::shards
