#include "protocol/reply_parser.hh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/transcript.hh"

using namespace lockkeeper::protocol;
using namespace lockkeeper::fuzz;
using namespace std::string_view_literals;

namespace {

/// The one reply in `input`, after checking that it takes all of it.
reply read(std::string_view input, const limits& bounds = {}) {
    reply_parser parser(bounds);
    const auto [outcome, consumed] = parser.parse(input);
    BOOST_TEST((outcome == reply_outcome::reply), input << ": " << parser.error());
    BOOST_TEST(consumed == input.size(), input);
    return parser.take();
}

/// Why `input` is refused, or what else became of it.
std::string refusal(std::string_view input, const limits& bounds = {}) {
    reply_parser parser(bounds);
    switch (parser.parse(input).outcome) {
        case reply_outcome::reply:
            return "a reply";
        case reply_outcome::need_more:
            return "needs more";
        case reply_outcome::broken:
            return std::string(parser.error());
    }
    return {};
}

std::string nested(std::size_t depth) {
    std::string input;
    for (std::size_t i = 1; i < depth; ++i) {
        input += "*1\r\n";
    }
    return input + "*0\r\n";
}

reply array(std::vector<reply> items) {
    return reply::aggregate(reply_kind::array, std::move(items));
}

}  // namespace

BOOST_AUTO_TEST_CASE(simple_values_are_read) {
    BOOST_TEST(read("+OK\r\n").is_ok());
    BOOST_TEST((read("+\r\n") == reply::simple("")));
    BOOST_TEST((read("-ERR no\r\n") == reply::error("ERR no")));
    BOOST_TEST((read("!6\r\nERR\r\nx\r\n") == reply::error("ERR\r\nx")));
    BOOST_TEST((read("_\r\n") == reply::null()));
    BOOST_TEST((read("$-1\r\n") == reply::null()));
    BOOST_TEST((read("*-1\r\n") == reply::null_array()));
    BOOST_TEST((read("#t\r\n") == reply::boolean(true)));
    BOOST_TEST((read("#f\r\n") == reply::boolean(false)));
    BOOST_TEST((read("$5\r\na\r\nbc\r\n") == reply::bulk("a\r\nbc")));
    BOOST_TEST((read("$0\r\n\r\n") == reply::bulk("")));
    BOOST_TEST((read("(-123456789012345678901234567890\r\n") ==
                reply::big_number("-123456789012345678901234567890")));
    BOOST_TEST((read("=8\r\ntxt:text\r\n") == reply::verbatim("txt:text")));
}

BOOST_AUTO_TEST_CASE(integers_are_read_strictly) {
    BOOST_TEST(read(":0\r\n").as_integer().value() == 0);
    BOOST_TEST(read(":-42\r\n").as_integer().value() == -42);
    BOOST_TEST(read(":9223372036854775807\r\n").as_integer().value() ==
               std::numeric_limits<std::int64_t>::max());
    BOOST_TEST(read(":-9223372036854775808\r\n").as_integer().value() ==
               std::numeric_limits<std::int64_t>::min());
    for (const auto text : {":\r\n"sv, ":abc\r\n"sv, ":007\r\n"sv, ":+1\r\n"sv,
                            ":9223372036854775808\r\n"sv, ": 1\r\n"sv}) {
        BOOST_TEST(refusal(text) == "bad integer");
    }
}

BOOST_AUTO_TEST_CASE(doubles_are_read_as_resp3_writes_them) {
    BOOST_TEST(read(",3.25\r\n").as_number().value() == 3.25);
    BOOST_TEST(read(",10\r\n").as_number().value() == 10.0);
    BOOST_TEST(read(",-1.5e-9\r\n").as_number().value() == -1.5e-9);
    BOOST_TEST(read(",+1.5\r\n").as_number().value() == 1.5);
    BOOST_TEST(std::isinf(read(",inf\r\n").as_number().value()));
    BOOST_TEST(read(",-inf\r\n").as_number().value() < 0);
    BOOST_TEST(std::isnan(read(",nan\r\n").as_number().value()));
    for (const auto text :
         {",\r\n"sv, ",x\r\n"sv, ",1.5x\r\n"sv, ",0x1p3\r\n"sv, ",infinity\r\n"sv, ",1e999\r\n"sv,
          ",+-1\r\n"sv, ",nan(1)\r\n"sv, ",INF\r\n"sv, ", 1\r\n"sv}) {
        BOOST_TEST(refusal(text) == "bad double", text);
    }
}

