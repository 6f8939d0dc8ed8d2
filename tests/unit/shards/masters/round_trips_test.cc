#include "shards/masters/round_trips.hh"

#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(nothing_is_known_at_first) {
    const round_trips none;
    BOOST_TEST(none.count() == 0u);
    BOOST_TEST((none.smoothed() == 0ns));
    BOOST_TEST((none.within(0.99) == 0us));
}

BOOST_AUTO_TEST_CASE(the_first_answer_is_the_figure_and_later_ones_move_it) {
    round_trips answers;
    answers.record(800us);
    BOOST_TEST((answers.smoothed() == 800us));
    answers.record(1600us);
    BOOST_TEST((answers.smoothed() == 900us));
    for (int i = 0; i < 200; ++i) {
        answers.record(100us);
    }
    BOOST_TEST((answers.smoothed() < 101us));
    BOOST_TEST((answers.smoothed() >= 100us));
}

BOOST_AUTO_TEST_CASE(a_share_of_the_answers_lies_within_a_power_of_two) {
    round_trips answers;
    for (int i = 0; i < 99; ++i) {
        answers.record(100us);
    }
    answers.record(40ms);
    BOOST_TEST((answers.within(0.5) == 128us));
    BOOST_TEST((answers.within(0.99) == 128us));
    BOOST_TEST((answers.within(1) == 65536us));
    BOOST_TEST(answers.count() == 100u);
}

BOOST_AUTO_TEST_CASE(every_answer_has_a_bucket) {
    round_trips answers;
    answers.record(-5ns);
    answers.record(0ns);
    answers.record(999ns);
    answers.record(1us);
    answers.record(std::chrono::hours(24));
    const auto& buckets = answers.histogram();
    BOOST_TEST(buckets.front() == 3u);
    BOOST_TEST(buckets[1] == 1u);
    BOOST_TEST(buckets.back() == 1u);
    BOOST_TEST(std::accumulate(buckets.begin(), buckets.end(), uint64_t{0}) == answers.count());
}
