#include "proxy/idioms/sha1.hh"

#include <bit>
#include <cstring>

namespace lockkeeper::proxy::idioms {

namespace {

constexpr size_t block_size = 64;

using state = std::array<uint32_t, 5>;

uint32_t load_big_endian(const uint8_t* bytes) {
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void mix_block(state& h, const uint8_t* block) {
    std::array<uint32_t, 80> words;
    for (size_t i = 0; i < 16; ++i) {
        words[i] = load_big_endian(block + 4 * i);
    }
    for (size_t i = 16; i < words.size(); ++i) {
        words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = h;
    for (size_t i = 0; i < words.size(); ++i) {
        uint32_t mixed;
        if (i < 20) {
            mixed = ((b & c) | (~b & d)) + 0x5a827999U;
        } else if (i < 40) {
            mixed = (b ^ c ^ d) + 0x6ed9eba1U;
        } else if (i < 60) {
            mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
        } else {
            mixed = (b ^ c ^ d) + 0xca62c1d6U;
        }
        const uint32_t next = std::rotl(a, 5) + mixed + e + words[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

}  // namespace

sha1_digest sha1(std::string_view data) {
    state h = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
    const uint64_t bits = uint64_t{data.size()} * 8;

    while (data.size() >= block_size) {
        mix_block(h, reinterpret_cast<const uint8_t*>(data.data()));
        data.remove_prefix(block_size);
    }

    // What is left, a bit of 1, zeros, and the length: one block, or two if the length does not fit
    // any more.
    std::array<uint8_t, 2 * block_size> tail{};
    if (!data.empty()) {
        std::memcpy(tail.data(), data.data(), data.size());
    }
    tail[data.size()] = 0x80;
    const size_t tail_size =
        data.size() + 1 + sizeof(bits) <= block_size ? block_size : 2 * block_size;
    for (size_t i = 0; i < sizeof(bits); ++i) {
        tail[tail_size - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
    }
    for (size_t at = 0; at < tail_size; at += block_size) {
        mix_block(h, tail.data() + at);
    }

    sha1_digest digest;
    for (size_t i = 0; i < sha1_digest::size; ++i) {
        digest.bytes[i] = static_cast<uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
}

std::string to_hex(const sha1_digest& digest) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    hex.reserve(sha1_digest::hex_size);
    for (uint8_t byte : digest.bytes) {
        hex += digits[byte >> 4];
        hex += digits[byte & 0xf];
    }
    return hex;
}

std::optional<sha1_digest> parse_sha1(std::string_view hex) {
    if (hex.size() != sha1_digest::hex_size) {
        return std::nullopt;
    }
    sha1_digest digest;
    for (size_t i = 0; i < sha1_digest::size; ++i) {
        const int high = hex_value(hex[2 * i]);
        const int low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
    }
    return digest;
}

}  // namespace lockkeeper::proxy::idioms