BOOST_AUTO_TEST_CASE(aggregates_are_read) {
    BOOST_TEST((read("*0\r\n") == array({})));
    BOOST_TEST((read("*3\r\n:17\r\n:30000\r\n:1\r\n") ==
                array({reply::integer(17), reply::integer(30000), reply::integer(1)})));
    BOOST_TEST((read("*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*0\r\n") ==
                array({array({reply::integer(1), reply::bulk("x")}), array({})})));
    BOOST_TEST((read("~1\r\n#t\r\n") == reply::aggregate(reply_kind::set, {reply::boolean(true)})));
    BOOST_TEST(
        (read(">2\r\n+lk.lost\r\n+k\r\n") ==
         reply::aggregate(reply_kind::push, {reply::simple("lk.lost"), reply::simple("k")})));
    BOOST_TEST(
        (read("%1\r\n+a\r\n*1\r\n:1\r\n") ==
         reply::aggregate(reply_kind::map, {reply::simple("a"), array({reply::integer(1)})})));
    BOOST_TEST((read("%0\r\n") == reply::aggregate(reply_kind::map, {})));
}

BOOST_AUTO_TEST_CASE(attributes_are_read_and_dropped) {
    BOOST_TEST((read("|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n") == reply::bulk("v")));
    BOOST_TEST((read("|0\r\n:1\r\n") == reply::integer(1)));
    BOOST_TEST((read("*2\r\n:1\r\n|1\r\n+a\r\n*1\r\n:9\r\n:2\r\n") ==
                array({reply::integer(1), reply::integer(2)})));
    BOOST_TEST((read("|1\r\n+a\r\n|1\r\n+b\r\n:2\r\n:3\r\n+OK\r\n").is_ok()));
    BOOST_TEST(refusal("|1\r\n+a\r\n:1\r\n") == "needs more");
}

BOOST_AUTO_TEST_CASE(replies_come_out_one_by_one) {
    const std::string_view input = "+OK\r\n>1\r\n:1\r\n:2\r\n";
    BOOST_TEST(transcript_of_replies(input, uncut(input.size())) ==
               "[5:+OK\r\n]\n[8:>1\r\n:1\r\n]\n[4::2\r\n]\nneeds more from 17");
}

BOOST_AUTO_TEST_CASE(a_bulk_is_consumed_as_it_comes) {
    reply_parser parser;
    BOOST_TEST(parser.parse("$10\r\nabc").consumed == 8u);
    BOOST_TEST(parser.parse("def").consumed == 3u);
    BOOST_TEST(parser.parse("ghij\r").consumed == 4u);
    const auto [outcome, consumed] = parser.parse("\r\n+OK\r\n");
    BOOST_TEST((outcome == reply_outcome::reply));
    BOOST_TEST(consumed == 2u);
    BOOST_TEST(parser.take().text() == "abcdefghij");
}

BOOST_AUTO_TEST_CASE(what_is_not_resp_is_refused) {
    for (const auto input :
         {"PING\r\n"sv, "\0"sv, "HTTP/1.1 400"sv, "\r\n"sv, ";4\r\n"sv, ".\r\n"sv, "?"sv}) {
        BOOST_TEST(refusal(input) == "unknown type of reply");
    }
    BOOST_TEST(refusal("_x\r\n") == "bad null");
    BOOST_TEST(refusal("#x\r\n") == "bad boolean");
    BOOST_TEST(refusal("#\r\n") == "bad boolean");
    BOOST_TEST(refusal("(12a\r\n") == "bad big number");
    BOOST_TEST(refusal("(-\r\n") == "bad big number");
    BOOST_TEST(refusal("=3\r\nabc\r\n") == "bad verbatim string");
    BOOST_TEST(refusal("=5\r\ntxtab\r\n") == "bad verbatim string");
    BOOST_TEST(refusal("$2\r\nabc\r\n") == "bulk not ended by CRLF");
}

