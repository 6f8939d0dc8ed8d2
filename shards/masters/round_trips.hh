#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lockkeeper::shards {

/// How long a master takes to answer: a smoothed figure for people, and a histogram whose buckets
/// double, for percentiles and metrics. A plain value, cheap enough for every request.
class round_trips {
public:
    /// Bucket i counts answers of less than 2^i microseconds; the last one everything else.
    static constexpr std::size_t buckets = 24;

    void record(std::chrono::nanoseconds taken);

    uint64_t count() const { return _count; }
    /// Follows the last dozen or so of answers.
    std::chrono::nanoseconds smoothed() const { return std::chrono::nanoseconds(_smoothed); }
    /// The bound of the bucket that the given share (0 to 1) of all answers lies within.
    std::chrono::microseconds within(double share) const;
    const std::array<uint64_t, buckets>& histogram() const { return _histogram; }
    std::chrono::microseconds sum() const { return std::chrono::microseconds(_sum_us); }

private:
    uint64_t _count = 0;
    int64_t _sum_us = 0;
    int64_t _smoothed = 0;
    std::array<uint64_t, buckets> _histogram{};
};

}  // namespace lockkeeper::shards
