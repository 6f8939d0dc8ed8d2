#include "shards/core/clock_watch.hh"

#include <algorithm>

#include "shards/core/lease_terms.hh"

namespace lockkeeper::shards {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool clock_watch::on_sample(const sample& taken) {
    const nanoseconds there = taken.unix_time;
    const bounds now{.low = there - nanoseconds(taken.received.nanoseconds),
                     .high = there - nanoseconds(taken.sent.nanoseconds)};
    const nanoseconds drift = (taken.received - _at) / clock_rates_differ;
    const auto before = _offset;
    _offset = now;
    _at = taken.sent;
    if (!before) {
        return false;
    }
    const nanoseconds allowed = std::max<nanoseconds>(milliseconds(10), drift);
    if (now.low > before->high + allowed) {
        _step = now.low - before->high;
        return true;
    }
    if (now.high < before->low - allowed) {
        _step = now.high - before->low;
        return true;
    }
    // The same offset still: what both say is closer than what either does.
    const bounds both{.low = std::max(now.low, before->low - drift),
                      .high = std::min(now.high, before->high + drift)};
    if (both.low <= both.high) {
        _offset = both;
    }
    return false;
}

}  // namespace lockkeeper::shards
