#include "shards/core/lease_counters.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(no_rounds_took_no_time) {
    BOOST_TEST(lease_counters{}.round_us(500) == 0U);
}

BOOST_AUTO_TEST_CASE(times_are_told_to_the_power_of_two_above) {
    lease_counters counted;
    for (int i = 0; i < 98; ++i) {
        counted.count_won(100us);
    }
    counted.count_won(5ms);
    counted.count_won(5ms);
    BOOST_TEST(counted.round_us(500) == 127U);
    BOOST_TEST(counted.round_us(980) == 127U);
    BOOST_TEST(counted.round_us(990) == 8191U);
    BOOST_TEST(counted.round_us(1000) == 8191U);
}

BOOST_AUTO_TEST_CASE(extremes_are_counted) {
    lease_counters counted;
    counted.count_won(-1ns);
    BOOST_TEST(counted.round_us(1000) == 0U);
    counted.count_won(1000h);
    BOOST_TEST(counted.won == 2U);
    BOOST_TEST(counted.round_us(1000) >= 2'000'000'000U);
}

BOOST_AUTO_TEST_CASE(cores_are_added_up) {
    lease_counters one;
    one.count_won(1us);
    lease_counters other{.elsewhere = 2, .unreachable = 3, .lost = 4};
    other.count_won(1ms);
    one += other;
    BOOST_TEST(one.won == 2U);
    BOOST_TEST(one.elsewhere == 2U);
    BOOST_TEST(one.unreachable == 3U);
    BOOST_TEST(one.lost == 4U);
    BOOST_TEST(one.round_us(1000) == 1023U);
}

BOOST_AUTO_TEST_CASE(the_shortest_of_all_counts) {
    lease_survey all;
    all += {.held = 1, .bare = 1, .shortest = 5ms};
    all += {.held = 2, .bare = 0, .shortest = std::nullopt};
    all += {.held = 3, .bare = 1, .shortest = 3ms};
    BOOST_TEST(all.held == 6U);
    BOOST_TEST(all.bare == 2U);
    BOOST_TEST((all.shortest == 3ms));
}
