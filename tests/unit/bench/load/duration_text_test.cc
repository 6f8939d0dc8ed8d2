#include "bench/load/duration_text.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::bench;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_number_with_a_unit_is_a_duration) {
    BOOST_TEST((parse_duration("7ns") == 7ns));
    BOOST_TEST((parse_duration("50us") == 50us));
    BOOST_TEST((parse_duration("10ms") == 10ms));
    BOOST_TEST((parse_duration("30s") == 30s));
    BOOST_TEST((parse_duration("5m") == 5min));
}

BOOST_AUTO_TEST_CASE(nothing_needs_no_unit) {
    BOOST_TEST((parse_duration("0") == 0ns));
    BOOST_TEST((parse_duration("0ms") == 0ns));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_duration_is_nothing) {
    for (const char* text : {"", "10", "ms", "-1s", "1.5s", "1 s", "1h", "1sec", "s1", "+1s",
                             "99999999999999999999s"}) {
        BOOST_TEST(!parse_duration(text), "'" << text << "'");
    }
}

BOOST_AUTO_TEST_CASE(a_day_is_the_longest) {
    BOOST_TEST((parse_duration("86400s") == 24h));
    BOOST_TEST(!parse_duration("86401s"));
    BOOST_TEST(!parse_duration("18446744073709551615m"));
}

BOOST_AUTO_TEST_CASE(text_uses_the_largest_unit_that_is_exact) {
    for (const char* text : {"0", "1ns", "1500us", "10ms", "1s", "90s", "2m"}) {
        BOOST_TEST(to_text(*parse_duration(text)) == text);
    }
    BOOST_TEST(to_text(1000ms) == "1s");
}
