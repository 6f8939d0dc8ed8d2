#pragma once

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shards/core/clock.hh"
#include "shards/core/expiry_heap.hh"
#include "shards/core/grant_types.hh"

namespace lockkeeper::shards {

class lock_line;

/// A client's place in the queue of one key. The shell makes it and keeps it where it is until its
/// wait has ended; then waiting_room::take_ended hands it back. The nodes of all queues and of the
/// heap of deadlines are in here, so that serving and leaving never need memory.
struct waiter : boost::intrusive::list_base_hook<> {
    enum class state : uint8_t {
        idle,
        waiting,
        granted,    ///< `given` tells what
        timed_out,  ///< at its deadline
        cancelled,  ///< it left, or somebody unblocked it
        refused,    ///< `error` tells why: it could never be granted, or must not wait
    };

    // What it wants.
    std::string owner{};
    uint64_t client = 0;
    lock_mode mode = lock_mode::exclusive;
    uint32_t permits = 1;
    uint32_t of = 1;
    std::optional<std::chrono::milliseconds> ttl{};
    /// Higher ones are served first; equal ones in the order in which they came.
    int32_t priority = 0;
    instant deadline = end_of_time;
    /// A try that is held back, and not a client that knows that it waits.
    bool is_parked = false;
    bool is_collected = false;  ///< see grant_request

    // How it goes.
    state how = state::idle;
    instant since{};
    /// For the first time. Set before it enters if that was earlier: a try that was held back and
    /// sent away comes back to the place that it had.
    instant came = end_of_time;
    grant given{};
    lock_error error{};
    bool in_deadlock = false;  ///< seen in a circle of waits

    // Its place. Belongs to the waiting_room.
    lock_line* line = nullptr;
    instant expiry{};  ///< belongs to the heap of deadlines
    uint32_t heap_index = not_in_heap;
};

using waiter_list = boost::intrusive::list<waiter>;

}  // namespace lockkeeper::shards
