#include "shards/core/integer_text.hh"

#include <charconv>

namespace lockkeeper::shards {

std::optional<int64_t> parse_integer(std::string_view text) {
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end) {
        return std::nullopt;
    }
    const std::string_view digits = text.substr(text.front() == '-' ? 1 : 0);
    if (digits.front() == '0' && text != "0") {
        return std::nullopt;
    }
    return value;
}

std::string format_integer(int64_t value) {
    return std::to_string(value);
}

lock_result<int64_t> add_to_integer(std::string_view text, int64_t by) {
    const auto value = parse_integer(text);
    if (!value) {
        return std::unexpected(lock_error::not_an_integer);
    }
    int64_t sum = 0;
    if (__builtin_add_overflow(*value, by, &sum)) {
        return std::unexpected(lock_error::overflow);
    }
    return sum;
}

}  // namespace lockkeeper::shards
