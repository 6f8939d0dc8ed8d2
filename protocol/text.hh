#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::protocol {

/// ASCII only: keys and names are bytes, and no locale may change what a command means.
constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::string to_lower(std::string_view text);

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i != a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) {
            return false;
        }
    }
    return true;
}

/// A decimal number exactly as Redis reads one: an optional '-', then digits without leading zeros,
/// blanks or '+', within 64 bits. Nothing else, so that two readers never see two numbers.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Enough room for the text of any 64-bit integer.
inline constexpr std::size_t integer_text_max = 20;

/// Writes the decimal text at `at`, which has room for integer_text_max; returns the end of it.
char* write_integer(char* at, std::int64_t value);
char* write_long_integer(char* at, std::uint64_t value);  ///< of any length
inline char* write_integer(char* at, std::uint64_t value) {
    // Most numbers we write are lengths and counts of one digit.
    if (value < 10) [[likely]] {
        *at = static_cast<char>('0' + value);
        return at + 1;
    }
    return write_long_integer(at, value);
}

/// True for bytes that must not reach a line of text: C0 controls and DEL.
constexpr bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Copies outside text so that it cannot end a reply line or drive a terminal: CR and LF become
/// blanks, other control bytes vanish. `at` has room for text.size(); returns the end.
char* write_sanitised(char* at, std::string_view text);

/// The same as a string, of at most the first `bytes_max` bytes of `text`.
std::string sanitised(std::string_view text, std::size_t bytes_max = std::string_view::npos);

}  // namespace lockkeeper::protocol
