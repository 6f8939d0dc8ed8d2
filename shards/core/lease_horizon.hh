#pragma once

#include <chrono>
#include <optional>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// How a master knows, without looking at its keys, when the last lease that it was asked for ends:
/// a mark, one more key with a TTL, which every proxy keeps ahead of all its leases. When another
/// master of the group has forgotten its keys, the marks of the others say for how long it must not
/// vote; that is usually seconds, while the longest lease that is allowed may be many minutes.
///
/// The mark is set ahead by some seconds each time, so it costs a command per master every few
/// seconds, and none per lock. It goes down the same connection just before the vote or the renewal
/// that needs it, so it is always there first. If it fails, the votes behind it must not count, and
/// this begins anew.
///
/// One per connection to a master and incarnation of it: another one has no mark.
class lease_horizon {
public:
    explicit lease_horizon(std::chrono::nanoseconds max_ttl) : _max_ttl(max_ttl) {}

    /// Before a vote or renewal for `lease` is sent, at `now`: what to mark first, or nothing if
    /// the mark that stands (or is on its way) is far enough ahead.
    std::optional<std::chrono::milliseconds> mark_for(std::chrono::nanoseconds lease, instant now);

    /// The end of the mark on our clock, at the earliest.
    instant covered_until() const { return _covered_until; }

private:
    std::chrono::nanoseconds _max_ttl;
    instant _covered_until = start_of_time;
};

}  // namespace lockkeeper::shards
