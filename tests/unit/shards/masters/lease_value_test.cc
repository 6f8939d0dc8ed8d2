#include "shards/masters/lease_value.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(a_value_names_the_proxy_and_the_attempt) {
    const lease_value value{.proxy = "proxy-a", .attempt = {.high = 0x0123456789abcdef, .low = 1}};
    BOOST_TEST(to_text(value) == "proxy-a:0123456789abcdef0000000000000001");
    const std::string text = to_text(value);
    BOOST_TEST((parse_lease_value(text) == value));
}

BOOST_AUTO_TEST_CASE(the_last_colon_ends_the_name) {
    const std::string text = "10.0.0.1:6380:0123456789abcdef0000000000000001";
    BOOST_REQUIRE(parse_lease_value(text));
    BOOST_TEST(parse_lease_value(text)->proxy == "10.0.0.1:6380");
}

BOOST_AUTO_TEST_CASE(tokens_of_clients_are_no_lease_values) {
    for (const char* token : {
             "", ":", "f47ac10b-58cc-4372-a567-0e02b2c3d479",
             ":0123456789abcdef0000000000000001",            // no name
             "proxy-a:0123456789ABCDEF0000000000000001",     // not as we write it
             "proxy-a:0123456789abcdef000000000000000g",     //
             "proxy-a:0123456789abcdef000000000000001",      // a digit too few
             "proxy-a 0123456789abcdef0000000000000001",     //
             "0123456789abcdef0123456789abcdef0123456789ab"  //
         }) {
        BOOST_TEST(!parse_lease_value(token), token);
    }
}