BOOST_AUTO_TEST_CASE(a_line_ends_in_crlf_and_holds_neither) {
    for (const auto input :
         {"+a\nb\r\n"sv, "+a\rb\r\n"sv, "+OK\n+OK\r\n"sv, ":1\rx"sv, "*1\n\r\n"sv}) {
        BOOST_TEST(refusal(input) == "line not ended by CRLF");
    }
}

BOOST_AUTO_TEST_CASE(only_bulks_and_arrays_can_be_null_by_length) {
    for (const auto input :
         {"!-1\r\n"sv, "=-1\r\n"sv, "%-1\r\n"sv, "~-1\r\n"sv, ">-1\r\n"sv, "|-1\r\n"sv, "$-2\r\n"sv,
          "*-2\r\n"sv, "$x\r\n"sv, "*\r\n"sv, "$01\r\n"sv}) {
        BOOST_TEST(refusal(input) == "bad length");
    }
}

BOOST_AUTO_TEST_CASE(streamed_types_are_refused) {
    for (const auto input : {"$?\r\n"sv, "*?\r\n"sv, "%?\r\n"sv, "~?\r\n"sv, ">?\r\n"sv}) {
        BOOST_TEST(refusal(input) == "streamed types are not supported");
    }
}

BOOST_AUTO_TEST_CASE(a_push_stands_between_replies_only) {
    BOOST_TEST(refusal("*1\r\n>1\r\n") == "push within a reply");
    BOOST_TEST(refusal("|1\r\n>1\r\n") == "push within a reply");
}

