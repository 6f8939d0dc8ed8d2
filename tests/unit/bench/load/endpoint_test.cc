#include "bench/load/endpoint.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::bench;

namespace {

bool is_loopback_text(const char* text) {
    const auto where = parse_endpoint(text);
    BOOST_REQUIRE_MESSAGE(where.has_value(), text << " is an address");
    return is_loopback(*where);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_whole_of_127_is_loopback) {
    BOOST_TEST(is_loopback_text("127.0.0.1:6379"));
    BOOST_TEST(is_loopback_text("127.0.0.2:6379"));
    BOOST_TEST(is_loopback_text("127.255.255.254:1"));
    BOOST_TEST(is_loopback_text("[::1]:65535"));
}

BOOST_AUTO_TEST_CASE(everything_else_is_not) {
    BOOST_TEST(!is_loopback_text("126.255.255.255:6379"));
    BOOST_TEST(!is_loopback_text("128.0.0.1:6379"));
    BOOST_TEST(!is_loopback_text("0.0.0.0:6379"));
    BOOST_TEST(!is_loopback_text("10.0.0.1:6379"));
    BOOST_TEST(!is_loopback_text("[::]:6379"));
    BOOST_TEST(!is_loopback_text("[::2]:6379"));
    BOOST_TEST(!is_loopback_text("[2001:db8::1]:6379"));
}

BOOST_AUTO_TEST_CASE(an_address_keeps_the_words_of_the_user) {
    BOOST_TEST(parse_endpoint("127.0.0.1:6379")->text == "127.0.0.1:6379");
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_told_so) {
    for (const char* text : {"", ":6379", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                             "127.0.0.1:65536", "127.0.0.1:redis", "127.0.0.1:-1", "::1:6379"}) {
        const auto where = parse_endpoint(text);
        BOOST_REQUIRE_MESSAGE(!where, "'" << text << "' was taken for an address");
        BOOST_TEST(where.error().starts_with("'" + std::string(text) + "'"));
    }
}
