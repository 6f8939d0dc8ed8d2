#include "bench/load/reply_scanner.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::bench;

namespace {

using kind = scanned_reply::kind;
using outcome = scan_result::outcome;

constexpr std::string_view replies[] = {
    "+OK\r\n",
    "-ERR no\r\n",
    ":-17\r\n",
    "$5\r\nto\r\nk\r\n",
    "$0\r\n\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "_\r\n",
    "*0\r\n",
    "*3\r\n:17\r\n:30000\r\n:1\r\n",
    "*2\r\n$1\r\nk\r\n$5\r\ntoken\r\n",
    "*2\r\n*1\r\n:1\r\n:2\r\n",
    "%1\r\n+a\r\n:1\r\n",
    "!5\r\nERR x\r\n",
    "=6\r\ntxt:hi\r\n",
    "#t\r\n",
    ",1.5\r\n",
    "(123456789012345678901234567890\r\n",
};

scanned_reply scanned(std::string_view bytes) {
    scanned_reply reply;
    const scan_result result = scan_reply(bytes, reply);
    BOOST_REQUIRE((result.what == outcome::complete));
    BOOST_TEST(result.consumed == bytes.size());
    return reply;
}

}  // namespace

BOOST_AUTO_TEST_CASE(simple_replies_are_what_they_say) {
    BOOST_TEST((scanned("+OK\r\n").what == kind::text));
    BOOST_TEST(scanned("+OK\r\n").text == "OK");
    BOOST_TEST((scanned("-ERR no\r\n").what == kind::error));
    BOOST_TEST(scanned("-ERR no\r\n").text == "ERR no");
    BOOST_TEST((scanned(":-17\r\n").what == kind::integer));
    BOOST_TEST(scanned(":-17\r\n").integer == -17);
}

BOOST_AUTO_TEST_CASE(every_nil_is_null) {
    for (const auto* nil : {"$-1\r\n", "*-1\r\n", "_\r\n"}) {
        BOOST_TEST((scanned(nil).what == kind::null));
    }
}

BOOST_AUTO_TEST_CASE(a_bulk_may_contain_line_ends) {
    BOOST_TEST((scanned("$5\r\nto\r\nk\r\n").what == kind::text));
    BOOST_TEST(scanned("$5\r\nto\r\nk\r\n").text == "to\r\nk");
}

BOOST_AUTO_TEST_CASE(a_bulk_error_is_an_error) {
    BOOST_TEST((scanned("!5\r\nERR x\r\n").what == kind::error));
    BOOST_TEST(scanned("!5\r\nERR x\r\n").text == "ERR x");
}

BOOST_AUTO_TEST_CASE(the_numbers_of_an_array_are_told) {
    const scanned_reply grant = scanned("*3\r\n:17\r\n:30000\r\n:1\r\n");
    BOOST_TEST((grant.what == kind::array));
    BOOST_TEST(grant.elements == 3u);
    BOOST_TEST(grant.numbers[0] == 17);
    BOOST_TEST(grant.numbers[1] == 30'000);
    BOOST_TEST(grant.numbers[2] == 1);
}

BOOST_AUTO_TEST_CASE(elements_beyond_the_room_are_skipped_not_lost) {
    const scanned_reply many = scanned("*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n");
    BOOST_TEST(many.elements == 5u);
    BOOST_TEST(many.numbers[2] == 3);
}

BOOST_AUTO_TEST_CASE(a_cut_reply_is_incomplete_wherever_it_is_cut) {
    for (const std::string_view whole : replies) {
        for (std::size_t size = 0; size != whole.size(); ++size) {
            scanned_reply reply;
            const auto result = scan_reply(whole.substr(0, size), reply);
            BOOST_TEST((result.what == outcome::incomplete), whole << " cut at " << size);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_follows_a_reply_is_left) {
    for (const std::string_view whole : replies) {
        scanned_reply reply;
        const std::string two = std::string(whole) + "+next\r\n";
        const auto result = scan_reply(two, reply);
        BOOST_TEST((result.what == outcome::complete));
        BOOST_TEST(result.consumed == whole.size());
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_a_reply_is_broken) {
    for (const std::string_view bytes :
         {"hello\r\n", "\r\n", "+OK\n", ":x\r\n", ":\r\n", "$-2\r\n", "*-2\r\n", "$x\r\n",
          "$1\r\nab\r\n", "$9999999999\r\n", "?1\r\n",
          "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
          "*1\r\n*1\r\n*1\r\n:1\r\n"}) {
        scanned_reply reply;
        BOOST_TEST((scan_reply(bytes, reply).what == outcome::broken), bytes);
    }
}
