#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "shards/core/lease_terms.hh"

namespace lockkeeper::shards {

/// How the leases of one stripe are taken; one object for all of them.
struct lease_rules {
    using nanoseconds = std::chrono::nanoseconds;

    uint8_t masters = 1;
    bool fences = true;
    /// A lease is longer than its grant by at least this, so that the next grant needs no master.
    nanoseconds slack = std::chrono::seconds(5);
    nanoseconds max_ttl = std::chrono::minutes(10);
    /// The lease of an entry without an end; renewed every third of it.
    nanoseconds untimed = std::chrono::seconds(30);
    /// The longest that any round of the fleet waits for its answers; part of what all proxies
    /// agree on.
    nanoseconds timeout = std::chrono::milliseconds(250);
    /// A grant that has less than this left would be void before its client knows of it.
    nanoseconds min_grant = std::chrono::milliseconds(10);

    /// Fences that come with a vote. Most keys are held by few clients in a row.
    static constexpr uint32_t first_block = 64;
    /// Fences that come with a renewal of a key that is handed on very often.
    static constexpr uint32_t largest_block = 1 << 18;

    /// What the masters are asked for so that a client can have `ttl`: room for the next one, too.
    /// Whole milliseconds, as Redis counts.
    std::chrono::milliseconds length_for(nanoseconds ttl) const {
        const nanoseconds wanted = std::min(ttl, max_ttl) + std::max(std::min(ttl, max_ttl), slack);
        return std::chrono::ceil<std::chrono::milliseconds>(std::min(wanted, max_ttl));
    }

    /// A grant longer than this cannot be covered by one lease: it lives on renewals.
    nanoseconds longest_promise() const { return max_ttl - drift_allowance(max_ttl) - timeout; }

    /// How long a round waits for its answers: short locks are worth less waiting.
    nanoseconds patience_for(nanoseconds ttl) const {
        constexpr nanoseconds least = std::chrono::milliseconds(20);
        return std::clamp(ttl / 10, std::min(least, timeout), timeout);
    }
};

}  // namespace lockkeeper::shards
