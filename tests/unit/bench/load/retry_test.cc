#include "bench/load/retry.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace lockkeeper::bench;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

retry_strategy strategy(const char* text) {
    const auto parsed = parse_retry(text);
    BOOST_REQUIRE_MESSAGE(parsed.has_value(), text);
    return *parsed;
}

/// The shortest and the longest of many pauses after the same number of refusals.
std::pair<nanoseconds, nanoseconds> range(const retry_strategy& what, std::uint32_t refusals) {
    random_source random(5);
    nanoseconds shortest = nanoseconds::max();
    nanoseconds longest{};
    for (int i = 0; i != 10'000; ++i) {
        const nanoseconds pause = what.pause(refusals, random);
        shortest = std::min(shortest, pause);
        longest = std::max(longest, pause);
    }
    return {shortest, longest};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_fixed_pause_is_always_the_same) {
    const auto [shortest, longest] = range(strategy("fixed:10ms"), 3);
    BOOST_TEST((shortest == 10ms));
    BOOST_TEST((longest == 10ms));
}

BOOST_AUTO_TEST_CASE(a_random_pause_fills_its_range_and_stays_within) {
    const auto [shortest, longest] = range(strategy("random:10ms-20ms"), 9);
    BOOST_TEST((shortest >= 10ms));
    BOOST_TEST((shortest < 10100us));
    BOOST_TEST((longest <= 20ms));
    BOOST_TEST((longest > 19900us));
}

BOOST_AUTO_TEST_CASE(an_exponential_pause_doubles_up_to_its_limit) {
    const retry_strategy doubling = strategy("exponential:1ms-64ms");
    nanoseconds whole = 1ms;
    for (std::uint32_t refusals = 1; refusals != 12; ++refusals) {
        const auto [shortest, longest] = range(doubling, refusals);
        BOOST_TEST((shortest >= whole / 2));
        BOOST_TEST((longest <= whole));
        BOOST_TEST((longest > whole * 9 / 10), "after " << refusals << " refusals");
        whole = std::min<nanoseconds>(whole * 2, 64ms);
    }
}

BOOST_AUTO_TEST_CASE(a_thousand_million_refusals_do_not_overflow) {
    random_source random(1);
    BOOST_TEST((strategy("exponential:1ms-64ms").pause(UINT32_MAX, random) <= 64ms));
}

BOOST_AUTO_TEST_CASE(text_and_strategy_are_the_same) {
    for (const char* text : {"fixed:10ms", "fixed:0", "random:0-100ms", "exponential:1ms-64ms"}) {
        BOOST_TEST(to_text(strategy(text)) == text);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_strategy_is_nothing) {
    for (const char* text :
         {"", "fixed", "fixed:", "fixed:10", "fixed:1ms-2ms", "random:10ms", "random:2ms-1ms",
          "random:-", "often:1ms", "exponential:0-10ms", "exponential:1ms"}) {
        BOOST_TEST(!parse_retry(text), "'" << text << "'");
    }
}
