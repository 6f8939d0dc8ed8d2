#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::proxy::idioms {

/// The name Redis gives to a script. Not for anything that must resist forgery.
struct sha1_digest {
    static constexpr size_t size = 20;
    static constexpr size_t hex_size = 2 * size;

    std::array<uint8_t, size> bytes{};
    friend constexpr auto operator<=>(const sha1_digest&, const sha1_digest&) = default;
};

sha1_digest sha1(std::string_view data);

/// 40 lower-case digits.
std::string to_hex(const sha1_digest& digest);

/// Exactly 40 hexadecimal digits of either case.
std::optional<sha1_digest> parse_sha1(std::string_view hex);

}  // namespace lockkeeper::proxy::idioms
