#include "bench/load/json_line.hh"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>

using namespace lockkeeper::bench;

BOOST_AUTO_TEST_CASE(an_object_has_names_and_values) {
    json_line json;
    json.open_object().add("a", 1).add("b", "two").add("c", true).add("d", 0.5).close();
    BOOST_TEST(json.text() == R"({"a":1,"b":"two","c":true,"d":0.5})");
}

BOOST_AUTO_TEST_CASE(objects_and_arrays_nest) {
    json_line json;
    json.open_object().open_array("list").add("x").open_object().add("y", 2).close();
    json.open_array().close().add("z").close().add("after", 3).close();
    BOOST_TEST(json.text() == R"({"list":["x",{"y":2},[],"z"],"after":3})");
}

BOOST_AUTO_TEST_CASE(empty_things_have_no_commas) {
    json_line json;
    json.open_object().open_object("a").close().open_array("b").close().close();
    BOOST_TEST(json.text() == R"({"a":{},"b":[]})");
}

BOOST_AUTO_TEST_CASE(a_value_that_ends_with_a_bracket_is_still_followed_by_a_comma) {
    json_line json;
    json.open_array().add("[").add("{").close();
    BOOST_TEST(json.text() == R"(["[","{"])");
}

BOOST_AUTO_TEST_CASE(what_would_end_a_string_or_a_line_is_escaped) {
    json_line json;
    json.open_array().add("a\"b\\c\r\n\x01").close();
    BOOST_TEST(json.text() == R"(["a\"b\\c\u000d\u000a\u0001"])");
}

BOOST_AUTO_TEST_CASE(names_are_escaped_too) {
    json_line json;
    json.open_object().add("ERR \"x\"", 1).close();
    BOOST_TEST(json.text() == R"({"ERR \"x\"":1})");
}

BOOST_AUTO_TEST_CASE(integers_are_exact) {
    json_line json;
    json.open_object().add("most", UINT64_MAX).add("least", INT64_MIN).close();
    BOOST_TEST(json.text() == R"({"most":18446744073709551615,"least":-9223372036854775808})");
}

BOOST_AUTO_TEST_CASE(what_json_has_no_word_for_is_null) {
    json_line json;
    json.open_object()
        .add("a", std::numeric_limits<double>::infinity())
        .add("b", std::numeric_limits<double>::quiet_NaN())
        .close();
    BOOST_TEST(json.text() == R"({"a":null,"b":null})");
}
