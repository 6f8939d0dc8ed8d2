#include "proxy/admin/basic_credentials.hh"

#include <cstdint>

#include "protocol/text.hh"

namespace lockkeeper::proxy::admin {

namespace {

/// Longer than any user and password that we could know.
constexpr size_t encoded_bytes_max = 8 * 1024;

std::optional<uint32_t> value_of(char digit) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t value = digits.find(digit);
    return value == std::string_view::npos ? std::nullopt
                                           : std::optional(static_cast<uint32_t>(value));
}

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0 || text.size() > encoded_bytes_max) {
        return std::nullopt;
    }
    for (int i = 0; i < 2 && text.ends_with('='); ++i) {
        text.remove_suffix(1);
    }
    std::string bytes;
    uint32_t bits = 0;
    int count = 0;
    for (const char digit : text) {
        const auto value = value_of(digit);
        if (!value) {
            return std::nullopt;
        }
        bits = (bits << 6 | *value) & 0xffffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>(bits >> count & 0xff);
        }
    }
    return bytes;
}

}  // namespace

std::optional<basic_credentials> read_credentials(std::string_view header) {
    constexpr std::string_view scheme = "basic ";
    if (!protocol::equals_ignoring_case(header.substr(0, scheme.size()), scheme)) {
        return std::nullopt;
    }
    header.remove_prefix(scheme.size());
    const auto both = decode_base64(header);
    const size_t colon = both ? both->find(':') : std::string::npos;
    if (colon == std::string::npos) {
        return std::nullopt;
    }
    return basic_credentials{both->substr(0, colon), both->substr(colon + 1)};
}

}  // namespace lockkeeper::proxy::admin
