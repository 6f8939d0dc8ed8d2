#include "protocol/text.hh"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace lockkeeper::protocol;
using namespace std::string_view_literals;

namespace {

template <typename Number>
std::string written(Number value) {
    char text[integer_text_max];
    return {text, write_integer(text, value)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_integer_is_read_as_redis_reads_it) {
    BOOST_TEST(parse_integer("0").value() == 0);
    BOOST_TEST(parse_integer("7").value() == 7);
    BOOST_TEST(parse_integer("-1").value() == -1);
    BOOST_TEST(parse_integer("30000").value() == 30000);
    BOOST_TEST(parse_integer("1234567890123456789").value() == 1234567890123456789);
}

BOOST_AUTO_TEST_CASE(what_is_only_nearly_an_integer_is_refused) {
    for (const auto text : {""sv, "-"sv, "+1"sv, "01"sv, "00"sv, "-0"sv, "-01"sv, " 1"sv, "1 "sv,
                            "1x"sv, "x"sv, "1.5"sv, "0x1"sv, "--1"sv, "1\0"sv, "1:"sv, "1/"sv}) {
        BOOST_TEST(!parse_integer(text).has_value(), "'" << text << "'");
    }
}

BOOST_AUTO_TEST_CASE(an_integer_has_64_bits_and_not_one_more) {
    BOOST_TEST(parse_integer("9223372036854775807").value() ==
               std::numeric_limits<std::int64_t>::max());
    BOOST_TEST(parse_integer("-9223372036854775808").value() ==
               std::numeric_limits<std::int64_t>::min());
    for (const auto text :
         {"9223372036854775808"sv, "-9223372036854775809"sv, "9999999999999999999"sv,
          "10000000000000000000"sv, "18446744073709551616"sv, "99999999999999999999999"sv}) {
        BOOST_TEST(!parse_integer(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(integers_are_written_as_the_standard_library_writes_them) {
    for (std::uint64_t value = 0; value <= 100'000; ++value) {
        BOOST_REQUIRE_EQUAL(written(value), std::to_string(value));
    }
    for (std::uint64_t value = 1; value < std::numeric_limits<std::uint64_t>::max() / 10;
         value *= 10) {
        BOOST_TEST(written(value - 1) == std::to_string(value - 1));
        BOOST_TEST(written(value) == std::to_string(value));
        const auto negative = -static_cast<std::int64_t>(value / 2);
        BOOST_TEST(written(negative) == std::to_string(negative));
    }
    BOOST_TEST(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    BOOST_TEST(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read_back) {
    for (const std::int64_t value :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{99}, std::int64_t{-100},
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        BOOST_TEST(parse_integer(written(value)).value() == value);
    }
}

BOOST_AUTO_TEST_CASE(only_ascii_letters_have_a_case) {
    BOOST_TEST(equals_ignoring_case("PiNg", "pInG"));
    BOOST_TEST(equals_ignoring_case("", ""));
    BOOST_TEST(!equals_ignoring_case("ping", "pin"));
    BOOST_TEST(!equals_ignoring_case("ping", "pong"));
    BOOST_TEST(!equals_ignoring_case("@", "`"));
    BOOST_TEST(!equals_ignoring_case("[", "{"));
    BOOST_TEST(!equals_ignoring_case("\xc4", "\xe4"));
    BOOST_TEST(to_lower("LK.ACQUIRE-\xc4@[") == "lk.acquire-\xc4@[");
}

BOOST_AUTO_TEST_CASE(outside_text_cannot_end_a_line_or_drive_a_terminal) {
    BOOST_TEST(sanitised("FOO\r\nBAR") == "FOO  BAR");
    BOOST_TEST(sanitised("a\x1b[31mb\0c\td\x7f"sv) == "a[31mbcd");
    BOOST_TEST(sanitised("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
    BOOST_TEST(sanitised("") == "");
}

BOOST_AUTO_TEST_CASE(outside_text_is_cut_before_it_is_cleaned) {
    BOOST_TEST(sanitised("abcdef", 3) == "abc");
    BOOST_TEST(sanitised("abc", 3) == "abc");
    BOOST_TEST(sanitised("ab\0cd"sv, 3) == "ab");
}
