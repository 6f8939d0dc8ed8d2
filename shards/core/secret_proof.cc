#include "shards/core/secret_proof.hh"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockkeeper::shards {

namespace {

constexpr size_t block_bytes = 64;
using words = std::array<uint32_t, 8>;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// Those of the square roots of the first eight.
constexpr words first_state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void mix_in(words& state, std::string_view block) {
    std::array<uint32_t, 64> w{};
    for (size_t i = 0; i < 16; ++i) {
        for (size_t j = 0; j < 4; ++j) {
            w[i] = w[i] << 8 | static_cast<uint8_t>(block[4 * i + j]);
        }
    }
    for (size_t i = 16; i < w.size(); ++i) {
        const uint32_t near = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        const uint32_t far = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        w[i] = w[i - 16] + far + w[i - 7] + near;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < w.size(); ++i) {
        const uint32_t high = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const uint32_t one = h + high + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        const uint32_t low = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const uint32_t two = low + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    const words added = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i) {
        state[i] += added[i];
    }
}

/// 32 bytes.
std::string sha256(std::string_view text) {
    std::string padded(text);
    padded += '\x80';
    padded.resize((padded.size() + 8 + block_bytes - 1) / block_bytes * block_bytes - 8, '\0');
    const uint64_t bits = uint64_t{text.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8) {
        padded += static_cast<char>(bits >> shift & 0xff);
    }
    words state = first_state;
    for (size_t at = 0; at < padded.size(); at += block_bytes) {
        mix_in(state, std::string_view(padded).substr(at, block_bytes));
    }
    std::string digest;
    for (const uint32_t word : state) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            digest += static_cast<char>(word >> shift & 0xff);
        }
    }
    return digest;
}

std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += digits[static_cast<uint8_t>(byte) >> 4];
        text += digits[static_cast<uint8_t>(byte) & 15];
    }
    return text;
}

std::string padded_with(std::string key, char pad) {
    key.resize(block_bytes, '\0');
    for (char& byte : key) {
        byte = static_cast<char>(byte ^ pad);
    }
    return key;
}

/// With its length in front: no two lists of texts become one.
void append_part(std::string& to, std::string_view part) {
    to += std::to_string(part.size());
    to += ':';
    to += part;
}

}  // namespace

std::string sha256_hex(std::string_view text) {
    return to_hex(sha256(text));
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
    const std::string block = key.size() > block_bytes ? sha256(key) : std::string(key);
    const std::string inner = sha256(padded_with(block, 0x36) + std::string(text));
    return sha256_hex(padded_with(block, 0x5c) + inner);
}

std::string link_proof(std::string_view secret, link_side side, const link_greeting& greeting) {
    std::string text;
    append_part(text,
                side == link_side::caller ? "lockkeeper link caller" : "lockkeeper link callee");
    append_part(text, greeting.caller);
    append_part(text, greeting.callee);
    append_part(text, greeting.caller_nonce);
    append_part(text, greeting.callee_nonce);
    return hmac_sha256_hex(secret, text);
}

bool is_same_proof(std::string_view one, std::string_view other) {
    if (one.size() != other.size()) {
        return false;
    }
    unsigned char differs = 0;
    for (size_t i = 0; i < one.size(); ++i) {
        differs |= static_cast<unsigned char>(one[i] ^ other[i]);
    }
    return differs == 0;
}

}  // namespace lockkeeper::shards
