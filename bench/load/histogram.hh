#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockkeeper::bench {

/// Counts durations in nanoseconds with an error below 0.1 %: exact up to 2 us, then 1,024 steps
/// for each doubling. One per thread, merged at the end. Recording is a few instructions and never
/// allocates.
///
/// Values beyond about 73 minutes count as that; the maximum and the mean are exact in any case.
class histogram {
public:
    histogram();

    void record(std::uint64_t value);
    void merge(const histogram& other);
    void clear();

    std::uint64_t count() const { return _count; }
    std::uint64_t max() const { return _max; }
    double mean() const;

    /// The value that a share of `share` (0..1) of the recorded values does not exceed: the upper
    /// end of its step, but never more than max(). 0 if nothing was recorded.
    std::uint64_t quantile(double share) const;

private:
    std::vector<std::uint64_t> _steps;
    std::uint64_t _count = 0;
    std::uint64_t _max = 0;
    double _sum = 0;
};

}  // namespace lockkeeper::bench
