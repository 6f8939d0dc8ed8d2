#include "protocol/reply_writer.hh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply.hh"
#include "protocol/reply_parser.hh"

using namespace lockkeeper::protocol;
using namespace std::string_view_literals;

namespace {

using words = std::function<void(reply_writer&)>;

std::string in(version spoken, const words& say) {
    output out;
    reply_writer writer(out, spoken);
    say(writer);
    return std::string(out.view());
}

void check(const words& say, std::string_view resp2, std::string_view resp3) {
    BOOST_TEST(in(version::resp2, say) == resp2);
    BOOST_TEST(in(version::resp3, say) == resp3);
}

void check_both(const words& say, std::string_view same) {
    check(say, same, same);
}

reply read_back(std::string_view bytes) {
    reply_parser parser;
    const auto [outcome, consumed] = parser.parse(bytes);
    BOOST_TEST((outcome == reply_outcome::reply), bytes << ": " << parser.error());
    BOOST_TEST(consumed == bytes.size());
    return parser.take();
}

reply aggregate(reply_kind kind, std::vector<reply> items) {
    return reply::aggregate(kind, std::move(items));
}

/// One of everything.
std::vector<reply> all_kinds() {
    std::vector<reply> all{
        reply::null(),
        reply::null_array(),
        reply::simple("OK"),
        reply::simple(""),
        reply::error("NOSCRIPT No matching script."),
        reply::integer(0),
        reply::integer(1),
        reply::integer(-1),
        reply::integer(std::numeric_limits<std::int64_t>::max()),
        reply::integer(std::numeric_limits<std::int64_t>::min()),
        reply::bulk(""),
        reply::bulk(std::string("with\r\nand\0"sv)),
        reply::bulk(std::string(1000, 'x')),
        reply::boolean(true),
        reply::boolean(false),
        reply::number(0.1),
        reply::number(-std::numeric_limits<double>::infinity()),
        reply::number(std::numeric_limits<double>::denorm_min()),
        reply::number(std::numeric_limits<double>::max()),
        reply::big_number("-123456789012345678901234567890"),
        reply::verbatim("txt:some text"),
    };
    all.push_back(aggregate(reply_kind::array, {}));
    all.push_back(aggregate(reply_kind::set, {reply::integer(1), reply::bulk("x")}));
    all.push_back(
        aggregate(reply_kind::map, {reply::bulk("k"), aggregate(reply_kind::array, all)}));
    all.push_back(aggregate(reply_kind::array, all));
    all.push_back(aggregate(reply_kind::push, {reply::bulk("message"), reply::bulk("c")}));
    return all;
}

/// What is left of a reply for a client that speaks RESP2.
reply as_resp2(const reply& value) {
    std::vector<reply> items;
    for (const reply& item : value.items()) {
        items.push_back(as_resp2(item));
    }
    switch (value.kind()) {
        case reply_kind::boolean:
            return reply::integer(*value.as_boolean() ? 1 : 0);
        case reply_kind::number: {
            // The digits that RESP3 shows after the comma.
            const std::string line = in(version::resp3, [&](auto& w) { w.value(value); });
            return reply::bulk(line.substr(1, line.size() - 3));
        }
        case reply_kind::big_number:
        case reply_kind::verbatim:
            return reply::bulk(std::string(value.text()));
        case reply_kind::map:
        case reply_kind::set:
        case reply_kind::push:
        case reply_kind::array:
            return aggregate(reply_kind::array, std::move(items));
        default:
            return value;
    }
}

/// RESP3 has one null.
reply as_resp3(const reply& value) {
    if (value.is_null()) {
        return reply::null();
    }
    if (!value.is_aggregate()) {
        return value;
    }
    std::vector<reply> items;
    for (const reply& item : value.items()) {
        items.push_back(as_resp3(item));
    }
    return aggregate(value.kind(), std::move(items));
}

}  // namespace

BOOST_AUTO_TEST_CASE(both_versions_share_the_old_types) {
    check_both([](auto& w) { w.ok(); }, "+OK\r\n");
    check_both([](auto& w) { w.simple("PONG"); }, "+PONG\r\n");
    check_both([](auto& w) { w.error("ERR no"); }, "-ERR no\r\n");
    check_both([](auto& w) { w.bulk("value"); }, "$5\r\nvalue\r\n");
    check_both([](auto& w) { w.bulk(""); }, "$0\r\n\r\n");
    check_both([](auto& w) { w.bulk("a\r\nb\0"sv); }, "$5\r\na\r\nb\0\r\n"sv);
    check_both([](auto& w) { w.array(0); }, "*0\r\n");
    check_both([](auto& w) { w.array(12); }, "*12\r\n");
    check_both([](auto& w) { w.array(1234567); }, "*1234567\r\n");
}

