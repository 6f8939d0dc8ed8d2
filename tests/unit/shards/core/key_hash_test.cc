#include "shards/core/key_hash.hh"

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "shards/core/hash_tag.hh"

using namespace lockkeeper::shards;

namespace {

/// The key 00 01 .. 0f of the published vectors.
constexpr hash_seed counting_key{.low = 0x0706050403020100, .high = 0x0f0e0d0c0b0a0908};

std::string counting_bytes(size_t length) {
    std::string bytes;
    for (size_t i = 0; i < length; ++i) {
        bytes.push_back(static_cast<char>(i));
    }
    return bytes;
}

struct vector_of_length {
    size_t length;
    uint64_t hash;
};

}  // namespace

BOOST_AUTO_TEST_CASE(siphash_2_4_agrees_with_its_published_vectors) {
    constexpr vector_of_length vectors[] = {
        {0, 0x726fdb47dd0e0e31},  {1, 0x74f839c593dc67fd},  {2, 0x0d6c8009d9a94f5a},
        {3, 0x85676696d7fb7e2d},  {7, 0xab0200f58b01d137},  {8, 0x93f5f5799a932462},
        {15, 0xa129ca6149be45e5}, {16, 0x3f2acc7f57c29bdb}, {31, 0x32d892fad841c342},
        {63, 0x958a324ceb064572},
    };
    for (const auto& [length, hash] : vectors) {
        BOOST_TEST((siphash<2, 4>(counting_bytes(length), counting_key)) == hash);
    }
}

/// Derived with a second implementation, written apart from this one and checked as in the next
/// case.
BOOST_AUTO_TEST_CASE(siphash_1_3_agrees_with_a_second_implementation) {
    constexpr vector_of_length vectors[] = {
        {0, 0xabac0158050fc4dc},  {1, 0xc9f49bf37d57ca93},  {2, 0x82cb9b024dc7d44d},
        {3, 0x8bf80ab8e7ddf7fb},  {7, 0xd3927d989bb11140},  {8, 0x369095118d299a8e},
        {15, 0xd320d86d2a519956}, {16, 0xcc4fdd1a7d908b66}, {31, 0x2370dd1f8c21d1bc},
        {63, 0x9d199062b7bbb3a8},
    };
    for (const auto& [length, hash] : vectors) {
        BOOST_TEST((siphash<1, 3>(counting_bytes(length), counting_key)) == hash);
    }
}

/// As CPython, whose hash of bytes is SipHash-1-3, answers with its seed set to 0.
BOOST_AUTO_TEST_CASE(siphash_1_3_under_the_zero_key_agrees_with_cpython) {
    BOOST_TEST((siphash<1, 3>("a", {})) == 0x407448d2b89b1813);
    BOOST_TEST((siphash<1, 3>("lock:order:42", {})) == 0xf8ce0aa598cd473c);
    BOOST_TEST((siphash<1, 3>("0123456789abcdef", {})) == 0x1d42b30f7e060c24);
}

BOOST_AUTO_TEST_CASE(the_seed_decides_where_keys_go) {
    BOOST_TEST((key_hasher({1, 2}).place("k").bucket != key_hasher({1, 3}).place("k").bucket));
    BOOST_TEST((key_hasher({1, 2}).place("k").bucket != key_hasher({2, 2}).place("k").bucket));
}

BOOST_AUTO_TEST_CASE(a_hash_tag_is_what_redis_cluster_takes_for_one) {
    BOOST_TEST(hash_tag("plain") == "plain");
    BOOST_TEST(hash_tag("{user1000}.following") == "user1000");
    BOOST_TEST(hash_tag("foo{}{bar}") == "foo{}{bar}");
    BOOST_TEST(hash_tag("foo{{bar}}zap") == "{bar");
    BOOST_TEST(hash_tag("foo{bar}{zap}") == "bar");
    BOOST_TEST(hash_tag("{open") == "{open");
    BOOST_TEST(hash_tag("close}{") == "close}{");
    BOOST_TEST(hash_tag("") == "");
    BOOST_TEST(hash_tag("{}") == "{}");
}

BOOST_AUTO_TEST_CASE(keys_with_one_tag_share_their_route_but_not_their_bucket) {
    const key_hasher hasher({.low = 7, .high = 9});
    const auto lock = hasher.place("orders");
    const auto latch = hasher.place("redisson_unlock_latch:{orders}:01");
    BOOST_TEST((lock.route == latch.route));
    BOOST_TEST((lock.bucket != latch.bucket));
    BOOST_TEST((lock.route == lock.bucket));
}

BOOST_AUTO_TEST_CASE(every_core_owns_its_share_of_the_keys) {
    const key_hasher hasher({.low = 7, .high = 9});
    for (const uint32_t cores : {1U, 2U, 3U, 7U, 64U}) {
        std::vector<int> keys(cores);
        for (int i = 0; i < 64'000; ++i) {
            ++keys.at(owner_of(hasher.place("lock:" + std::to_string(i)).route, cores));
        }
        const int share = 64'000 / static_cast<int>(cores);
        for (const int each : keys) {
            BOOST_TEST(each > share * 8 / 10);
            BOOST_TEST(each < share * 12 / 10);
        }
    }
}
