#include "shards/core/stripe_map.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shards/core/hash_tag.hh"
#include "shards/core/key_hash.hh"

namespace lockkeeper::shards {
namespace {

uint64_t fixed_hash(std::string_view bytes) {
    return siphash<2, 4>(bytes, hash_seed{});
}

/// A bijection, so that two stripes only tie if the hashes of their names do.
uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    x ^= x >> 31;
    return x;
}

}  // namespace

stripe_map::stripe_map(std::vector<std::string> names) : _names(std::move(names)) {
    auto sorted = _names;
    std::ranges::sort(sorted);
    if (sorted.empty() || std::ranges::adjacent_find(sorted) != sorted.end()) {
        throw std::invalid_argument("stripes need names that differ");
    }
    for (const auto& name : _names) {
        _hashes.push_back(fixed_hash(name));
    }
}

size_t stripe_map::stripe_of(std::string_view key) const {
    const uint64_t hash = fixed_hash(hash_tag(key));
    size_t best = 0;
    uint64_t best_score = mix(hash ^ _hashes[0]);
    for (size_t i = 1; i < _hashes.size(); ++i) {
        const uint64_t score = mix(hash ^ _hashes[i]);
        if (score > best_score || (score == best_score && _names[i] < _names[best])) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

}  // namespace lockkeeper::shards
