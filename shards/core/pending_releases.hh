#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/lease_terms.hh"
#include "shards/core/stored_value.hh"

namespace lockkeeper::shards {

/// A release that could not be delivered.
struct pending_release {
    uint32_t database = 0;
    std::string key;
    attempt_id attempt{};
    instant until{};  ///< then the key has ended on the master by itself
    std::shared_ptr<const stored_value> stored{};
};

/// Releases that one master does not know of because its connection broke. They go out first when
/// it is back: before any vote, so that a key of our own does not stand in our way. One per master
/// and core.
///
/// Bounded: beyond `limit` the oldest are forgotten, and their keys end by themselves.
class pending_releases {
public:
    explicit pending_releases(size_t limit = 100'000) : _limit(limit) {}

    void add(pending_release release);
    /// What is still worth sending; empties the list. What fails again is added again.
    std::vector<pending_release> take(instant now);

    size_t size() const { return _waiting.size(); }
    /// Keys that were left to end by themselves, since the start.
    uint64_t forgotten() const { return _forgotten; }

private:
    size_t _limit;
    std::deque<pending_release> _waiting;
    uint64_t _forgotten = 0;
};

}  // namespace lockkeeper::shards
