#include "shards/core/seats.hh"

#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr lock_policy barging{.pollers = poller_rule::barge, .starvation_after = 100ms};
constexpr lock_policy reserving{.pollers = poller_rule::reserve};

/// `times` questions, `pause` apart. Returns the moment of the last one.
instant ask(seats& all, caller who, instant from, int times,
            std::chrono::milliseconds pause = 10ms) {
    instant now = from;
    for (int i = 0; i < times; ++i) {
        now = from + i * pause;
        all.asked(who, now);
    }
    return now;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_token_has_one_seat_over_all_connections) {
    seats all;
    all.asked({.client = 1, .token = 7}, start);
    all.asked({.client = 2, .token = 7}, start + 10ms);
    BOOST_TEST(all.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_connection_whose_tokens_change_has_one_seat) {
    seats all;
    for (uint64_t token = 100; token < 110; ++token) {
        all.asked({.client = 1, .token = token}, start + 10ms * (token - 100));
    }
    BOOST_TEST(all.size() == 1U);
    BOOST_TEST((all.oldest() == start));
}

BOOST_AUTO_TEST_CASE(two_clients_that_share_a_connection_have_a_seat_each) {
    seats all;
    for (int i = 0; i < 4; ++i) {
        all.asked({.client = 1, .token = 7}, start + 20ms * i);
        all.asked({.client = 1, .token = 8}, start + 20ms * i + 10ms);
    }
    BOOST_TEST(all.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_lasting_token_keeps_its_seat_when_its_connection_brings_another) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 3);
    all.asked({.client = 1, .token = 8}, start + 40ms);
    BOOST_TEST(all.size() == 2U);
}

BOOST_AUTO_TEST_CASE(who_waits_in_line_gives_up_its_seat_and_takes_its_time_along) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 3);
    ask(all, {.client = 2, .token = 8}, start + 50ms, 3);
    BOOST_TEST((all.stand_up({.client = 5, .token = 7}) == start));
    BOOST_TEST(!all.stand_up({.client = 5, .token = 7}));
    BOOST_TEST((all.oldest() == start + 50ms));
    BOOST_TEST(all.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_seat_is_used_up_by_a_grant) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 3);
    all.took({.client = 9, .token = 7});
    BOOST_TEST(all.empty());
    all.asked({.client = 1, .token = 70}, start + 50ms);
    all.took({.client = 1, .token = 71});
    BOOST_TEST(all.empty());
    all.took({.client = 1, .token = 72});
}

BOOST_AUTO_TEST_CASE(who_asked_once_is_gone_after_a_while) {
    seats all;
    all.asked({.client = 1, .token = 7}, start);
    all.sweep(start + 5s);
    BOOST_TEST(all.size() == 1U);
    all.sweep(start + 5s + 1ns);
    BOOST_TEST(all.empty());
    BOOST_TEST((all.oldest() == end_of_time));
}

BOOST_AUTO_TEST_CASE(who_is_silent_for_several_of_its_pauses_is_gone) {
    seats all;
    const instant last = ask(all, {.client = 1, .token = 7}, start, 5, 100ms);
    all.sweep(last + 650ms);
    BOOST_TEST(all.size() == 1U);
    all.sweep(last + 650ms + 1ns);
    BOOST_TEST(all.empty());
}

BOOST_AUTO_TEST_CASE(who_gave_up_is_gone_sooner) {
    seats all;
    const instant last = ask(all, {.client = 1, .token = 7}, start, 5, 100ms);
    BOOST_TEST(all.gave_up(7));
    all.sweep(last + 350ms + 1ns);
    BOOST_TEST(all.empty());
    BOOST_TEST(!all.gave_up(7));
}

