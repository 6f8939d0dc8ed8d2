#include "protocol/request_parser.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/transcript.hh"

using namespace lockkeeper::protocol;
using namespace lockkeeper::fuzz;
using namespace std::string_view_literals;

namespace {

constexpr std::size_t kibibyte = 1024;

/// The transcript of the whole input, after checking that byte by byte it is the same.
std::string outcome_of(std::string_view input, const client& who = {}) {
    const std::string whole = transcript_of_requests(input, uncut(input.size()), who);
    if (input.size() < kibibyte) {
        BOOST_TEST(transcript_of_requests(input, cut_everywhere(input.size()), who) == whole);
    }
    return whole;
}

std::string broken(std::string_view why, std::size_t at = 0) {
    return "broken at " + std::to_string(at) + ": Protocol error: " + std::string(why);
}

std::string needs_more(std::size_t from = 0) {
    return "needs more from " + std::to_string(from);
}

std::string bulk(std::string_view bytes) {
    return "$" + std::to_string(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n";
}

std::string command_of(std::size_t arguments) {
    std::string command = "*" + std::to_string(arguments) + "\r\n";
    for (std::size_t i = 0; i != arguments; ++i) {
        command += bulk("x");
    }
    return command;
}

std::size_t arguments_of(std::string_view input, const client& who = {}) {
    request_parser parser(who.limits);
    parser.set_authenticated(who.authenticated);
    if (parser.parse(input).outcome != request_outcome::request) {
        return 0;
    }
    return parser.request().size();
}

const client stranger{.authenticated = false};
constexpr auto ping = "*1\r\n$4\r\nPING\r\n"sv;

}  // namespace

BOOST_AUTO_TEST_CASE(a_command_is_an_array_of_bulks) {
    BOOST_TEST(
        outcome_of(
            "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n") ==
        "[3:SET][1:k][1:v][2:NX][2:PX][5:30000]\n" + needs_more(54));
}

BOOST_AUTO_TEST_CASE(pipelined_commands_come_out_one_by_one) {
    const std::string pipeline =
        std::string(ping) + "PING\r\n" + "*2\r\n" + bulk("GET") + bulk("a\r\nb");
    BOOST_TEST(outcome_of(pipeline) ==
               "[4:PING]\n[4:PING]\n[3:GET][4:a\r\nb]\n" + needs_more(pipeline.size()));
}

BOOST_AUTO_TEST_CASE(good_commands_before_a_bad_one_are_answered) {
    BOOST_TEST(outcome_of(std::string(ping) + std::string(ping) + "*1\r\n!bad\r\n") ==
               "[4:PING]\n[4:PING]\n" + broken("expected '$', got '!'", 28));
}

BOOST_AUTO_TEST_CASE(arguments_point_into_the_callers_buffer) {
    for (const std::size_t arguments : {3, 40}) {
        const std::string input = command_of(arguments);
        request_parser parser;
        BOOST_TEST(parser.parse(input).consumed == input.size());
        for (const std::string_view argument : parser.request()) {
            BOOST_TEST(
                (argument.data() > input.data() && argument.data() < input.data() + input.size()));
        }
    }
}

BOOST_AUTO_TEST_CASE(arguments_of_every_length_are_read) {
    for (std::size_t length = 0; length != 1200; ++length) {
        const std::string value(length, 'v');
        const std::string input = "*2\r\n" + bulk("GET") + bulk(value);
        request_parser parser;
        BOOST_REQUIRE(parser.parse(input).consumed == input.size());
        BOOST_REQUIRE(parser.request()[1] == value);
    }
}

BOOST_AUTO_TEST_CASE(commands_of_every_count_are_read) {
    for (std::size_t count = 1; count <= 200; ++count) {
        BOOST_REQUIRE_EQUAL(arguments_of(command_of(count)), count);
    }
}

BOOST_AUTO_TEST_CASE(keys_hold_any_byte) {
    for (int byte = 0; byte != 256; ++byte) {
        const std::string key(3, static_cast<char>(byte));
        BOOST_TEST(outcome_of("*1\r\n" + bulk(key)) == "[3:" + key + "]\n" + needs_more(13));
    }
}

BOOST_AUTO_TEST_CASE(the_name_may_be_empty) {
    BOOST_TEST(outcome_of("*1\r\n$0\r\n\r\n") == "[0:]\n" + needs_more(10));
}

BOOST_AUTO_TEST_CASE(empty_commands_are_skipped_in_silence) {
    for (const auto silent : {"\r\n"sv, "\n"sv, "  \r\n"sv, "*0\r\n"sv, "*-1\r\n"sv, "*-10\r\n"sv,
                              "*-9223372036854775808\r\n"sv}) {
        const std::string input = std::string(silent) + std::string(silent) + std::string(ping);
        BOOST_TEST(outcome_of(input) == "[4:PING]\n" + needs_more(input.size()));
        BOOST_TEST(outcome_of(silent) == needs_more(silent.size()));
    }
}

BOOST_AUTO_TEST_CASE(a_count_that_is_no_count_ends_the_stream) {
    for (const auto input : {"*abc\r\n"sv, "*+1\r\n"sv, "*01\r\n"sv, "* 1\r\n"sv, "*1 \r\n"sv,
                             "*\r\n"sv, "*-0\r\n"sv, "*1x\r\n"sv, "*2147483648\r\n"sv,
                             "*99999999999999999999\r\n"sv, "*-9223372036854775809\r\n"sv,
                             "*1\n$4\nPING\n\r\n"sv, "*1\rX$4\r\nPING\r\n"sv, "*-1\rX"sv}) {
        BOOST_TEST(outcome_of(input) == broken("invalid multibulk length"));
        BOOST_TEST(outcome_of(input, stranger) == broken("invalid multibulk length"));
    }
}

BOOST_AUTO_TEST_CASE(a_length_that_is_no_length_ends_the_stream) {
    for (const auto length : {"-1"sv, "-10"sv, "blabla"sv, ""sv, "04"sv, "+4"sv, " 4"sv, "00"sv,
                              "4x"sv, "536870913"sv, "99999999999999999999"sv}) {
        const std::string input = "*2\r\n$3\r\nGET\r\n$" + std::string(length) + "\r\n";
        BOOST_TEST(outcome_of(input) == broken("invalid bulk length"));
        BOOST_TEST(outcome_of(input, stranger) == broken("invalid bulk length"));
    }
    BOOST_TEST(outcome_of("*1\r\n$4\rXPING\r\n") == broken("invalid bulk length"));
}

BOOST_AUTO_TEST_CASE(an_argument_must_be_a_bulk) {
    BOOST_TEST(outcome_of("*1\r\nfoo\r\n") == broken("expected '$', got 'f'"));
    BOOST_TEST(outcome_of("*1\r\n*1\r\n") == broken("expected '$', got '*'"));
    BOOST_TEST(outcome_of("*1\r\n:1\r\n") == broken("expected '$', got ':'"));
    BOOST_TEST(outcome_of("*2\r\n$3\r\nGET\r\nkey\r\n") == broken("expected '$', got 'k'"));
    BOOST_TEST(outcome_of("*1\r\n'\r\n") == broken("expected '$', got '''"));
    BOOST_TEST(outcome_of("*1\r\n\xff\r\n") == broken("expected '$', got '\xff'"));
    BOOST_TEST(outcome_of("*1\r\n\r\n") == broken("expected '$', got ' '"));
    BOOST_TEST(outcome_of("*1\r\n\0\r\n"sv) == broken("expected '$', got ''"));
}

BOOST_AUTO_TEST_CASE(an_argument_is_judged_only_when_its_line_is_complete) {
    BOOST_TEST(outcome_of("*1\r\nf") == needs_more());
    BOOST_TEST(outcome_of("*1\r\nfoo\r") == needs_more());
    BOOST_TEST(outcome_of("*abc") == needs_more());
}

BOOST_AUTO_TEST_CASE(a_bulk_must_be_followed_by_crlf) {
    const std::string why = broken("expected CRLF after bulk");
    BOOST_TEST(outcome_of("*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n") == why);
    BOOST_TEST(outcome_of("*1\r\n$4\r\nPING\n\r") == why);
    BOOST_TEST(outcome_of("*2\r\n$3\r\nGET\r\n$1\r\nab\r\n") == why);
    BOOST_TEST(outcome_of("*1\r\n$3\r\nGET\rx") == why);
    BOOST_TEST(outcome_of("*1\r\n$12\r\nGETGETGETGETx\n") == why);
}

BOOST_AUTO_TEST_CASE(arguments_are_limited) {
    BOOST_TEST(arguments_of(command_of(1023)) == 1023u);
    BOOST_TEST(arguments_of(command_of(1024)) == 1024u);
    BOOST_TEST(outcome_of("*1024\r\n") == needs_more());
    for (const auto count : {"*1025\r\n"sv, "*1048577\r\n"sv, "*2147483647\r\n"sv}) {
        BOOST_TEST(outcome_of(count) == broken("invalid multibulk length"));
    }
}

BOOST_AUTO_TEST_CASE(bulks_are_limited) {
    for (const std::size_t length : {64 * kibibyte - 1, 64 * kibibyte}) {
        const std::string input = "*1\r\n" + bulk(std::string(length, 'x'));
        request_parser parser;
        BOOST_TEST(parser.parse(input).consumed == input.size());
        BOOST_TEST(parser.request().name().size() == length);
    }
    BOOST_TEST(outcome_of("*1\r\n$65536\r\n") == needs_more());
    BOOST_TEST(outcome_of("*1\r\n$65537\r\n") == broken("invalid bulk length"));
    BOOST_TEST(outcome_of("*1\r\n$536870912\r\n") == broken("invalid bulk length"));
}

BOOST_AUTO_TEST_CASE(a_stranger_may_say_less) {
    BOOST_TEST(arguments_of(command_of(9), stranger) == 9u);
    BOOST_TEST(arguments_of(command_of(10), stranger) == 10u);
    for (const auto count :
         {"*11\r\n"sv, "*12\r\n"sv, "*1024\r\n"sv, "*1025\r\n"sv, "*1048577\r\n"sv}) {
        BOOST_TEST(outcome_of(count, stranger) == broken("unauthenticated multibulk length"));
    }
    BOOST_TEST(outcome_of(command_of(11), stranger) == broken("unauthenticated multibulk length"));
    BOOST_TEST(outcome_of("*1\r\n$16383\r\n", stranger) == needs_more());
    BOOST_TEST(outcome_of("*1\r\n$16384\r\n", stranger) == needs_more());
    BOOST_TEST(outcome_of("*1\r\n$16385\r\n", stranger) == broken("unauthenticated bulk length"));
    BOOST_TEST(outcome_of("*1\r\n$65537\r\n", stranger) == broken("unauthenticated bulk length"));
}

BOOST_AUTO_TEST_CASE(once_known_a_client_may_say_more) {
    request_parser parser;
    parser.set_authenticated(false);
    BOOST_TEST((parser.parse(ping).outcome == request_outcome::request));
    parser.set_authenticated(true);
    BOOST_TEST((parser.parse(command_of(11)).outcome == request_outcome::request));
    parser.set_authenticated(false);
    BOOST_TEST((parser.parse(command_of(11)).outcome == request_outcome::broken));
}

BOOST_AUTO_TEST_CASE(configured_limits_hold_on_the_short_road_too) {
    const client tight{.limits = {.arguments_max = 3, .bulk_bytes_max = 5}};
    BOOST_TEST(arguments_of(command_of(2), tight) == 2u);
    BOOST_TEST(arguments_of(command_of(3), tight) == 3u);
    BOOST_TEST(outcome_of(command_of(4), tight) == broken("invalid multibulk length"));
    BOOST_TEST(outcome_of("*1\r\n$4\r\nPING\r\n", tight) == "[4:PING]\n" + needs_more(14));
    BOOST_TEST(outcome_of("*1\r\n$5\r\nPINGS\r\n", tight) == "[5:PINGS]\n" + needs_more(15));
    BOOST_TEST(outcome_of("*1\r\n$6\r\nPINGER\r\n", tight) == broken("invalid bulk length"));
}

BOOST_AUTO_TEST_CASE(count_and_length_lines_are_limited_however_they_come) {
    const std::pair<std::string, std::string> lines[] = {{"*", "too big mbulk count string"},
                                                         {"*1\r\n$", "too big bulk count string"},
                                                         {"*1\r\nf", "too big bulk count string"}};
    for (const auto& [begin, why] : lines) {
        const std::size_t line = 64 * kibibyte - 1;  // digits that, with the type, make 64 KiB
        for (const std::string_view end : {""sv, "\r\n"sv}) {
            const std::string good = begin + std::string(line, '1') + std::string(end);
            const std::string bad = begin + std::string(line + 1, '1') + std::string(end);
            BOOST_TEST((outcome_of(good).find("too big") == std::string::npos));
            BOOST_TEST(outcome_of(bad) == broken(why));
            BOOST_TEST(transcript_of_requests(bad, cut_once(bad.size(), bad.size() - 3)) ==
                       broken(why));
            BOOST_TEST(transcript_of_requests(bad, cut_by_content(bad)) == broken(why));
        }
    }
}

BOOST_AUTO_TEST_CASE(inline_commands_are_limited_however_they_come) {
    for (const std::string_view end : {"\n"sv, ""sv}) {
        for (const std::size_t length : {64 * kibibyte - 1, 64 * kibibyte, 64 * kibibyte + 1}) {
            const std::string input = std::string(length, 'A') + std::string(end);
            const bool too_big = length > 64 * kibibyte;
            const std::string expected =
                too_big       ? broken("too big inline request")
                : end.empty() ? needs_more()
                              : show(std::string(length, 'A')) + "\n" + needs_more(input.size());
            BOOST_TEST((outcome_of(input) == expected));
            BOOST_TEST(
                (transcript_of_requests(input, cut_once(input.size(), length - 1)) == expected));
            BOOST_TEST((transcript_of_requests(input, cut_once(input.size(), length)) == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(lines_at_small_limits_are_the_same_however_cut) {
    const client tight{.limits = {.inline_bytes_max = 5, .header_bytes_max = 3}};
    BOOST_TEST(outcome_of("ABCD\n", tight) == "[4:ABCD]\n" + needs_more(5));
    BOOST_TEST(outcome_of("ABCDE\n", tight) == "[5:ABCDE]\n" + needs_more(6));
    BOOST_TEST(outcome_of("ABCDEF\n", tight) == broken("too big inline request"));
    BOOST_TEST(outcome_of("ABCDE", tight) == needs_more());
    BOOST_TEST(outcome_of("ABCDEF", tight) == broken("too big inline request"));
    BOOST_TEST(outcome_of("*10\r\n", tight) == needs_more());
    BOOST_TEST(outcome_of("*100\r\n", tight) == broken("too big mbulk count string"));
    BOOST_TEST(outcome_of("*1\r\n$10\r\n", tight) == needs_more());
    BOOST_TEST(outcome_of("*1\r\n$100\r\n", tight) == broken("too big bulk count string"));
}

BOOST_AUTO_TEST_CASE(inline_commands_are_split_into_words) {
    BOOST_TEST(outcome_of("PING\r\n") == "[4:PING]\n" + needs_more(6));
    BOOST_TEST(outcome_of("ping\n") == "[4:ping]\n" + needs_more(5));
    BOOST_TEST(outcome_of("  SET \t k   v \r\n") == "[3:SET][1:k][1:v]\n" + needs_more(16));
    BOOST_TEST(outcome_of("SET \"a b\" '\\'' \"\\x41\\n\"\r\n") ==
               "[3:SET][3:a b][1:'][2:A\n]\n" + needs_more(25));
    BOOST_TEST(outcome_of("PING\r\r\n") == "[4:PING]\n" + needs_more(7));
    BOOST_TEST(outcome_of("PING\r") == needs_more());
    BOOST_TEST(outcome_of("\0\r\n"sv) == std::string("[1:\0]\n", 6) + needs_more(3));
}

BOOST_AUTO_TEST_CASE(inline_quotes_must_balance) {
    BOOST_TEST(outcome_of("SET \"foo bar\r\n") == broken("unbalanced quotes in request"));
    BOOST_TEST(outcome_of("ECHO \"a\"b\r\n") == broken("unbalanced quotes in request"));
    BOOST_TEST(outcome_of("SET 'foo\n") == broken("unbalanced quotes in request"));
}

BOOST_AUTO_TEST_CASE(words_of_an_inline_command_are_limited) {
    const client tight{.limits = {.arguments_max = 2}};
    BOOST_TEST(outcome_of("a\n", tight) == "[1:a]\n" + needs_more(2));
    BOOST_TEST(outcome_of("a b\n", tight) == "[1:a][1:b]\n" + needs_more(4));
    BOOST_TEST(outcome_of("a b c\n", tight) == broken("too big inline request"));
}

BOOST_AUTO_TEST_CASE(a_web_page_in_disguise_is_recognised) {
    for (const auto input :
         {"POST / HTTP/1.1\r\n"sv, "post\r\n"sv, "Host: a\r\n"sv, "hOsT: a\r\n"sv,
          "*1\r\n$4\r\nPOST\r\n"sv, "*1\r\n$5\r\nhost:\r\n"sv}) {
        request_parser parser;
        BOOST_TEST((parser.parse(input).outcome == request_outcome::request));
        BOOST_TEST(is_http(parser.request()), input);
    }
    for (const auto input :
         {"GET / HTTP/1.1\r\n"sv, "Hosts: a\r\n"sv, "PING POST\r\n"sv, "host\r\n"sv}) {
        request_parser parser;
        BOOST_TEST((parser.parse(input).outcome == request_outcome::request));
        BOOST_TEST(!is_http(parser.request()), input);
    }
}

BOOST_AUTO_TEST_CASE(no_bytes_need_more_bytes) {
    request_parser parser;
    const auto [outcome, consumed] = parser.parse("");
    BOOST_TEST((outcome == request_outcome::need_more));
    BOOST_TEST(consumed == 0u);
    BOOST_TEST(parser.wanted() == 1u);
}

BOOST_AUTO_TEST_CASE(the_rest_of_a_bulk_is_known_in_advance) {
    request_parser parser;
    parser.parse("*2\r\n$3\r\nGET\r\n$1000\r\nabc");
    BOOST_TEST(parser.wanted() == 1000 + 2 - 3u);
    parser.parse("*2\r\n$3\r\nGET\r\n$1000\r\nabcd");
    BOOST_TEST(parser.wanted() == 1000 + 2 - 4u);
}

BOOST_AUTO_TEST_CASE(empty_commands_before_an_incomplete_one_are_consumed) {
    request_parser parser;
    const auto [outcome, consumed] = parser.parse("\r\n*0\r\n*1\r\n$4\r\nPI");
    BOOST_TEST((outcome == request_outcome::need_more));
    BOOST_TEST(consumed == 6u);
    BOOST_TEST(parser.parse(ping).consumed == ping.size());
    BOOST_TEST(parser.request().name() == "PING");
}

BOOST_AUTO_TEST_CASE(a_long_line_is_not_read_again_and_again) {
    // Were each of the 60,000 calls to look at all that came before, this would take minutes.
    const std::string line(60'000, 'a');
    request_parser parser;
    for (std::size_t i = 0; i != line.size(); ++i) {
        BOOST_REQUIRE((parser.parse({line.data(), i}).outcome == request_outcome::need_more));
    }
    // The bytes looked at once are not looked at again, even if they have changed meanwhile.
    std::string changed = line;
    changed[100] = '\n';
    BOOST_TEST((parser.parse(changed).outcome == request_outcome::need_more));
}

BOOST_AUTO_TEST_CASE(after_an_outsized_command_the_parser_goes_on) {
    request_parser parser;
    const std::string large = command_of(1000);
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(parser.parse(large).consumed == large.size());
        BOOST_TEST(parser.request().size() == 1000u);
        BOOST_TEST(parser.parse("\"quoted\"\r\n").consumed == 10u);
        BOOST_TEST(parser.request().name() == "quoted");
        BOOST_TEST(parser.parse(ping).consumed == ping.size());
        BOOST_TEST(parser.request().name() == "PING");
    }
}
