#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockkeeper::shards {

/// How the rounds of votes have gone since the start.
struct lease_counters {
    uint64_t won = 0;
    uint64_t elsewhere = 0;    ///< lost to another owner
    uint64_t unreachable = 0;  ///< no majority could be asked
    uint64_t lost = 0;         ///< leases that were held, and could not be kept until their end
    /// Rounds that were won, by the bits of their microseconds: [3] are those of 4 to 7 us.
    std::array<uint64_t, 32> took{};

    void count_won(std::chrono::nanoseconds time) {
        ++won;
        const auto us = static_cast<uint64_t>(std::max<int64_t>(time.count(), 0) / 1000);
        ++took[std::min<size_t>(std::bit_width(us), took.size() - 1)];
    }

    /// So many of a thousand rounds took at most this many microseconds, to the power of two above.
    uint64_t round_us(uint64_t of_thousand) const {
        const uint64_t wanted = (won * of_thousand + 999) / 1000;
        uint64_t seen = 0;
        for (size_t bits = 0; bits < took.size(); ++bits) {
            seen += took[bits];
            if (seen >= wanted) {
                return won > 0 ? (uint64_t{1} << bits) - 1 : 0;
            }
        }
        return 0;
    }

    lease_counters& operator+=(const lease_counters& more) {
        won += more.won;
        elsewhere += more.elsewhere;
        unreachable += more.unreachable;
        lost += more.lost;
        for (size_t i = 0; i < took.size(); ++i) {
            took[i] += more.took[i];
        }
        return *this;
    }
};

/// The leases that are held at one moment.
struct lease_survey {
    uint64_t held = 0;
    uint64_t bare = 0;  ///< by no more masters than it takes: one more failure, and it is lost
    std::optional<std::chrono::nanoseconds> shortest{};  ///< until the end of the first to end

    lease_survey& operator+=(const lease_survey& more) {
        held += more.held;
        bare += more.bare;
        if (more.shortest && (!shortest || *more.shortest < *shortest)) {
            shortest = more.shortest;
        }
        return *this;
    }
};

}  // namespace lockkeeper::shards
