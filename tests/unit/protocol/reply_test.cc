#include "protocol/reply.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::protocol;

BOOST_AUTO_TEST_CASE(a_reply_is_null_until_it_is_something) {
    const reply nothing;
    BOOST_TEST(nothing.is_null());
    BOOST_TEST((nothing == reply::null()));
    BOOST_TEST(reply::null_array().is_null());
    BOOST_TEST(!reply::simple("").is_null());
}

BOOST_AUTO_TEST_CASE(a_reply_says_what_it_is) {
    BOOST_TEST(reply::integer(7).as_integer().value() == 7);
    BOOST_TEST(reply::boolean(true).as_boolean().value());
    BOOST_TEST(!reply::boolean(false).as_boolean().value());
    BOOST_TEST(reply::number(2.5).as_number().value() == 2.5);
    BOOST_TEST(reply::bulk("bytes").text() == "bytes");
    BOOST_TEST(reply::simple("OK").is_ok());
    BOOST_TEST(!reply::bulk("OK").is_ok());
    BOOST_TEST(reply::big_number("123").text() == "123");
}

BOOST_AUTO_TEST_CASE(asked_for_what_it_is_not_it_says_nothing) {
    const reply all[] = {reply::null(),
                         reply::null_array(),
                         reply::simple("1"),
                         reply::error("1"),
                         reply::integer(1),
                         reply::bulk("1"),
                         reply::boolean(true),
                         reply::number(1),
                         reply::big_number("1"),
                         reply::verbatim("txt:1"),
                         reply::aggregate(reply_kind::array, {reply::integer(1)})};
    for (const reply& each : all) {
        BOOST_TEST(each.as_integer().has_value() == (each.kind() == reply_kind::integer));
        BOOST_TEST(each.as_boolean().has_value() == (each.kind() == reply_kind::boolean));
        BOOST_TEST(each.as_number().has_value() == (each.kind() == reply_kind::number));
        BOOST_TEST(each.format().empty() == (each.kind() != reply_kind::verbatim));
        BOOST_TEST(each.error_code().empty() == (each.kind() != reply_kind::error));
        BOOST_TEST(each.items().empty() == !each.is_aggregate());
    }
    BOOST_TEST(reply::integer(1).text().empty());
    BOOST_TEST(reply::null().text().empty());
}

BOOST_AUTO_TEST_CASE(an_error_begins_with_its_code) {
    BOOST_TEST(reply::error("NOSCRIPT No matching script.").error_code() == "NOSCRIPT");
    BOOST_TEST(reply::error("OOM").error_code() == "OOM");
    BOOST_TEST(reply::error("").error_code().empty());
}

BOOST_AUTO_TEST_CASE(a_verbatim_string_has_a_format_and_a_text) {
    const reply text = reply::verbatim("mkd:# title");
    BOOST_TEST(text.format() == "mkd");
    BOOST_TEST(text.text() == "# title");
    BOOST_TEST(reply::verbatim("").text().empty());
}

BOOST_AUTO_TEST_CASE(replies_are_equal_if_kind_and_content_are) {
    BOOST_TEST((reply::integer(1) == reply::integer(1)));
    BOOST_TEST((reply::integer(1) != reply::integer(2)));
    BOOST_TEST((reply::integer(1) != reply::boolean(true)));
    BOOST_TEST((reply::simple("a") != reply::bulk("a")));
    BOOST_TEST((reply::null() != reply::null_array()));
    const reply one = reply::aggregate(reply_kind::array, {reply::integer(1)});
    const reply two = reply::aggregate(reply_kind::array, {reply::integer(2)});
    BOOST_TEST((one == reply::aggregate(reply_kind::array, {reply::integer(1)})));
    BOOST_TEST((one != two));
    BOOST_TEST((one != reply::aggregate(reply_kind::set, {reply::integer(1)})));
}
