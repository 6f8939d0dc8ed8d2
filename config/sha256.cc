#include "config/sha256.hh"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <stdexcept>

namespace lockkeeper::config {

bool sha256_digest::is(const sha256_digest& other) const {
    return gnutls_memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0;
}

sha256_digest sha256_of(std::string_view text) {
    sha256_digest digest;
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text.data(), text.size(), digest.bytes.data()) != 0) {
        // A library without SHA-256 (a policy that forbids it): no password may pass for another.
        throw std::runtime_error("SHA-256 is not available in GnuTLS");
    }
    return digest;
}

std::string to_hex(const sha256_digest& digest) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(sha256_digest::hex_size);
    for (const uint8_t byte : digest.bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 0xf];
    }
    return text;
}

std::optional<sha256_digest> sha256_from_hex(std::string_view text) {
    if (text.size() != sha256_digest::hex_size) {
        return std::nullopt;
    }
    sha256_digest digest;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c < 'a' || c > 'f')) {
            return std::nullopt;
        }
        const auto value = static_cast<uint8_t>(is_digit ? c - '0' : c - 'a' + 10);
        digest.bytes[i / 2] = static_cast<uint8_t>(digest.bytes[i / 2] << 4 | value);
    }
    return digest;
}

}  // namespace lockkeeper::config
