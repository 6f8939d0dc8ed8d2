#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// Watches a master's wall clock, by which its keys end, against our CLOCK_BOOTTIME. A clock that
/// steps ends keys too early or too late; the master does not vote for a while then (admission.hh).
///
/// One per master and core; it outlives connections, as a clock may be stepped while there is none.
class clock_watch {
public:
    struct sample {
        instant sent{};
        instant received{};
        std::chrono::microseconds unix_time{};  ///< what TIME answered in between
    };

    /// True if the clock has stepped since the last sample. TIME was read somewhere between `sent`
    /// and `received`, so a sample bounds the offset of the two clocks on both sides, the tighter
    /// the faster it came. Bounds that do not meet any more, with 10 ms and the drift of clocks of
    /// different rates in between, are a step; a slow answer is never taken for one.
    bool on_sample(const sample& taken);

    /// By how much, for the log; of the last step.
    std::chrono::nanoseconds step() const { return _step; }
    /// Another process may be on another machine.
    void forget() { _offset.reset(); }

private:
    /// Unix time minus ours is within these.
    struct bounds {
        std::chrono::nanoseconds low;
        std::chrono::nanoseconds high;
    };

    std::optional<bounds> _offset;
    instant _at{};
    std::chrono::nanoseconds _step{};
};

}  // namespace lockkeeper::shards
