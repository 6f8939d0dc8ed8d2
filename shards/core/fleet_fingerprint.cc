#include "shards/core/fleet_fingerprint.hh"

#include <algorithm>
#include <cstdint>

#include "shards/core/fence_slots.hh"
#include "shards/core/key_hash.hh"

namespace lockkeeper::shards {

namespace {

void append_hex(std::string& to, uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (int shift = 60; shift >= 0; shift -= 4) {
        to += digits[number >> shift & 15];
    }
}

/// With its length, so that no two lists read the same.
void append_text(std::string& to, std::string_view text) {
    to += std::to_string(text.size());
    to += ':';
    to += text;
    to += '\n';
}

}  // namespace

std::string fleet_fingerprint(const fleet_shape& shape) {
    // Bump if votes of two versions must not be mixed.
    std::string text = "lockkeeper fleet 1\n";
    text += "max_ttl " + std::to_string(shape.max_ttl.count()) + "\n";
    text += "round_timeout " + std::to_string(shape.round_timeout.count()) + "\n";
    text += "slots " + std::to_string(fence_slots) + "\n";
    auto stripes = shape.stripes;
    std::ranges::sort(stripes, {}, &fleet_shape::stripe::name);
    for (auto& stripe : stripes) {
        text += "stripe ";
        append_text(text, stripe.name);
        std::ranges::sort(stripe.masters);
        for (const auto& master : stripe.masters) {
            text += "master ";
            append_text(text, master);
        }
    }
    std::string result;
    append_hex(result, siphash<2, 4>(text, {.low = 0, .high = 0}));
    append_hex(result, siphash<2, 4>(text, {.low = 1, .high = 0}));
    return result;
}

}  // namespace lockkeeper::shards
