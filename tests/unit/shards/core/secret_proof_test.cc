#include "shards/core/secret_proof.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(digests_are_those_of_the_standard) {
    BOOST_TEST(sha256_hex("") ==
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    BOOST_TEST(sha256_hex("abc") ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    BOOST_TEST(sha256_hex(std::string(1'000'000, 'a')) ==
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// RFC 4231, cases 1, 2 and 6.
BOOST_AUTO_TEST_CASE(proofs_are_made_by_the_standard) {
    BOOST_TEST(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There") ==
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    BOOST_TEST(hmac_sha256_hex("Jefe", "what do ya want for nothing?") ==
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    BOOST_TEST(hmac_sha256_hex(std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First") ==
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

BOOST_AUTO_TEST_CASE(a_proof_holds_for_one_side_of_one_greeting) {
    const link_greeting greeting{
        .caller = "lk1", .callee = "lk2", .caller_nonce = "a", .callee_nonce = "b"};
    const std::string proof = link_proof("secret", link_side::caller, greeting);
    BOOST_TEST(is_same_proof(proof, link_proof("secret", link_side::caller, greeting)));
    BOOST_TEST(!is_same_proof(proof, link_proof("secret", link_side::callee, greeting)));
    BOOST_TEST(!is_same_proof(proof, link_proof("Secret", link_side::caller, greeting)));
    auto other = greeting;
    other.callee_nonce = "c";
    BOOST_TEST(!is_same_proof(proof, link_proof("secret", link_side::caller, other)));
    other = greeting;
    other.caller = "lk3";
    BOOST_TEST(!is_same_proof(proof, link_proof("secret", link_side::caller, other)));
}

BOOST_AUTO_TEST_CASE(parts_of_a_greeting_cannot_be_moved_into_each_other) {
    BOOST_TEST(
        link_proof("s", link_side::caller,
                   {.caller = "ab", .callee = "c", .caller_nonce = "", .callee_nonce = ""}) !=
        link_proof("s", link_side::caller,
                   {.caller = "a", .callee = "bc", .caller_nonce = "", .callee_nonce = ""}));
}

BOOST_AUTO_TEST_CASE(a_shorter_proof_is_no_proof) {
    BOOST_TEST(!is_same_proof("", "00"));
    BOOST_TEST(!is_same_proof("00", "0"));
    BOOST_TEST(is_same_proof("", ""));
}
