#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "shards/core/clock.hh"
#include "shards/core/planted.hh"

/// What proxies and masters agree on about leases.
namespace lockkeeper::shards {

/// Any two sets of this many masters share one.
inline size_t quorum_of(size_t masters) {
    return planted(fault::quorum_off_by_one) ? masters / 2 : masters / 2 + 1;
}

/// Clocks of proxies and masters run at rates that differ by less than one in this many.
inline constexpr int64_t clock_rates_differ = 100;

/// By how much a lease ends earlier for us than for the masters: their clocks may be faster than
/// ours, and Redis counts in milliseconds.
inline std::chrono::nanoseconds drift_allowance(std::chrono::nanoseconds lease) {
    if (planted(fault::no_drift_allowance)) {
        return std::chrono::nanoseconds{0};
    }
    return lease / clock_rates_differ + std::chrono::milliseconds(2);
}

/// For how long we believe in a lease of which a majority said yes. `began` was read before the
/// first question was sent, so every master began to count later.
inline instant valid_until(instant began, std::chrono::nanoseconds lease) {
    return began + lease - drift_allowance(lease);
}

/// How long to wait on our clock so that `span` has passed on every master's: twice the difference
/// of rates, for ours and for theirs.
constexpr std::chrono::nanoseconds surely_passed(std::chrono::nanoseconds span) {
    return span + 2 * (span / clock_rates_differ) + std::chrono::milliseconds(5);
}

/// 128 random bits, new for every attempt at a lease: who owns a key on a master, and which answers
/// belong to which attempt.
struct attempt_id {
    uint64_t high = 0;
    uint64_t low = 0;

    friend constexpr auto operator<=>(const attempt_id&, const attempt_id&) = default;
};

/// Fences that one attempt may give out, both ends included.
struct fence_block {
    uint64_t first = 0;
    uint64_t last = 0;

    friend constexpr bool operator==(const fence_block&, const fence_block&) = default;
};

}  // namespace lockkeeper::shards
