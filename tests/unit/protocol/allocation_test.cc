/// No memory for claims: a peer that names a large number and sends nothing costs nothing. And a
/// command of the usual size costs no allocation at all.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "protocol/command_writer.hh"
#include "protocol/reply_parser.hh"
#include "protocol/reply_writer.hh"
#include "protocol/request_parser.hh"

using namespace lockkeeper::protocol;
using namespace std::string_view_literals;

namespace {

std::size_t allocations = 0;
std::size_t allocated_bytes = 0;

struct cost {
    std::size_t allocations;
    std::size_t bytes;
};

template <typename Work>
cost cost_of(Work work) {
    const cost before{allocations, allocated_bytes};
    work();
    return {allocations - before.allocations, allocated_bytes - before.bytes};
}

}  // namespace

void* operator new(std::size_t bytes) {
    ++allocations;
    allocated_bytes += bytes;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

BOOST_AUTO_TEST_CASE(the_count_of_allocations_works) {
    const cost spent = cost_of([] { std::string(1000, 'x'); });
    BOOST_TEST(spent.allocations == 1u);
    BOOST_TEST(spent.bytes >= 1000u);
}

BOOST_AUTO_TEST_CASE(a_claimed_bulk_of_a_request_costs_nothing) {
    request_parser parser;
    BOOST_TEST(cost_of([&] { parser.parse("*1\r\n$65536\r\n"); }).bytes == 0u);
    BOOST_TEST(parser.wanted() == 65538u);
}

BOOST_AUTO_TEST_CASE(a_claimed_count_of_a_request_costs_nothing) {
    request_parser parser({.arguments_max = 1'000'000});
    BOOST_TEST(cost_of([&] { parser.parse("*1000000\r\n"); }).bytes == 0u);
    BOOST_TEST(cost_of([&] { parser.parse("*1000000\r\n$1\r\na\r\n"); }).bytes <= 64u);
}

BOOST_AUTO_TEST_CASE(a_claimed_bulk_of_a_reply_costs_nothing) {
    for (const auto claim : {"$1000000\r\n"sv, "!1000000\r\n"sv, "=1000000\r\n"sv}) {
        reply_parser parser;
        BOOST_TEST(cost_of([&] { parser.parse(claim); }).bytes == 0u);
        BOOST_TEST(cost_of([&] { parser.parse("0123456789"); }).bytes <= 64u);
    }
}

BOOST_AUTO_TEST_CASE(a_claimed_aggregate_of_a_reply_costs_next_to_nothing) {
    for (const auto claim :
         {"*1000000\r\n"sv, "%500000\r\n"sv, "~1000000\r\n"sv, ">1000000\r\n"sv, "|500000\r\n"sv}) {
        reply_parser parser({.reply_elements_max = 1'000'000});
        BOOST_TEST(cost_of([&] { parser.parse(claim); }).bytes <= 1024u);
    }
}

BOOST_AUTO_TEST_CASE(many_nested_claims_cost_in_proportion_to_their_bytes) {
    std::string claims;
    for (int i = 0; i != 128; ++i) {
        claims += "*65536\r\n";
    }
    reply_parser parser;
    BOOST_TEST(cost_of([&] { parser.parse(claims); }).bytes <= 100 * claims.size());
}

BOOST_AUTO_TEST_CASE(a_usual_command_costs_no_allocation) {
    request_parser parser;
    const auto command =
        "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n"sv;
    BOOST_TEST(cost_of([&] {
                   for (int i = 0; i != 1000; ++i) {
                       parser.parse(command);
                   }
               }).allocations == 0u);
}

BOOST_AUTO_TEST_CASE(an_unusual_command_costs_allocations_only_once) {
    std::string long_command = "*20\r\n";
    for (int i = 0; i != 20; ++i) {
        long_command += "$150\r\n" + std::string(150, 'x') + "\r\n";
    }
    for (const std::string_view command :
         {std::string_view(long_command), "PING \"a b\" plain\r\n"sv}) {
        request_parser parser;
        const auto parse_in_two_pieces = [&] {
            BOOST_TEST((parser.parse(command.substr(0, 7)).outcome == request_outcome::need_more));
            BOOST_TEST((parser.parse(command).outcome == request_outcome::request));
        };
        parse_in_two_pieces();
        BOOST_TEST(cost_of([&] { parser.parse(command); }).allocations == 0u);
    }
}

BOOST_AUTO_TEST_CASE(an_outsized_command_leaves_no_lasting_memory) {
    std::string large = "*1000\r\n";
    for (int i = 0; i != 1000; ++i) {
        large += "$1\r\nx\r\n";
    }
    request_parser parser;
    parser.parse(large);
    parser.parse("PING\r\n");
    // Had the parser kept its lists, the second large command would be free.
    BOOST_TEST(cost_of([&] { parser.parse(large); }).bytes > 1000 * sizeof(std::string_view));
}

BOOST_AUTO_TEST_CASE(small_replies_and_commands_cost_no_allocation_once_there_is_a_block) {
    output out;
    out.append("first");
    out.clear();
    BOOST_TEST(cost_of([&] {
                   reply_writer writer(out, version::resp3);
                   writer.ok();
                   writer.integer(12345);
                   writer.error({"ERR unknown command '", "foo", "'"});
                   writer.number(1.5);
                   write_command(out, "SET", "key", "value", "PX", 30000);
               }).allocations == 0u);
}

BOOST_AUTO_TEST_CASE(short_replies_of_masters_cost_no_allocation) {
    reply_parser parser;
    BOOST_TEST(cost_of([&] {
                   parser.parse("+OK\r\n");
                   parser.take();
                   parser.parse(":1\r\n");
                   parser.take();
               }).allocations == 0u);
}
