#include "config/units.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::config;
using std::chrono::milliseconds;

BOOST_AUTO_TEST_CASE(durations_are_read_with_their_units) {
    BOOST_TEST(parse_duration("250ms")->count() == 250);
    BOOST_TEST(parse_duration("10s")->count() == 10'000);
    BOOST_TEST(parse_duration("5m")->count() == 300'000);
    BOOST_TEST(parse_duration("1h")->count() == 3'600'000);
}

BOOST_AUTO_TEST_CASE(zero_needs_no_unit) {
    BOOST_TEST(parse_duration("0")->count() == 0);
    BOOST_TEST(*parse_size("0") == 0u);
}

BOOST_AUTO_TEST_CASE(a_number_without_a_unit_is_refused_with_an_example) {
    BOOST_TEST(parse_duration("250").error() == "'250' needs a unit, as in 250ms, 10s, 5m or 1h");
    BOOST_TEST(parse_size("64").error() == "'64' needs a unit, as in 64KiB or 1MiB");
}

BOOST_AUTO_TEST_CASE(sizes_tell_binary_from_decimal_units) {
    BOOST_TEST(*parse_size("64KiB") == 65'536u);
    BOOST_TEST(*parse_size("64KB") == 64'000u);
    BOOST_TEST(*parse_size("1GiB") == 1u << 30);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused) {
    for (const char* text : {"", "ms", "-1s", "1.5s", " 1s", "1 s", "1x", "0x10s"}) {
        BOOST_TEST(!parse_duration(text).has_value(), text);
    }
    for (const char* text : {"", "10", "1kib", "+5", "3 "}) {
        BOOST_TEST(!parse_size(text).has_value(), text);
    }
    BOOST_TEST(!parse_count("12s").has_value());
    BOOST_TEST(!parse_count("").has_value());
}

BOOST_AUTO_TEST_CASE(numbers_that_overflow_are_refused) {
    BOOST_TEST(!parse_count("18446744073709551616").has_value());
    BOOST_TEST(parse_duration("9223372036854775807h").error() ==
               "'9223372036854775807h' is too large");
    BOOST_TEST(!parse_size("18446744073709551615GiB").has_value());
}

BOOST_AUTO_TEST_CASE(what_is_shown_reads_back_as_the_same_value) {
    for (const int64_t value : {0, 1, 999, 1'000, 1'500, 60'000, 90'000, 3'600'000}) {
        BOOST_TEST(parse_duration(show_duration(milliseconds(value)))->count() == value);
    }
    for (const uint64_t value :
         {0ul, 1ul, 1'000ul, 1'024ul, 65'536ul, 1'000'000ul, 1ul << 30, 12'345ul}) {
        BOOST_TEST(*parse_size(show_size(value)) == value);
    }
    BOOST_TEST(show_duration(milliseconds(1'500)) == "1500ms");
    BOOST_TEST(show_size(65'536) == "64KiB");
}
