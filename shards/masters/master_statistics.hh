#pragma once

#include <cstdint>

#include "shards/masters/round_trips.hh"

namespace lockkeeper::shards {

/// Counted since the start of the process, for one master on one core; greetings and pings are
/// requests too.
struct master_statistics {
    uint64_t requests = 0;      ///< sent; a batch of commands is one
    uint64_t replies = 0;       ///< requests answered in time
    uint64_t timeouts = 0;      ///< requests not answered in time
    uint64_t late_replies = 0;  ///< requests answered after their timeout
    uint64_t refused = 0;       ///< requests that were not sent, there being too many in flight
    uint64_t lost = 0;          ///< requests whose connection ended first
    uint64_t pushes = 0;
    uint64_t connections = 0;      ///< made and logged in
    uint64_t failed_attempts = 0;  ///< to make one
    uint64_t writes = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    /// Of all answers, late ones included.
    lockkeeper::shards::round_trips round_trips{};
};

}  // namespace lockkeeper::shards
