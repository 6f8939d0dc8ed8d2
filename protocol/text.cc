#include "protocol/text.hh"

#include <array>
#include <cstring>
#include <limits>

namespace lockkeeper::protocol {

namespace {

/// "00" "01" ... "99".
constexpr auto two_digits = [] {
    std::array<char, 200> digits{};
    for (std::size_t i = 0; i != 100; ++i) {
        digits[2 * i] = static_cast<char>('0' + i / 10);
        digits[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return digits;
}();

/// Of the largest 64-bit integer.
constexpr std::size_t digits_max = 19;

}  // namespace

std::string to_lower(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        c = to_lower(c);
    }
    return lower;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    const bool negative = text.starts_with('-');
    const std::string_view digits = text.substr(negative ? 1 : 0);
    if (digits.empty() || digits.size() > digits_max) {
        return std::nullopt;
    }
    if (digits.front() == '0') {
        return text == "0" ? std::optional<std::int64_t>(0) : std::nullopt;
    }
    std::uint64_t magnitude = 0;
    for (const char c : digits) {
        const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
        if (digit > 9) {
            return std::nullopt;
        }
        magnitude = magnitude * 10 + digit;  // nineteen nines fit
    }
    constexpr auto highest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (magnitude > highest + (negative ? 1 : 0)) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

char* write_long_integer(char* at, std::uint64_t value) {
    std::size_t digits = 1;
    for (std::uint64_t rest = value; rest >= 10; rest /= 10) {
        ++digits;
    }
    char* const end = at + digits;
    at = end;
    for (; value >= 100; value /= 100) {
        at -= 2;
        std::memcpy(at, two_digits.data() + 2 * (value % 100), 2);
    }
    if (value >= 10) {
        std::memcpy(at - 2, two_digits.data() + 2 * value, 2);
    } else {
        at[-1] = static_cast<char>('0' + value);
    }
    return end;
}

char* write_integer(char* at, std::int64_t value) {
    auto magnitude = static_cast<std::uint64_t>(value);
    if (value < 0) {
        *at++ = '-';
        magnitude = 0 - magnitude;
    }
    return write_integer(at, magnitude);
}

char* write_sanitised(char* at, std::string_view text) {
    for (const char c : text) {
        if (!is_control(c)) {
            *at++ = c;
        } else if (c == '\r' || c == '\n') {
            *at++ = ' ';
        }
    }
    return at;
}

std::string sanitised(std::string_view text, std::size_t bytes_max) {
    text = text.substr(0, bytes_max);
    std::string clean(text.size(), '\0');
    clean.resize(static_cast<std::size_t>(write_sanitised(clean.data(), text) - clean.data()));
    return clean;
}

}  // namespace lockkeeper::protocol
