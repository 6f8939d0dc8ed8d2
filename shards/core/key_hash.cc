#include "shards/core/key_hash.hh"

#include <bit>
#include <cstring>

#include "shards/core/hash_tag.hh"

namespace lockkeeper::shards {
namespace {

struct sip_state {
    uint64_t a, b, c, d;

    void round() {
        a += b;
        c += d;
        b = std::rotl(b, 13) ^ a;
        d = std::rotl(d, 16) ^ c;
        a = std::rotl(a, 32);
        c += b;
        a += d;
        b = std::rotl(b, 17) ^ c;
        d = std::rotl(d, 21) ^ a;
        c = std::rotl(c, 32);
    }

    template <int Rounds>
    void rounds() {
        for (int i = 0; i < Rounds; ++i) {
            round();
        }
    }

    template <int Rounds>
    void absorb(uint64_t word) {
        d ^= word;
        rounds<Rounds>();
        a ^= word;
    }
};

uint64_t load_little_endian(const char* from) {
    uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        word = std::byteswap(word);
    }
    return word;
}

}  // namespace

template <int Compress, int Finish>
uint64_t siphash(std::string_view bytes, hash_seed seed) {
    sip_state state{
        seed.low ^ 0x736f6d6570736575,
        seed.high ^ 0x646f72616e646f6d,
        seed.low ^ 0x6c7967656e657261,
        seed.high ^ 0x7465646279746573,
    };
    const char* at = bytes.data();
    const char* const whole_words_end = at + (bytes.size() & ~size_t{7});
    for (; at != whole_words_end; at += 8) {
        state.absorb<Compress>(load_little_endian(at));
    }
    // The last word: what is left of the bytes, and their number in the top byte.
    uint64_t last = uint64_t{bytes.size()} << 56;
    for (size_t i = 0; i < (bytes.size() & 7); ++i) {
        last |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    state.absorb<Compress>(last);
    state.c ^= 0xff;
    state.rounds<Finish>();
    return state.a ^ state.b ^ state.c ^ state.d;
}

template uint64_t siphash<1, 3>(std::string_view, hash_seed);
template uint64_t siphash<2, 4>(std::string_view, hash_seed);

key_place key_hasher::place(std::string_view key) const {
    const key_hash whole{siphash<1, 3>(key, _seed)};
    const std::string_view tag = hash_tag(key);
    if (tag.size() == key.size()) {
        return {.route = whole, .bucket = whole};
    }
    return {.route = {siphash<1, 3>(tag, _seed)}, .bucket = whole};
}

}  // namespace lockkeeper::shards