BOOST_AUTO_TEST_CASE(depth_is_limited) {
    BOOST_TEST(refusal(nested(127)) == "a reply");
    BOOST_TEST(refusal(nested(128)) == "a reply");
    BOOST_TEST(refusal(nested(129)) == "nested too deep");
    BOOST_TEST(refusal(nested(100'000)) == "nested too deep");
}

BOOST_AUTO_TEST_CASE(elements_are_limited) {
    BOOST_TEST(refusal("*65535\r\n") == "needs more");
    BOOST_TEST(refusal("*65536\r\n") == "needs more");
    BOOST_TEST(refusal("*65537\r\n") == "too many elements");
    BOOST_TEST(refusal("%32768\r\n") == "needs more");
    BOOST_TEST(refusal("%32769\r\n") == "too many elements");
    BOOST_TEST(refusal("|32769\r\n") == "too many elements");
    BOOST_TEST(refusal("~65537\r\n") == "too many elements");
    BOOST_TEST(refusal(">9223372036854775807\r\n") == "too many elements");
    BOOST_TEST(refusal("%9223372036854775807\r\n") == "too many elements");
}

BOOST_AUTO_TEST_CASE(values_of_a_whole_reply_are_limited) {
    const limits bounds{.reply_values_max = 5};
    BOOST_TEST(refusal("*2\r\n*1\r\n:1\r\n:1\r\n", bounds) == "a reply");
    BOOST_TEST(refusal("*2\r\n*2\r\n:1\r\n:1\r\n:1\r\n", bounds) == "a reply");
    BOOST_TEST(refusal("*2\r\n*3\r\n:1\r\n:1\r\n:1\r\n:1\r\n", bounds) ==
               "too many values in one reply");
    BOOST_TEST(refusal("|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n", bounds) ==
               "too many values in one reply");
    // The next reply begins to count anew.
    BOOST_TEST(
        transcript_of_replies("*3\r\n:1\r\n:1\r\n:1\r\n*3\r\n:1\r\n:1\r\n:1\r\n", uncut(32), bounds)
            .ends_with("needs more from 32"));
}

BOOST_AUTO_TEST_CASE(bulks_are_limited) {
    BOOST_TEST(refusal("$1048575\r\n") == "needs more");
    BOOST_TEST(refusal("$1048576\r\n") == "needs more");
    for (const auto input :
         {"$1048577\r\n"sv, "!1048577\r\n"sv, "=1048577\r\n"sv, "$9223372036854775807\r\n"sv}) {
        BOOST_TEST(refusal(input) == "bulk too long");
    }
}

BOOST_AUTO_TEST_CASE(bytes_of_a_whole_reply_are_limited) {
    const std::string_view input = "*2\r\n$3\r\nabc\r\n+ok\r\n";
    BOOST_TEST(refusal(input, {.reply_bytes_max = input.size() + 1}) == "a reply");
    BOOST_TEST(refusal(input, {.reply_bytes_max = input.size()}) == "a reply");
    BOOST_TEST(refusal(input, {.reply_bytes_max = input.size() - 1}) == "reply too long");
    // Refused by its claim, before its bytes have come.
    BOOST_TEST(refusal("$100\r\n", {.reply_bytes_max = 107}) == "reply too long");
    BOOST_TEST(refusal("$100\r\n", {.reply_bytes_max = 108}) == "needs more");
}

BOOST_AUTO_TEST_CASE(lines_are_limited_by_their_type) {
    const limits bounds{
        .reply_line_bytes_max = 5, .reply_double_bytes_max = 4, .reply_big_number_bytes_max = 3};
    BOOST_TEST(refusal("+abcd\r\n", bounds) == "a reply");
    BOOST_TEST(refusal("+abcde\r\n", bounds) == "a reply");
    BOOST_TEST(refusal("+abcdef\r\n", bounds) == "line too long");
    BOOST_TEST(refusal("-abcde", bounds) == "needs more");
    BOOST_TEST(refusal("-abcdef", bounds) == "line too long");
    BOOST_TEST(refusal(",1.25\r\n", bounds) == "a reply");
    BOOST_TEST(refusal(",1.125\r\n", bounds) == "line too long");
    BOOST_TEST(refusal("(123\r\n", bounds) == "a reply");
    BOOST_TEST(refusal("(1234\r\n", bounds) == "line too long");
    BOOST_TEST(refusal(":-9223372036854775808\r\n", bounds) == "a reply");
    BOOST_TEST(refusal(":111111111111111111111\r\n", bounds) == "line too long");
    BOOST_TEST(refusal("," + std::string(64, '1') + "\r\n") == "a reply");
    BOOST_TEST(refusal("," + std::string(65, '1') + "\r\n") == "line too long");
    BOOST_TEST(refusal("+" + std::string(64 * 1024, 'x') + "\r\n") == "a reply");
    BOOST_TEST(refusal("+" + std::string(64 * 1024 + 1, 'x') + "\r\n") == "line too long");
}

BOOST_AUTO_TEST_CASE(a_long_line_is_not_read_again_and_again) {
    std::string line = "+" + std::string(60'000, 'a');
    reply_parser parser;
    for (std::size_t i = 0; i != line.size(); ++i) {
        BOOST_REQUIRE((parser.parse({line.data(), i}).outcome == reply_outcome::need_more));
    }
    line.replace(100, 2, "\r\n");
    BOOST_TEST((parser.parse(line).outcome == reply_outcome::need_more));
}

BOOST_AUTO_TEST_CASE(a_wide_reply_is_read) {
    std::string input = "*60000\r\n";
    for (int i = 0; i != 60000; ++i) {
        input += ":" + std::to_string(i) + "\r\n";
    }
    const reply whole = read(input);
    BOOST_REQUIRE(whole.items().size() == 60000u);
    BOOST_TEST(whole.items()[59999].as_integer().value() == 59999);
}
