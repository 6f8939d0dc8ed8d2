#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

/// What the embedded store remembers of its fences from one start to the next: a number that none
/// of them is above. It is one line of text, so that an operator can read it and move it.
namespace lockkeeper::shards {

/// How far ahead of its fences a process writes the number down, so that it need not write often:
/// 2^20, once for every half a million grants. What is not used up is lost to the next start, and
/// gaps do no harm.
inline constexpr uint64_t fence_block = uint64_t{1} << 20;

/// Where fences begin when nothing is known of earlier ones: they have grown since if fewer than
/// 2^20 were given in a second, and if the wall clock was not set back. Reaches fence_limit in the
/// year 2242.
constexpr uint64_t fences_by_clock(uint64_t unix_seconds) {
    constexpr uint64_t most = UINT64_MAX / fence_block;
    return (unix_seconds < most ? unix_seconds : most) * fence_block;
}

std::string show_fence_record(uint64_t ceiling);

/// Only what show_fence_record() wrote, to the byte: a number that somebody mistyped or a disk
/// garbled would let fences go back. Says what is wrong.
std::expected<uint64_t, std::string> parse_fence_record(std::string_view text);

}  // namespace lockkeeper::shards
