#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace lockkeeper::proxy {

/// What Redis' DIGEST tells of a value, and what the conditions IFDEQ and IFDNE compare: 64 bits of
/// XXH3 as 16 lower-case hexadecimal digits.
using value_digest = std::array<char, 16>;

value_digest digest_of(std::string_view value);

/// A digest as a client may write it, in either case; nothing if it cannot be one.
std::optional<value_digest> parse_digest(std::string_view text);

}  // namespace lockkeeper::proxy
