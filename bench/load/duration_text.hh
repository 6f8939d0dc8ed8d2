#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::bench {

/// A whole number with a unit: 50us, 10ms, 30s, 5m. A bare 0 needs none. Nothing for what is not
/// one, or is longer than a day.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The shortest text that parse_duration reads as the same value.
std::string to_text(std::chrono::nanoseconds duration);

}  // namespace lockkeeper::bench
