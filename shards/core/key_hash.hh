#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::shards {

/// 128 secret bits, drawn by the shell at start.
struct hash_seed {
    uint64_t low = 0;
    uint64_t high = 0;
};

/// SipHash with `Compress` rounds a word and `Finish` rounds at the end. Somebody who does not know
/// the seed cannot find keys that collide. Defined for <1, 3> (fast, for tables) and <2, 4> (the
/// original).
template <int Compress, int Finish>
uint64_t siphash(std::string_view bytes, hash_seed seed);

extern template uint64_t siphash<1, 3>(std::string_view, hash_seed);
extern template uint64_t siphash<2, 4>(std::string_view, hash_seed);

struct key_hash {
    uint64_t value = 0;

    friend constexpr bool operator==(key_hash, key_hash) = default;
};

/// Both hashes of a key, computed once when its command is decoded.
struct key_place {
    /// Chooses the core. Keys with the same `{tag}` share it, so that one command finds all of them
    /// on one core.
    key_hash route;
    /// Chooses the bucket in that core's table. Covers the whole key: equal tags must not share a
    /// bucket.
    key_hash bucket;
};

/// Key -> core and key -> bucket: private to this process and seeded, against hash flooding. Key ->
/// stripe is another hash, fixed for ever: see stripe_map.hh.
class key_hasher {
public:
    explicit key_hasher(hash_seed seed) : _seed(seed) {}

    key_place place(std::string_view key) const;

private:
    hash_seed _seed;
};

/// The core that owns a key. Uses the upper half of the hash; tables address their buckets with the
/// lower half.
constexpr uint32_t owner_of(key_hash route, uint32_t cores) {
    return static_cast<uint32_t>(((route.value >> 32) * cores) >> 32);
}

}  // namespace lockkeeper::shards
