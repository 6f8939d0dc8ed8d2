#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>

namespace lockkeeper::shards {

/// A moment on CLOCK_BOOTTIME, in nanoseconds: it never steps and it runs on while the machine
/// sleeps, so a lease is judged by the time that really passed. Only the shell reads that clock;
/// the core is told.
struct instant {
    int64_t nanoseconds = 0;

    friend constexpr auto operator<=>(instant, instant) = default;
};

inline constexpr instant end_of_time{std::numeric_limits<int64_t>::max()};
inline constexpr instant start_of_time{std::numeric_limits<int64_t>::min()};

/// Sums saturate instead of wrapping: a client may ask for a TTL of any number of milliseconds, and
/// an overflow must not turn the longest lease into one that has already ended.
template <typename Rep, typename Period>
constexpr instant operator+(instant from, std::chrono::duration<Rep, Period> by) {
    using scale = std::ratio_divide<Period, std::nano>;
    static_assert(scale::den == 1, "an instant counts whole nanoseconds");
    const int64_t count = by.count();
    int64_t sum = 0;
    if (__builtin_mul_overflow(count, int64_t{scale::num}, &sum) ||
        __builtin_add_overflow(from.nanoseconds, sum, &sum)) {
        return count < 0 ? start_of_time : end_of_time;
    }
    return instant{sum};
}

template <typename Rep, typename Period>
constexpr instant operator-(instant from, std::chrono::duration<Rep, Period> by) {
    // The lowest duration has no opposite; one tick less is as far away.
    return from + -std::max(by, -std::chrono::duration<Rep, Period>::max());
}

/// Saturates likewise.
constexpr std::chrono::nanoseconds operator-(instant to, instant from) {
    int64_t difference = 0;
    if (__builtin_sub_overflow(to.nanoseconds, from.nanoseconds, &difference)) {
        return to < from ? std::chrono::nanoseconds::min() : std::chrono::nanoseconds::max();
    }
    return std::chrono::nanoseconds{difference};
}

}  // namespace lockkeeper::shards
