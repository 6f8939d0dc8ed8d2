#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

/// Numbers as people write them in a file: `250ms`, `10s`, `64KiB`. A number without a unit is
/// refused, because half of its readers would take it for another one; 0 needs none.
namespace lockkeeper::config {

std::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text);
std::expected<uint64_t, std::string> parse_size(std::string_view text);
std::expected<uint64_t, std::string> parse_count(std::string_view text);

/// The shortest exact form: 1500 -> "1500ms", 60000 -> "1m".
std::string show_duration(std::chrono::milliseconds value);
std::string show_size(uint64_t bytes);

}  // namespace lockkeeper::config
