#include "shards/core/lease_horizon.hh"

#include <boost/test/unit_test.hpp>
#include <random>

#include "fleet_support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(the_first_lease_is_marked_before_it_is_asked_for) {
    lease_horizon horizon(10min);
    const auto mark = horizon.mark_for(10s, start);
    BOOST_REQUIRE(mark);
    BOOST_TEST((*mark >= 10s));
    BOOST_TEST(horizon.covered_until() >= after(10s));
}

BOOST_AUTO_TEST_CASE(many_leases_of_one_length_need_one_mark_in_a_while) {
    lease_horizon horizon(10min);
    int marks = 0;
    for (int i = 0; i < 60'000; ++i) {
        marks += horizon.mark_for(10s, after(i * 1ms)) ? 1 : 0;
    }
    BOOST_TEST(marks <= 13);  // one every five seconds
    BOOST_TEST(marks >= 12);
}

BOOST_AUTO_TEST_CASE(a_longer_lease_is_marked_at_once_and_shorter_ones_are_covered_by_it) {
    lease_horizon horizon(10min);
    horizon.mark_for(10s, start);
    BOOST_TEST(horizon.mark_for(60s, start).has_value());
    BOOST_TEST(!horizon.mark_for(10s, after(45s)).has_value());
}

BOOST_AUTO_TEST_CASE(a_mark_on_a_faster_clock_still_outlives_every_lease) {
    std::mt19937_64 random(7);
    for (int run = 0; run < 200; ++run) {
        lease_horizon horizon(10min);
        instant now = start;
        instant mark_ends = start_of_time;  // on our clock
        for (int i = 0; i < 300; ++i) {
            now = now + std::chrono::milliseconds(random() % 400);
            const auto lease = std::chrono::milliseconds(1 + random() % 30'000);
            if (const auto mark = horizon.mark_for(lease, now)) {
                // It arrives after a while, on a master whose clock is 0.99 % faster than ours.
                const instant set = now + std::chrono::microseconds(random() % 2'000);
                const auto lasts = std::chrono::nanoseconds(*mark) * 10'000 / 10'099;
                mark_ends = std::max(mark_ends, set + lasts);
            }
            BOOST_REQUIRE(now + lease <= mark_ends);
        }
    }
}

BOOST_AUTO_TEST_CASE(marks_do_not_go_much_beyond_the_longest_lease) {
    lease_horizon horizon(10min);
    BOOST_TEST((*horizon.mark_for(10min, start) <= 607s));
}
