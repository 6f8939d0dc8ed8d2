#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "shards/core/lock_types.hh"

/// Counters are kept as text, as Redis shows them.
namespace lockkeeper::shards {

/// Only the shortest form of a 64-bit integer: no plus, no blanks, no leading zeros, no minus zero.
std::optional<int64_t> parse_integer(std::string_view text);

std::string format_integer(int64_t value);

/// not_an_integer or overflow where INCRBY and HINCRBY refuse.
lock_result<int64_t> add_to_integer(std::string_view text, int64_t by);

}  // namespace lockkeeper::shards
