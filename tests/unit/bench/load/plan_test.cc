#include "bench/load/plan.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace lockkeeper::bench;
using namespace std::chrono_literals;

namespace {

load_plan planned(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"--server", "127.0.0.1:1", "--seed", "48879"});
    auto options = parse_options(arguments);
    BOOST_REQUIRE_MESSAGE(options.has_value(), options.error());
    return load_plan(*std::move(options));
}

std::string key(const load_plan& plan, std::uint32_t number) {
    char text[load_plan::key_bytes_max];
    return {text, plan.write_key(text, number)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(names_of_keys_have_one_length_and_the_seed_in_them) {
    const load_plan plan = planned({});
    BOOST_TEST(key(plan, 0) == "lock:beef:00000000");
    BOOST_TEST(key(plan, 12'345'678) == "lock:beef:12345678");
}

BOOST_AUTO_TEST_CASE(the_longest_prefix_still_fits) {
    const load_plan plan = planned({"--key-prefix", "12345678901234567890123456789012"});
    BOOST_TEST(key(plan, 1).size() == load_plan::key_bytes_max);
}

BOOST_AUTO_TEST_CASE(a_mode_decides_how_many_keys_there_are) {
    BOOST_TEST(planned({"--clients", "7", "--depth", "3"}).keys == 21u);
    BOOST_TEST(planned({"--mode", "hot"}).keys == 1u);
    BOOST_TEST(planned({"--mode", "once"}).keys == 1u);
    BOOST_TEST(planned({"--mode", "spread", "--keys", "9"}).keys == 9u);
    BOOST_TEST(planned({"--mode", "zipf", "--keys", "9"}).keys == 9u);
}

BOOST_AUTO_TEST_CASE(a_majority_is_more_than_half_of_the_masters) {
    BOOST_TEST(planned({}).votes_needed == 1u);
    const load_plan three =
        planned({"--protocol", "redlock", "--server", "127.0.0.1:2", "--server", "127.0.0.1:3"});
    BOOST_TEST(three.masters == 3u);
    BOOST_TEST(three.votes_needed == 2u);
}

BOOST_AUTO_TEST_CASE(each_protocol_has_its_usual_pause) {
    BOOST_TEST(to_text(planned({}).retry) == "fixed:10ms");
    BOOST_TEST(to_text(planned({"--protocol", "redlock"}).retry) == "random:0-100ms");
    BOOST_TEST(to_text(planned({"--protocol", "redlock", "--retry", "fixed:1ms"}).retry) ==
               "fixed:1ms");
}

BOOST_AUTO_TEST_CASE(a_token_has_no_lease_that_could_end_in_a_run) {
    BOOST_TEST((planned({"--protocol", "blpop"}).lease == 24h));
    BOOST_TEST((planned({"--ttl", "5s"}).lease == 5s));
}
