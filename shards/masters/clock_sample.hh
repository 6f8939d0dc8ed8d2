#pragma once

#include <chrono>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// One look at a master's wall clock: at some moment between `sent` and `received` of our own clock
/// it showed `shown`.
struct clock_sample {
    instant sent{};
    instant received{};
    std::chrono::microseconds shown{};  ///< since 1970

    std::chrono::nanoseconds round_trip() const { return received - sent; }
    /// The master's clock less ours, as if it had looked half-way; wrong by at most half a round
    /// trip. Our clock counts from the machine's start, so only changes of this mean something.
    std::chrono::nanoseconds offset() const {
        const instant middle = sent + round_trip() / 2;
        return std::chrono::nanoseconds(shown) - std::chrono::nanoseconds(middle.nanoseconds);
    }
};

}  // namespace lockkeeper::shards
