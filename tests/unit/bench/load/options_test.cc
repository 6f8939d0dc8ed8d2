#include "bench/load/options.hh"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace lockkeeper::bench;
using namespace std::chrono_literals;

namespace {

using words = std::vector<const char*>;

load_options good(words arguments) {
    arguments.insert(arguments.begin(), {"--server", "127.0.0.1:6379"});
    const auto options = parse_options(arguments);
    BOOST_REQUIRE_MESSAGE(options.has_value(), options.error());
    return *options;
}

/// What it says to a command line with a server and `arguments`.
std::string complaint(words arguments) {
    arguments.insert(arguments.begin(), {"--server", "127.0.0.1:6379"});
    const auto options = parse_options(arguments);
    return options ? "" : options.error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_is_all_that_must_be_said) {
    const load_options options = good({});
    BOOST_TEST(options.servers.size() == 1u);
    BOOST_TEST((options.protocol == protocol_kind::set_nx));
    BOOST_TEST((options.mode == load_mode::uncontended));
    BOOST_TEST(options.masters.size() == 1u, "commands are counted where the load goes");
}

BOOST_AUTO_TEST_CASE(a_value_follows_its_option_or_an_equals_sign) {
    BOOST_TEST(good({"--clients", "7"}).clients == 7u);
    BOOST_TEST(good({"--clients=7"}).clients == 7u);
}

BOOST_AUTO_TEST_CASE(every_option_is_understood) {
    const load_options options = good({"--protocol",
                                       "native",
                                       "--mode",
                                       "zipf",
                                       "--keys",
                                       "50",
                                       "--zipf",
                                       "1.2",
                                       "--hold",
                                       "500us",
                                       "--think",
                                       "1ms",
                                       "--idle",
                                       "10",
                                       "--ttl",
                                       "10s",
                                       "--retry",
                                       "random:0-100ms",
                                       "--duration",
                                       "2s",
                                       "--warmup",
                                       "0",
                                       "--drain",
                                       "1s",
                                       "--threads",
                                       "2",
                                       "--cpus",
                                       "0,1",
                                       "--spin",
                                       "50us",
                                       "--sources",
                                       "4",
                                       "--server-pid",
                                       "1",
                                       "--master",
                                       "127.0.0.1:1",
                                       "--starved-after",
                                       "3s",
                                       "--label",
                                       "x",
                                       "--verify",
                                       "--key-prefix",
                                       "a:",
                                       "--seed",
                                       "9"});
    BOOST_TEST((options.protocol == protocol_kind::native));
    BOOST_TEST((options.mode == load_mode::zipf));
    BOOST_TEST(options.zipf_exponent == 1.2);
    BOOST_TEST((options.hold == 500us));
    BOOST_TEST((options.think == 1ms));
    BOOST_TEST((options.retry == retry_strategy{retry_strategy::kind::random, 0ms, 100ms}));
    BOOST_TEST(options.cpus == std::vector<std::uint32_t>({0, 1}));
    BOOST_TEST(options.masters.front().text == "127.0.0.1:1");
    BOOST_TEST(options.verify);
    BOOST_TEST((options.seed == 9u));
}

BOOST_AUTO_TEST_CASE(each_mistake_is_one_line_that_names_the_option) {
    BOOST_TEST(complaint({"--clints", "1"}) == "unknown option '--clints'; see --help");
    BOOST_TEST(complaint({"clients"}) == "unknown option 'clients'; see --help");
    BOOST_TEST(complaint({""}) == "unknown option ''; see --help");
    BOOST_TEST(complaint({"--clients"}) == "--clients needs a value: N");
    BOOST_TEST(complaint({"--verify=yes"}) == "--verify takes no value");
    BOOST_TEST(complaint({"--clients", "0"}) == "--clients: '0' is not a number from 1 to 1000000");
    BOOST_TEST(complaint({"--clients", "1000001"}).starts_with("--clients: "));
    BOOST_TEST(complaint({"--clients", "ten"}).starts_with("--clients: "));
    BOOST_TEST(complaint({"--hold", "10"}).starts_with("--hold: '10' is not a time"));
    BOOST_TEST(complaint({"--ttl", "0"}) == "--ttl: '0' is less than 1ms");
    BOOST_TEST(complaint({"--retry", "often"}).starts_with("--retry: 'often' is not like"));
    BOOST_TEST(complaint({"--mode", "warm"}) ==
               "--mode: 'warm' is none of uncontended, hot, zipf, spread, once, renew");
    BOOST_TEST(complaint({"--cpus", "0,,1"}).starts_with("--cpus: "));
    BOOST_TEST(complaint({"--zipf", "nan"}).starts_with("--zipf: "));
    BOOST_TEST(complaint({"--server", "nowhere"}) == "--server: 'nowhere' is not HOST:PORT");
    BOOST_TEST(complaint({"--key-prefix", "123456789012345678901234567890123"})
                   .starts_with("--key-prefix: "));
}

BOOST_AUTO_TEST_CASE(the_bounds_of_a_number_belong_to_it) {
    BOOST_TEST(good({"--clients", "1"}).clients == 1u);
    BOOST_TEST(good({"--clients", "1000000"}).clients == 1'000'000u);
    BOOST_TEST(good({"--key-prefix", "12345678901234567890123456789012"}).key_prefix.size() == 32u);
}

BOOST_AUTO_TEST_CASE(without_a_server_there_is_nothing_to_load) {
    const auto options = parse_options({});
    BOOST_REQUIRE(!options);
    BOOST_TEST(options.error().starts_with("--server is missing"));
}

BOOST_AUTO_TEST_CASE(another_machine_is_refused_unless_allowed) {
    for (const char* option : {"--server", "--master"}) {
        const words arguments{"--protocol",  "redlock", "--server",
                              "127.0.0.1:2", option,    "192.0.2.1:6379"};
        BOOST_TEST(complaint(arguments).starts_with("192.0.2.1:6379 is not an address"));
    }
    BOOST_TEST(good({"--master", "192.0.2.1:6379", "--allow-remote"}).masters.size() == 1u);
    BOOST_TEST(good({"--allow-remote", "--master", "192.0.2.1:6379"}).masters.size() == 1u);
}

BOOST_AUTO_TEST_CASE(options_that_contradict_each_other_are_refused) {
    BOOST_TEST(complaint({"--server", "127.0.0.1:2", "--protocol", "blpop"}) ==
               "--protocol blpop takes one --server: its lists are in one place");
    BOOST_TEST(complaint({"--server", "127.0.0.1:2", "--protocol", "redlock"})
                   .starts_with("--protocol redlock needs an odd number"));
    BOOST_TEST(complaint({"--depth", "2", "--mode", "hot"}).starts_with("--depth is for"));
    BOOST_TEST(complaint({"--protocol", "blpop", "--mode", "renew"}).starts_with("--mode renew"));
    BOOST_TEST(complaint({"--mode", "once", "--clients", "1"}).starts_with("--mode once"));
    BOOST_TEST(complaint({"--ttl", "1500us"}).starts_with("--ttl is not a whole number"));
}

BOOST_AUTO_TEST_CASE(help_names_every_protocol_and_mode_and_needs_no_server) {
    const auto options = parse_options(words{"--help"});
    BOOST_REQUIRE(options.has_value());
    BOOST_TEST(options->help);
    const std::string help = help_text();
    for (const char* word : {"native", "set-nx", "blpop", "redlock", "uncontended", "hot", "zipf",
                             "spread", "once", "renew", "--allow-remote", "--verify"}) {
        BOOST_TEST(help.contains(word), word);
    }
}