BOOST_AUTO_TEST_CASE(nothing_is_reserved_for_somebody_who_asked_once) {
    seats all;
    all.asked({.client = 1, .token = 7}, start);
    BOOST_TEST(!all.reserve(reserving, start + 1s).has_value());
    BOOST_TEST(!all.reserve(barging, start + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(a_reservation_lasts_for_two_pauses_within_bounds) {
    for (const auto& [pause, kept] :
         {std::pair(1us, 2ms), std::pair(20'000us, 40ms), std::pair(3'000'000us, 2'000ms)}) {
        seats all;
        all.asked({.client = 1, .token = 7}, start);
        all.asked({.client = 1, .token = 7}, start + pause);
        const auto reserved = all.reserve(reserving, start + pause);
        BOOST_REQUIRE(reserved.has_value());
        BOOST_TEST((reserved->until == start + pause + kept));
    }
}

BOOST_AUTO_TEST_CASE(a_pause_is_a_moving_mean) {
    seats all;
    all.asked({.client = 1, .token = 7}, start);
    all.asked({.client = 1, .token = 7}, start + 100ms);
    all.asked({.client = 1, .token = 7}, start + 120ms);
    all.for_each([](const seats::view& one) { BOOST_TEST((one.pause == 80ms)); });
}

BOOST_AUTO_TEST_CASE(the_first_who_came_is_the_one_it_is_reserved_for) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start + 1ms, 3);
    ask(all, {.client = 2, .token = 8}, start, 3);
    const auto reserved = all.reserve(reserving, start + 25ms);
    BOOST_TEST((reserved->token == 8U));
    BOOST_TEST(all.is_for(*reserved, reserving, {.client = 2, .token = 8}, start + 25ms));
    BOOST_TEST(!all.is_for(*reserved, reserving, {.client = 1, .token = 7}, start + 25ms));
    BOOST_TEST(!all.is_for(*reserved, reserving, {.client = 3, .token = 9}, start + 25ms));
}

BOOST_AUTO_TEST_CASE(who_gave_up_or_has_gone_is_passed_over) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 3);
    ask(all, {.client = 2, .token = 8}, start + 1ms, 3);
    ask(all, {.client = 3, .token = 9}, start + 2ms, 40);
    all.gave_up(7);
    BOOST_TEST((all.reserve(reserving, start + 25ms)->token == 8U));
    BOOST_TEST((all.reserve(reserving, start + 300ms)->token == 9U));
}

BOOST_AUTO_TEST_CASE(barging_reserves_for_nobody_before_somebody_starves) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 10);
    BOOST_TEST(!all.reserve(barging, start + 100ms - 1ns).has_value());
    BOOST_TEST(all.reserve(barging, start + 100ms).has_value());
}

BOOST_AUTO_TEST_CASE(barging_reserves_for_those_who_came_first) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 40);
    ask(all, {.client = 2, .token = 8}, start + 50ms, 35);
    ask(all, {.client = 3, .token = 9}, start + 150ms, 25);
    const instant now = start + 390ms;
    const auto reserved = all.reserve(barging, now);
    BOOST_REQUIRE(reserved.has_value());
    BOOST_TEST(all.is_for(*reserved, barging, {.client = 1, .token = 7}, now));
    BOOST_TEST(all.is_for(*reserved, barging, {.client = 2, .token = 8}, now));
    BOOST_TEST(!all.is_for(*reserved, barging, {.client = 3, .token = 9}, now));
    all.took({.client = 1, .token = 7});
    all.took({.client = 2, .token = 8});
    BOOST_TEST(all.is_for(*all.reserve(barging, now), barging, {.client = 3, .token = 9}, now));
}

BOOST_AUTO_TEST_CASE(a_crowd_is_remembered_up_to_a_limit) {
    seats all;
    for (uint64_t i = 0; i < 10'001; ++i) {
        all.asked({.client = i + 1, .token = i}, start);
    }
    BOOST_TEST(all.size() == 10'000U);
}

BOOST_AUTO_TEST_CASE(who_does_not_come_when_it_is_kept_for_them_goes_to_the_end) {
    seats all;
    const instant gone = ask(all, {.client = 1, .token = 7}, start, 3);
    const instant now = ask(all, {.client = 2, .token = 8}, start + 5ms, 10);
    const auto first = all.reserve(reserving, gone);
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST((first->token == 7U));
    all.missed(*first, reserving, now);
    const auto second = all.reserve(reserving, now);
    BOOST_REQUIRE(second.has_value());
    BOOST_TEST((second->token == 8U));
}

BOOST_AUTO_TEST_CASE(who_starves_and_has_gone_does_not_keep_it_from_the_others) {
    seats all;
    ask(all, {.client = 1, .token = 7}, start, 12);
    const instant now = start + 131ms;
    const auto kept = all.reserve(barging, now);
    BOOST_REQUIRE(kept.has_value());
    all.missed(*kept, barging, now + 20ms);
    BOOST_TEST(!all.reserve(barging, now + 20ms).has_value());
}

BOOST_AUTO_TEST_CASE(who_had_no_time_to_come_keeps_its_place) {
    seats all;
    const instant slow = ask(all, {.client = 1, .token = 7}, start, 3, 100ms);
    ask(all, {.client = 2, .token = 8}, start, 21, 10ms);
    const auto kept = all.reserve(barging, slow);
    BOOST_REQUIRE(kept.has_value());
    BOOST_TEST((kept->until == slow + 20ms));
    all.missed(*kept, barging, kept->until);
    BOOST_TEST((all.oldest() == start));
    const auto again = all.reserve(barging, kept->until);
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST((again->until == kept->until + 200ms));
}
