#include "shards/core/poll_pauses.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr instant start = start_of_time + 1000s;

}  // namespace

BOOST_AUTO_TEST_CASE(who_was_never_refused_twice_is_not_known) {
    poll_pauses known;
    BOOST_TEST(known.empty());
    BOOST_TEST(!known.tries(1, start));
}

BOOST_AUTO_TEST_CASE(who_polls_has_done_so_since_its_first_attempt) {
    poll_pauses known;
    known.note({.token = 1, .pause = 100ms}, start);
    BOOST_TEST((known.tries(1, start + 100ms) == start - 100ms));
    known.note({.token = 1, .pause = 120ms}, start + 100ms);
    BOOST_TEST((known.tries(1, start + 200ms) == start - 100ms));
    BOOST_TEST(!known.tries(2, start + 200ms));
}

BOOST_AUTO_TEST_CASE(each_try_counts_as_a_sign_of_it) {
    poll_pauses known;
    known.note({.token = 1, .pause = 100ms}, start);
    for (int second = 1; second < 60; ++second) {
        BOOST_TEST(known.tries(1, start + second * 1s).has_value());
    }
}

BOOST_AUTO_TEST_CASE(who_stays_away_for_long_begins_anew) {
    poll_pauses known;
    known.note({.token = 1, .pause = 100ms}, start);
    BOOST_TEST(!known.tries(1, start + 1'601ms));
    BOOST_TEST(known.empty());
    known.note({.token = 1, .pause = 100ms}, start);
    known.note({.token = 1, .pause = 200ms}, start + 10s);
    BOOST_TEST((known.tries(1, start + 10s) == start + 9'800ms));
}

BOOST_AUTO_TEST_CASE(who_has_it_is_forgotten) {
    poll_pauses known;
    known.note({.token = 1, .pause = 100ms}, start);
    known.forget(1);
    known.forget(2);
    BOOST_TEST(!known.tries(1, start));
}

BOOST_AUTO_TEST_CASE(they_do_not_grow_without_end) {
    poll_pauses known(100);
    for (uint64_t i = 0; i < 1000; ++i) {
        known.note({.token = i, .pause = 100ms}, start);
    }
    BOOST_TEST(known.size() == 100u);
    // Those who have gone make room.
    known.note({.token = 5'000, .pause = 100ms}, start + 10s);
    BOOST_TEST(known.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_crowd_that_came_at_once_is_not_sent_away_at_once) {
    std::chrono::nanoseconds least = 50ms;
    std::chrono::nanoseconds most = 0ms;
    for (uint64_t token = 0; token < 1000; ++token) {
        const auto held = held_back_for(50ms, token * 0x123456789abcdef1, start);
        least = std::min(least, held);
        most = std::max(most, held);
    }
    BOOST_TEST((least >= 25ms && least < 27ms));
    BOOST_TEST((most <= 50ms && most > 48ms));
    BOOST_TEST((held_back_for(1ms, 7, start) >= 500us));
    BOOST_TEST((held_back_for(0ms, 7, start) == 0ms));
}

BOOST_AUTO_TEST_CASE(the_same_client_is_held_back_for_another_time_at_its_next_try) {
    BOOST_TEST((held_back_for(50ms, 7, start) != held_back_for(50ms, 7, start + 250ms)));
}
