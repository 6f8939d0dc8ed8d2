#include "protocol/command_writer.hh"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "protocol/request_parser.hh"

using namespace lockkeeper::protocol;
using namespace std::string_view_literals;

BOOST_AUTO_TEST_CASE(a_command_is_an_array_of_bulks) {
    output out;
    write_command(out, "SET", "k", "v", "NX", "PX", 30000);
    BOOST_TEST(out.view() ==
               "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n");
}

BOOST_AUTO_TEST_CASE(arguments_are_texts_and_integers_of_any_sort) {
    output out;
    const std::string text = "string";
    const std::string_view view = "view";
    write_command(out, text, view, -7, 7u, std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::uint64_t>::max(), std::uint8_t{200});
    BOOST_TEST(
        out.view() ==
        "*7\r\n$6\r\nstring\r\n$4\r\nview\r\n$2\r\n-7\r\n$1\r\n7\r\n$20\r\n-9223372036854775808\r\n"
        "$20\r\n18446744073709551615\r\n$3\r\n200\r\n");
}

BOOST_AUTO_TEST_CASE(arguments_may_be_empty_and_hold_any_byte) {
    output out;
    write_command(out, "ECHO", "", "a\r\n\0b"sv);
    BOOST_TEST(out.view() == "*3\r\n$4\r\nECHO\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n"sv);
}

BOOST_AUTO_TEST_CASE(commands_are_appended_one_after_the_other) {
    output out;
    write_command(out, "PING");
    const std::array<std::string_view, 2> arguments{"GET", "key"};
    write_command(out, arguments);
    BOOST_TEST(out.view() == "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
}

BOOST_AUTO_TEST_CASE(a_command_can_be_written_argument_by_argument) {
    output out;
    command_writer command(out, 4);
    command.add("EVALSHA").add(std::string("abc")).add(1).add("key");
    BOOST_TEST(out.view() == "*4\r\n$7\r\nEVALSHA\r\n$3\r\nabc\r\n$1\r\n1\r\n$3\r\nkey\r\n");
}

BOOST_AUTO_TEST_CASE(the_request_parser_reads_what_was_written) {
    output out;
    const std::string large(50'000, 'x');
    write_command(out, "SET", large, "", 12345);
    request_parser parser;
    const auto [outcome, consumed] = parser.parse(out.view());
    BOOST_TEST((outcome == request_outcome::request));
    BOOST_TEST(consumed == out.size());
    BOOST_REQUIRE(parser.request().size() == 4);
    BOOST_TEST((parser.request()[1] == large));
    BOOST_TEST(parser.request()[3] == "12345");
}
