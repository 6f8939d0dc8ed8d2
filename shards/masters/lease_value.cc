#include "shards/masters/lease_value.hh"

#include <charconv>

namespace lockkeeper::shards {

namespace {

constexpr size_t half_digits = 16;

void append_hex(std::string& to, uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (int shift = 60; shift >= 0; shift -= 4) {
        to += digits[number >> shift & 15];
    }
}

std::optional<uint64_t> parse_hex(std::string_view text) {
    // Only what to_text writes: from_chars would take upper case, too.
    if (text.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
        return std::nullopt;
    }
    uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return number;
}

}  // namespace

std::string to_text(const lease_value& value) {
    std::string text;
    text.reserve(value.proxy.size() + 1 + 2 * half_digits);
    text += value.proxy;
    text += ':';
    append_hex(text, value.attempt.high);
    append_hex(text, value.attempt.low);
    return text;
}

std::optional<lease_value> parse_lease_value(std::string_view text) {
    if (text.size() < 2 * half_digits + 2) {
        return std::nullopt;
    }
    const size_t digits = text.size() - 2 * half_digits;
    if (text[digits - 1] != ':') {
        return std::nullopt;
    }
    const auto high = parse_hex(text.substr(digits, half_digits));
    const auto low = parse_hex(text.substr(digits + half_digits));
    if (!high || !low) {
        return std::nullopt;
    }
    return lease_value{.proxy = text.substr(0, digits - 1),
                       .attempt = {.high = *high, .low = *low}};
}

}  // namespace lockkeeper::shards
