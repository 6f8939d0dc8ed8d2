#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shards/core/clock.hh"
#include "shards/core/lock_types.hh"

/// What is asked of a lock with owners, and what is granted.
namespace lockkeeper::shards {

enum class lock_mode : uint8_t {
    exclusive,  ///< one owner
    shared,     ///< any number of owners, and no exclusive one
    permits,    ///< a counting semaphore: owners with `permits` of `of`
};

/// Modes that may meet in one queue: exclusive and shared ones, or permits.
constexpr bool same_family(lock_mode one, lock_mode other) {
    return (one == lock_mode::permits) == (other == lock_mode::permits);
}

struct grant_request {
    lock_key key;
    std::string_view owner;
    uint64_t client = 0;  ///< the connection that asks
    lock_mode mode = lock_mode::exclusive;
    uint32_t permits = 1;
    uint32_t of = 1;
    /// Greater than zero. None: until the client's connection ends, or the policy's max_hold.
    std::optional<std::chrono::milliseconds> ttl{};
    /// For a `SET NX` that is held back: what it takes is a lock of Redis, and its owner has no
    /// second hold of it.
    bool is_parked = false;
    /// The same request was granted before, with this fence, and its owner does not know.
    std::optional<uint64_t> repeats{};
    /// One of several that are taken together: what its owner has already stays as it is, but for
    /// one hold more, until all of them are there.
    bool is_collected = false;
};

/// How one of several locks came to its owner.
enum class collected_as : uint8_t {
    fresh,        ///< nobody had it, and it lives by the connection for the time being
    held_before,  ///< by the same owner
};

/// What an owner has been told.
struct grant {
    uint64_t fence = 0;
    instant until = end_of_time;
    int64_t holds = 1;
};

struct grant_outcome {
    bool granted = false;
    grant given{};
    /// If not granted: when the present holders end, as far as is known.
    std::optional<instant> held_until{};
};

/// An owner that holds a lock, for those who look at it.
struct holder_view {
    std::string_view owner{};
    lock_mode mode = lock_mode::exclusive;
    uint64_t fence = 0;
    std::optional<instant> until{};
    int64_t holds = 1;
    uint32_t permits = 1;
    uint32_t of = 1;
    uint64_t client = 0;
    instant since{};
    bool bound = false;  ///< to its client's connection
};

/// A grant that ended although its owner did not release it.
struct lost_grant {
    uint32_t database = 0;
    std::string key;
    std::string owner;
    uint64_t fence = 0;
    uint64_t client = 0;
};

/// What happened to locks since the start, for metrics.
struct grant_counters {
    uint64_t grants = 0;
    uint64_t refusals = 0;
    /// Of those who took a place in line (I11): each ends in one of the ways below, or waits still.
    uint64_t waits = 0;
    uint64_t hand_offs = 0;  ///< grants to somebody who had waited
    uint64_t timed_out = 0;
    uint64_t cancelled = 0;
    uint64_t refused_waits = 0;
    uint64_t releases = 0;
    uint64_t lost = 0;
    uint64_t reservations = 0;  ///< of a lock that came free, for those who poll
    uint64_t deadlocks = 0;

    grant_counters& operator+=(const grant_counters& other) {
        grants += other.grants;
        refusals += other.refusals;
        waits += other.waits;
        hand_offs += other.hand_offs;
        timed_out += other.timed_out;
        cancelled += other.cancelled;
        refused_waits += other.refused_waits;
        releases += other.releases;
        lost += other.lost;
        reservations += other.reservations;
        deadlocks += other.deadlocks;
        return *this;
    }
};

}  // namespace lockkeeper::shards
