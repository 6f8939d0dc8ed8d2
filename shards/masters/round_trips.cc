#include "shards/masters/round_trips.hh"

#include <algorithm>
#include <bit>

namespace lockkeeper::shards {

namespace {

/// Each answer moves the smoothed figure by this part of the difference, as TCP does.
constexpr int64_t smoothing = 8;

}  // namespace

void round_trips::record(std::chrono::nanoseconds taken) {
    const int64_t nanoseconds = std::max<int64_t>(taken.count(), 0);
    _smoothed = _count == 0 ? nanoseconds : _smoothed + (nanoseconds - _smoothed) / smoothing;
    ++_count;
    const auto microseconds = static_cast<uint64_t>(nanoseconds) / 1'000;
    _sum_us += static_cast<int64_t>(microseconds);
    ++_histogram[std::min<std::size_t>(std::bit_width(microseconds), buckets - 1)];
}

std::chrono::microseconds round_trips::within(double share) const {
    const auto wanted = static_cast<double>(_count) * std::clamp(share, 0.0, 1.0);
    uint64_t seen = 0;
    for (std::size_t i = 0; i != buckets; ++i) {
        seen += _histogram[i];
        if (seen != 0 && static_cast<double>(seen) >= wanted) {
            return std::chrono::microseconds(int64_t{1} << i);
        }
    }
    return std::chrono::microseconds(0);
}

}  // namespace lockkeeper::shards
