#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lockkeeper::shards {

/// How often something took how long, for metrics. Buckets double: number i counts what took less
/// than 2^i microseconds and not less than half of that, the last one all that took longer. A plain
/// value; to record a time takes a dozen instructions and no memory.
class time_histogram {
public:
    /// The last bound is 36 minutes.
    static constexpr size_t buckets = 32;

    void record(std::chrono::nanoseconds time) {
        const auto us = static_cast<uint64_t>(std::max<int64_t>(time.count(), 0)) / 1000;
        ++_counts[std::min<size_t>(static_cast<size_t>(std::bit_width(us)), buckets - 1)];
        _sum_us += us;
    }

    uint64_t operator[](size_t bucket) const { return _counts[bucket]; }
    /// What is in this bucket and took less; there is none for the last one.
    static constexpr std::chrono::microseconds bound(size_t bucket) {
        return std::chrono::microseconds(int64_t{1} << bucket);
    }
    std::chrono::microseconds sum() const {
        return std::chrono::microseconds(static_cast<int64_t>(_sum_us));
    }
    uint64_t count() const {
        uint64_t all = 0;
        for (const uint64_t each : _counts) {
            all += each;
        }
        return all;
    }

    time_histogram& operator+=(const time_histogram& more) {
        for (size_t i = 0; i < buckets; ++i) {
            _counts[i] += more._counts[i];
        }
        _sum_us += more._sum_us;
        return *this;
    }

private:
    std::array<uint64_t, buckets> _counts{};
    uint64_t _sum_us = 0;
};

}  // namespace lockkeeper::shards
