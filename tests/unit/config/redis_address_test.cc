#include "config/redis_address.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::config;

BOOST_AUTO_TEST_CASE(a_host_has_the_letters_of_a_host) {
    using namespace std::string_view_literals;
    BOOST_TEST(parse_redis_address("redis://[fe80::1%eth0]:1").has_value());
    BOOST_TEST(parse_redis_address("redis://a-b_c.example").has_value());
    for (const auto wrong :
         {"redis://a\0b"sv, "redis://a b"sv, "redis://a\nb"sv, "redis://<a>"sv}) {
        BOOST_TEST(!parse_redis_address(wrong).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_host_alone_gets_redis_own_port_and_first_database) {
    const auto address = parse_redis_address("redis://cache");
    BOOST_REQUIRE(address.has_value());
    BOOST_TEST(address->host == "cache");
    BOOST_TEST(address->port == 6379);
    BOOST_TEST(address->database == 0u);
    BOOST_TEST(address->show() == "redis://cache:6379/0");
}

BOOST_AUTO_TEST_CASE(all_parts_are_read) {
    const auto address = parse_redis_address("redis://:secret@[::1]:7000/15");
    BOOST_REQUIRE(address.has_value());
    BOOST_TEST(address->host == "::1");
    BOOST_TEST(address->port == 7000);
    BOOST_TEST(address->database == 15u);
    BOOST_TEST(address->user == "");
    BOOST_TEST(address->password == "secret");
    BOOST_TEST(address->show() == "redis://:<password>@[::1]:7000/15");
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused) {
    for (const char* text :
         {"", "cache", "http://cache", "redis://", "redis://:6379", "redis://h:0",
          "redis://h:65536", "redis://h:x", "redis://h/x", "redis://h/-1", "redis://user@h",
          "redis://a:%4@h", "redis://a:%zz@h", "redis://[::1", "redis://[::1]x", "redisss://h"}) {
        BOOST_TEST(!parse_redis_address(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(rediss_is_the_same_with_tls) {
    const auto address = parse_redis_address("rediss://app:geheim@h:7000");
    BOOST_REQUIRE(address.has_value());
    BOOST_TEST(address->tls);
    BOOST_TEST(address->host == "h");
    BOOST_TEST(address->show() == "rediss://app:<password>@h:7000/0");
    BOOST_TEST(!parse_redis_address("redis://h")->tls);
}
