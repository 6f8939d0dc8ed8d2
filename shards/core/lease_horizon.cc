#include "shards/core/lease_horizon.hh"

#include <algorithm>

#include "shards/core/lease_terms.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::shards {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::optional<milliseconds> lease_horizon::mark_for(nanoseconds lease, instant now) {
    if (planted(fault::horizon_not_marked) || now + lease <= _covered_until) {
        return std::nullopt;
    }
    // A lease is valid until `now + lease` at most, on our clock. The mark counts from when the
    // master reads it, which is later; its clock may be faster than ours by one in a hundred.
    const nanoseconds ahead =
        std::clamp<nanoseconds>(lease / 2, milliseconds(500), milliseconds(5'000));
    const nanoseconds wanted = std::min(lease + ahead, std::max(_max_ttl, lease));
    const auto length = std::chrono::ceil<milliseconds>(wanted + wanted / (clock_rates_differ - 1));
    _covered_until = now + (length - nanoseconds(length) / clock_rates_differ);
    return length;
}

}  // namespace lockkeeper::shards
