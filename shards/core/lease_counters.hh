#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shards/core/time_histogram.hh"

namespace lockkeeper::shards {

/// How the rounds of votes have gone since the start.
struct lease_counters {
    uint64_t won = 0;
    uint64_t elsewhere = 0;    ///< lost to another owner
    uint64_t unreachable = 0;  ///< no majority could be asked
    uint64_t lost = 0;         ///< leases that were held, and could not be kept until their end
    uint64_t renewed = 0;
    uint64_t renewed_late = 0;     ///< of these, with less than a sixth of the lease left
    uint64_t renewals_failed = 0;  ///< rounds; the next one may be in time still
    time_histogram took{};         ///< rounds that were won

    void count_won(std::chrono::nanoseconds time) {
        ++won;
        took.record(time);
    }

    /// So many of a thousand rounds took at most this many microseconds, to the power of two above.
    uint64_t round_us(uint64_t of_thousand) const {
        const uint64_t wanted = (won * of_thousand + 999) / 1000;
        uint64_t seen = 0;
        for (size_t bits = 0; bits < time_histogram::buckets; ++bits) {
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
        renewed += more.renewed;
        renewed_late += more.renewed_late;
        renewals_failed += more.renewals_failed;
        took += more.took;
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
