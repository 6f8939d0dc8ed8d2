#include "proxy/value_digest.hh"

#include <algorithm>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lockkeeper::proxy {

namespace {

constexpr unsigned bits_per_digit = 4;

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

value_digest digest_of(std::string_view value) {
    constexpr std::string_view digits = "0123456789abcdef";
    uint64_t hash = XXH3_64bits(value.data(), value.size());
    value_digest text;
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit) {
        *digit = digits[hash % digits.size()];
        hash >>= bits_per_digit;
    }
    return text;
}

std::optional<value_digest> parse_digest(std::string_view text) {
    value_digest digest;
    if (text.size() != digest.size() || !std::ranges::all_of(text, is_hex)) {
        return std::nullopt;
    }
    // A letter's lower case differs in this bit alone; digits have it.
    std::ranges::transform(text, digest.begin(),
                           [](char c) { return static_cast<char>(c | 0x20); });
    return digest;
}

}  // namespace lockkeeper::proxy
