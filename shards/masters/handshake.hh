#pragma once

#include <chrono>
#include <expected>
#include <seastar/core/future.hh>
#include <string>

#include "shards/masters/master.hh"
#include "shards/masters/master_facts.hh"

namespace lockkeeper::shards {

struct handshake_result {
    link_generation generation{};  ///< the connection that the facts were learnt on and hold for
    master_facts facts;
};

/// Asks a connected master about itself: all questions in one request, then the time alone. Nothing
/// is asked on any other connection than the present one. An error is a reason for operators; the
/// caller tries again, or reconnects. `who` outlives the future.
ss::future<std::expected<handshake_result, std::string>> shake_hands(
    master& who, std::chrono::milliseconds timeout);

/// One look at its clock.
ss::future<std::expected<clock_sample, std::string>> look_at_clock(master& who, send_options how);

}  // namespace lockkeeper::shards
