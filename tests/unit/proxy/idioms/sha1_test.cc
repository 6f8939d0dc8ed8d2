#include "proxy/idioms/sha1.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::proxy::idioms;

namespace {

std::string hex_of(std::string_view data) {
    return to_hex(sha1(data));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_standard_vectors_come_out) {
    BOOST_TEST(hex_of("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    BOOST_TEST(hex_of("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    BOOST_TEST(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
               "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    BOOST_TEST(hex_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                      "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu") ==
               "a49b2446a02c645bf419f995b67091253a04a259");
    BOOST_TEST(hex_of(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

BOOST_AUTO_TEST_CASE(every_length_around_a_block_is_padded_rightly) {
    // Lengths at which the bit count just fits into the last block, just does not, or fills one
    // exactly.
    BOOST_TEST(hex_of(std::string(55, 'x')) == "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
    BOOST_TEST(hex_of(std::string(56, 'x')) == "901305367c259952f4e7af8323f480d59f81335b");
    BOOST_TEST(hex_of(std::string(63, 'x')) == "0ddc4e0cccd9a12850deb5abb0853a4425559fec");
    BOOST_TEST(hex_of(std::string(64, 'x')) == "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163");
    BOOST_TEST(hex_of(std::string(65, 'x')) == "78c741ddc482e4cdf8c474a0876347a0905b6233");
}

BOOST_AUTO_TEST_CASE(bytes_of_zero_are_bytes_too) {
    BOOST_TEST(hex_of(std::string(1, '\0')) == "5ba93c9db0cff93f52b521d7420e43f6eda2784f");
}

BOOST_AUTO_TEST_CASE(a_digest_is_read_in_either_case) {
    const auto lower = parse_sha1("a9993e364706816aba3e25717850c26c9cd0d89d");
    const auto upper = parse_sha1("A9993E364706816ABA3E25717850C26C9CD0D89D");
    BOOST_REQUIRE(lower.has_value());
    BOOST_REQUIRE(upper.has_value());
    BOOST_TEST((*lower == *upper));
    BOOST_TEST((*lower == sha1("abc")));
}

BOOST_AUTO_TEST_CASE(what_is_not_forty_digits_is_no_digest) {
    BOOST_TEST(!parse_sha1("").has_value());
    BOOST_TEST(!parse_sha1("a9993e364706816aba3e25717850c26c9cd0d89").has_value());
    BOOST_TEST(!parse_sha1("a9993e364706816aba3e25717850c26c9cd0d89d0").has_value());
    BOOST_TEST(!parse_sha1("g9993e364706816aba3e25717850c26c9cd0d89d").has_value());
    BOOST_TEST(!parse_sha1("a9993e364706816aba3e25717850c26c9cd0d8 d").has_value());
}
