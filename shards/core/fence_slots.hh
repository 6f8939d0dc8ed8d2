#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::shards {

/// Fences are counted in a fixed table on every master, not per key: counters of keys that nobody
/// uses any more would never go away. Keys that share a slot skip some numbers, that is all.
inline constexpr uint32_t fence_slots = 65'536;

/// Fences stay below this: JavaScript and Lua count in doubles, which cannot tell larger integers
/// apart.
inline constexpr uint64_t fences_end = uint64_t{1} << 53;

/// The slot of a key, fixed for ever because every proxy of a fleet must agree: the lowest 16 bits
/// of SipHash-2-4 of the whole key under the all-zero key.
uint32_t fence_slot(std::string_view key);

/// A number that no counter has reached, as long as fewer than 2^20 fences a second were given from
/// one slot on average, and the wall clock was not set back: where counting begins on masters that
/// remember nothing.
constexpr uint64_t fence_floor(uint64_t unix_seconds) {
    return unix_seconds << 20;
}
static_assert(fence_floor(8'000'000'000) < fences_end, "good until the year 2223");

}  // namespace lockkeeper::shards
