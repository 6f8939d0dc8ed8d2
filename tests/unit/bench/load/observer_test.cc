#include "bench/load/observer.hh"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::bench;

namespace {

constexpr std::string_view info =
    "# Commandstats\r\n"
    "cmdstat_set:calls=12,usec=40,usec_per_call=3.33,rejected_calls=0,failed_calls=0\r\n"
    "cmdstat_config|get:calls=1,usec=5,usec_per_call=5.00,rejected_calls=0,failed_calls=0\r\n"
    "blocked_clients:3\r\n"
    "maxblocked_clients:7";

}  // namespace

BOOST_AUTO_TEST_CASE(calls_are_told_by_command) {
    const auto calls = parse_command_calls(info);
    BOOST_TEST(calls.size() == 2u);
    BOOST_TEST(calls.at("set") == 12u);
    BOOST_TEST(calls.at("config|get") == 1u);
    BOOST_TEST(parse_command_calls("").empty());
}

BOOST_AUTO_TEST_CASE(a_last_line_without_an_end_is_whole) {
    BOOST_TEST(parse_command_calls("cmdstat_get:calls=123").at("get") == 123u);
}

BOOST_AUTO_TEST_CASE(a_number_is_found_by_its_whole_name) {
    BOOST_TEST((parse_info_number(info, "blocked_clients") == 3u));
    BOOST_TEST((parse_info_number(info, "maxblocked_clients") == 7u));
    BOOST_TEST(!parse_info_number(info, "clients"));
    BOOST_TEST(!parse_info_number(info, "absent"));
}

BOOST_AUTO_TEST_CASE(cpu_time_of_a_process_grows_while_it_works) {
    const auto before = cpu_time_of(::getpid());
    BOOST_REQUIRE(before.has_value());
    while (own_cpu_time() < *before + std::chrono::milliseconds(30)) {
    }
    BOOST_TEST((*cpu_time_of(::getpid()) > *before));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_not_there_has_no_cpu_time) {
    BOOST_TEST(!cpu_time_of(0x7fffffff));
}
