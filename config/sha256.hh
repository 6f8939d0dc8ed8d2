#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::config {

/// What is kept of a password: enough to know it again, not enough to tell it.
struct sha256_digest {
    static constexpr size_t hex_size = 64;

    std::array<uint8_t, 32> bytes{};

    /// The comparison of secrets: takes the same time wherever they differ.
    bool is(const sha256_digest& other) const;
    /// For tables and tests, where time tells nothing.
    friend bool operator==(const sha256_digest&, const sha256_digest&) = default;
};

sha256_digest sha256_of(std::string_view text);

/// 64 digits in lower case, as `sha256sum` prints them and as Redis' ACL files have them.
std::string to_hex(const sha256_digest& digest);
std::optional<sha256_digest> sha256_from_hex(std::string_view text);

}  // namespace lockkeeper::config