BOOST_AUTO_TEST_CASE(integers_have_their_digits) {
    for (const std::int64_t value :
         {0L, 1L, 2L, 9L, 10L, 99L, 100L, 30000L, -1L, -10L,
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        check_both([&](auto& w) { w.integer(value); }, ":" + std::to_string(value) + "\r\n");
    }
}

BOOST_AUTO_TEST_CASE(new_types_become_old_ones_for_old_clients) {
    check([](auto& w) { w.null(); }, "$-1\r\n", "_\r\n");
    check([](auto& w) { w.null_array(); }, "*-1\r\n", "_\r\n");
    check([](auto& w) { w.map(3); }, "*6\r\n", "%3\r\n");
    check([](auto& w) { w.set(3); }, "*3\r\n", "~3\r\n");
    check([](auto& w) { w.push(3); }, "*3\r\n", ">3\r\n");
    check([](auto& w) { w.boolean(true); }, ":1\r\n", "#t\r\n");
    check([](auto& w) { w.boolean(false); }, ":0\r\n", "#f\r\n");
    check([](auto& w) { w.big_number("-12"); }, "$3\r\n-12\r\n", "(-12\r\n");
    check([](auto& w) { w.verbatim("txt", "a\r\nb"); }, "$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n");
}

BOOST_AUTO_TEST_CASE(doubles_are_short_and_exact) {
    check([](auto& w) { w.number(3.25); }, "$4\r\n3.25\r\n", ",3.25\r\n");
    check([](auto& w) { w.number(0.1); }, "$3\r\n0.1\r\n", ",0.1\r\n");
    check([](auto& w) { w.number(10); }, "$2\r\n10\r\n", ",10\r\n");
    check([](auto& w) { w.number(INFINITY); }, "$3\r\ninf\r\n", ",inf\r\n");
    check([](auto& w) { w.number(-INFINITY); }, "$4\r\n-inf\r\n", ",-inf\r\n");
    check([](auto& w) { w.number(NAN); }, "$3\r\nnan\r\n", ",nan\r\n");
    check([](auto& w) { w.number(-NAN); }, "$3\r\nnan\r\n", ",nan\r\n");
}

BOOST_AUTO_TEST_CASE(an_old_client_sees_no_attribute) {
    const words annotated = [](reply_writer& w) {
        if (w.attribute(1)) {
            w.simple("ttl");
            w.integer(10);
        }
        w.ok();
    };
    check(annotated, "+OK\r\n", "|1\r\n+ttl\r\n:10\r\n+OK\r\n");
}

BOOST_AUTO_TEST_CASE(text_of_others_cannot_end_a_line) {
    check_both([](auto& w) { w.error("ERR a\r\n+OK\r\n"); }, "-ERR a  +OK  \r\n");
    check_both([](auto& w) { w.simple("a\nb\x1b[0m\0c"sv); }, "+a b[0mc\r\n");
    BOOST_TEST(in(version::resp3, [](auto& w) { w.big_number("1\r\n:2"); }) == "(1  :2\r\n");
}

BOOST_AUTO_TEST_CASE(an_error_can_be_made_of_parts) {
    check_both([](auto& w) { w.error({"ERR unknown command '", "FOO\r\nBAR", "'"}); },
               "-ERR unknown command 'FOO  BAR'\r\n");
    check_both([](auto& w) { w.error({}); }, "-\r\n");
}

BOOST_AUTO_TEST_CASE(the_version_can_change_between_replies) {
    output out;
    reply_writer writer(out);
    BOOST_TEST((writer.spoken() == version::resp2));
    writer.null();
    writer.set_version(version::resp3);
    writer.null();
    BOOST_TEST(out.view() == "$-1\r\n_\r\n");
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back_in_resp3) {
    for (const reply& value : all_kinds()) {
        const std::string bytes = in(version::resp3, [&](auto& w) { w.value(value); });
        BOOST_TEST((read_back(bytes) == as_resp3(value)), bytes);
    }
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back_in_resp2) {
    for (const reply& value : all_kinds()) {
        const std::string bytes = in(version::resp2, [&](auto& w) { w.value(value); });
        BOOST_TEST((read_back(bytes) == as_resp2(value)), bytes);
    }
}

BOOST_AUTO_TEST_CASE(a_deep_tree_is_written) {
    reply deep = reply::integer(7);
    std::string expected;
    for (int i = 0; i != 100; ++i) {
        std::vector<reply> items;
        items.push_back(std::move(deep));
        deep = aggregate(reply_kind::array, std::move(items));
        expected += "*1\r\n";
    }
    check_both([&](auto& w) { w.value(deep); }, expected + ":7\r\n");
}
