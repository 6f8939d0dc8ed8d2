#include "shards/core/integer_text.hh"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace lockkeeper::shards;

namespace {

constexpr int64_t highest = std::numeric_limits<int64_t>::max();
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();

}  // namespace

BOOST_AUTO_TEST_CASE(integers_are_read_in_their_shortest_form) {
    BOOST_TEST(parse_integer("0").value() == 0);
    BOOST_TEST(parse_integer("-1").value() == -1);
    BOOST_TEST(parse_integer("1234567890").value() == 1234567890);
    BOOST_TEST(parse_integer("9223372036854775807").value() == highest);
    BOOST_TEST(parse_integer("-9223372036854775808").value() == lowest);
}

BOOST_AUTO_TEST_CASE(what_redis_does_not_take_for_an_integer_is_refused) {
    for (const std::string_view text :
         {"", "-", "+1", "01", "00", "-0", "-01", " 1", "1 ", "1.0", "0x1", "one",
          "9223372036854775808", "-9223372036854775809", "123456789012345678901"}) {
        BOOST_TEST(!parse_integer(text).has_value(), "text '" << text << "'");
    }
}

BOOST_AUTO_TEST_CASE(sums_beyond_64_bits_are_refused) {
    BOOST_TEST(add_to_integer("5", -7).value() == -2);
    BOOST_TEST((add_to_integer("9223372036854775807", 1).error() == lock_error::overflow));
    BOOST_TEST((add_to_integer("-9223372036854775808", -1).error() == lock_error::overflow));
    BOOST_TEST((add_to_integer("x", 1).error() == lock_error::not_an_integer));
}

BOOST_AUTO_TEST_CASE(what_is_written_can_be_read) {
    for (const int64_t value : {int64_t{0}, int64_t{-7}, highest, lowest}) {
        BOOST_TEST(parse_integer(format_integer(value)).value() == value);
    }
}
