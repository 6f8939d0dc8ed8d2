#include "lock_desk.hh"

/// Clients that wait by asking again and again, and clients that send a SET NX twice.
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr lock_policy barging{.pollers = poller_rule::barge, .starvation_after = 100ms};
constexpr lock_policy reserving{.pollers = poller_rule::reserve};

/// Asks every `pause` from `from` to `to` and is refused.
void poll(lock_desk& desk, std::string_view token, uint64_t client, instant from, instant to,
          std::chrono::milliseconds pause = 20ms) {
    for (instant now = from; now <= to; now = now + pause) {
        BOOST_TEST_CONTEXT("at +" << (now - start).count() / 1'000'000 << " ms") {
            BOOST_REQUIRE(!desk.set_nx("k", token, client, now));
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(barge)

BOOST_AUTO_TEST_CASE(whoever_asks_at_the_right_moment_wins) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 60ms);
    desk.unset("k", "holder", start + 61ms);
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 62ms));
}

BOOST_AUTO_TEST_CASE(a_starved_one_is_preferred_to_those_who_come_later) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 120ms);
    desk.unset("k", "holder", start + 121ms);
    BOOST_TEST(desk.table.counted().reservations == 1U);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 122ms));
    BOOST_TEST(!desk.take("k", "c", {.client = 4}, start + 123ms).has_value());
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 140ms));
}

BOOST_AUTO_TEST_CASE(it_is_kept_for_twice_the_pause_and_no_longer) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 120ms);
    desk.unset("k", "holder", start + 121ms);
    BOOST_TEST((desk.table.next_due() == start + 161ms));
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 161ms - 1ns));
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 161ms));
}

BOOST_AUTO_TEST_CASE(a_starved_one_is_served_before_those_who_wait_and_came_later) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 60ms);
    place waiting("waiting", {.client = 3});
    desk.wait(waiting, "k", start + 61ms);
    poll(desk, "a", 2, start + 80ms, start + 120ms);
    desk.unset("k", "holder", start + 121ms);
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 140ms));
    desk.check();
    desk.unset("k", "a", start + 150ms);
    BOOST_TEST(desk.ended() == "waiting granted");
}

BOOST_AUTO_TEST_CASE(who_waits_gets_it_if_the_starved_one_does_not_come) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 60ms);
    place waiting("waiting", {.client = 3});
    desk.wait(waiting, "k", start + 61ms);
    poll(desk, "a", 2, start + 80ms, start + 120ms);
    desk.unset("k", "holder", start + 121ms);
    desk.advance(start + 161ms);
    BOOST_TEST(desk.ended() == "waiting granted");
}

BOOST_AUTO_TEST_CASE(who_waited_before_the_poller_came_is_served_before_it) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    place waiting("waiting", {.client = 3});
    desk.wait(waiting, "k");
    poll(desk, "a", 2, start + 1ms, start + 121ms);
    desk.unset("k", "holder", start + 130ms);
    BOOST_TEST(desk.ended() == "waiting granted");
}

BOOST_AUTO_TEST_CASE(a_slow_poller_is_not_starved_by_quick_ones_that_starve_too) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    // The slow one came first; then two quick ones have starved as well.
    poll(desk, "slow", 2, start, start + 200ms, 100ms);
    poll(desk, "quick", 3, start + 201ms, start + 221ms, 5ms);
    poll(desk, "rapid", 4, start + 201ms, start + 221ms, 5ms);
    poll(desk, "slow", 2, start + 300ms, start + 400ms, 100ms);
    desk.unset("k", "holder", start + 401ms);
    BOOST_TEST(!desk.set_nx("k", "quick", 3, start + 402ms));
    BOOST_TEST(!desk.set_nx("k", "rapid", 4, start + 403ms));
    BOOST_TEST(desk.set_nx("k", "slow", 2, start + 500ms));
}

BOOST_AUTO_TEST_CASE(of_those_who_starve_together_any_may_come_first_and_each_gets_its_turn) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 180ms);
    poll(desk, "b", 3, start + 10ms, start + 190ms);
    desk.unset("k", "holder", start + 195ms);
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 196ms));
    BOOST_TEST(!desk.set_nx("k", "a", 2, start + 200ms));
    desk.unset("k", "b", start + 201ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 202ms));
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 220ms));
}

BOOST_AUTO_TEST_CASE(a_native_client_that_asks_again_and_again_is_a_poller_too) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    for (instant now = start; now <= start + 120ms; now = now + 20ms) {
        BOOST_REQUIRE(!desk.take("k", "a", {.client = 2}, now).has_value());
    }
    desk.unset("k", "holder", start + 121ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 122ms));
    BOOST_TEST(desk.take("k", "a", {.client = 2}, start + 140ms).has_value());
}

BOOST_AUTO_TEST_CASE(who_does_not_ask_any_more_is_forgotten) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1, start, 1h);
    poll(desk, "a", 2, start, start + 120ms);
    desk.advance(start + 5s);
    BOOST_TEST(desk.table.line_of(key_of("k")) == nullptr);
    desk.unset("k", "holder", start + 6s);
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 6s));
}

BOOST_AUTO_TEST_CASE(who_was_served_in_line_begins_anew) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 120ms);
    place waiting("a", {.client = 2});
    desk.wait(waiting, "k", start + 121ms);
    desk.unset("k", "holder", start + 122ms);
    desk.advance(start + 162ms);
    BOOST_TEST(desk.ended() == "a granted");
    BOOST_TEST(!desk.set_nx("k", "a", 2, start + 163ms));
    desk.release("k", "a", start + 164ms);
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 165ms));
}

BOOST_AUTO_TEST_CASE(callers_without_a_connection_have_no_seat) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 0, start, start + 120ms);
    BOOST_TEST(desk.table.line_of(key_of("k")) == nullptr);
    BOOST_TEST(desk.table.counted().refusals == 7U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(reserve)

BOOST_AUTO_TEST_CASE(a_free_lock_is_kept_for_the_one_who_has_asked_the_longest) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 40ms);
    poll(desk, "b", 3, start + 10ms, start + 50ms);
    desk.unset("k", "holder", start + 51ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 52ms));
    BOOST_TEST(!desk.set_nx("k", "c", 4, start + 53ms));
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 60ms));
    desk.unset("k", "a", start + 70ms);
    BOOST_TEST(!desk.set_nx("k", "a", 2, start + 71ms));
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 72ms));
}

BOOST_AUTO_TEST_CASE(who_comes_with_a_new_token_each_time_is_known_by_its_connection) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    for (int i = 0; i < 4; ++i) {
        BOOST_TEST(!desk.set_nx("k", "a" + std::to_string(i), 2, start + 20ms * i));
    }
    desk.unset("k", "holder", start + 61ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 62ms));
    BOOST_TEST(desk.set_nx("k", "a4", 2, start + 80ms));
}

BOOST_AUTO_TEST_CASE(who_keeps_its_token_is_known_over_any_connection) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    for (int i = 0; i < 4; ++i) {
        BOOST_TEST(!desk.set_nx("k", "a", static_cast<uint64_t>(10 + i), start + 20ms * i));
    }
    desk.unset("k", "holder", start + 61ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 62ms));
    BOOST_TEST(desk.set_nx("k", "a", 99, start + 80ms));
}

BOOST_AUTO_TEST_CASE(a_release_of_what_one_does_not_hold_gives_the_place_up) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 40ms);
    poll(desk, "b", 3, start + 10ms, start + 50ms);
    desk.unset("k", "holder", start + 51ms);
    BOOST_TEST(!desk.unset("k", "a", start + 52ms));
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 53ms));
}

BOOST_AUTO_TEST_CASE(a_native_release_of_what_one_does_not_hold_does_so_too) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 40ms);
    poll(desk, "b", 3, start + 10ms, start + 50ms);
    BOOST_TEST(!desk.release("k", "a", start + 50ms).has_value());
    desk.unset("k", "holder", start + 51ms);
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 53ms));
}

BOOST_AUTO_TEST_CASE(who_releases_after_every_attempt_keeps_its_place) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(!desk.set_nx("k", "a", 2, start + 20ms * i));
        BOOST_TEST(!desk.unset("k", "a", start + 20ms * i + 1ms));
    }
    poll(desk, "b", 3, start + 45ms, start + 55ms, 5ms);
    desk.unset("k", "holder", start + 56ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 57ms));
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 60ms));
}

BOOST_AUTO_TEST_CASE(a_hash_lock_taken_by_the_one_it_was_kept_for_uses_the_place_up) {
    lock_desk desk(reserving);
    desk.set_nx("k", "holder", 1);
    for (int i = 0; i < 3; ++i) {
        desk.latest = start + 20ms * i;
        desk.table.was_refused(key_of("k"), 2, "redisson", desk.latest);
    }
    desk.unset("k", "holder", start + 50ms);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 51ms));
    BOOST_TEST(desk.table.may_take(key_of("k"), 2, "redisson", start + 52ms));
    desk.table.acquire({.key = key_of("k"), .owner = "redisson"}, start + 52ms).value();
    desk.table.release({.key = key_of("k"), .owner = "redisson"}, start + 53ms).value();
    desk.table.settle(start + 53ms);
    BOOST_TEST(desk.set_nx("k", "b", 3, start + 54ms));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sent_twice)

BOOST_AUTO_TEST_CASE(the_holder_itself_is_refused_as_in_redis) {
    lock_desk desk;
    desk.set_nx("k", "a", 1);
    BOOST_TEST(!desk.set_nx("k", "a", 1));
    BOOST_TEST(!desk.set_nx("k", "a", 2));
}

BOOST_AUTO_TEST_CASE(who_left_without_knowing_that_it_won_may_ask_again_and_has_won) {
    lock_desk desk;
    desk.set_nx("k", "a", 1, start, 5s);
    const auto fence = desk.table.fence_of(key_of("k"), start);
    desk.table.orphan(key_of("k"), 1, start, start);
    BOOST_TEST(!desk.set_nx("k", "b", 3, start + 1s));
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 1s, 5s));
    BOOST_TEST((desk.until("k", start + 1s) == start + 6s));
    BOOST_TEST((desk.table.fence_of(key_of("k"), start + 1s) == fence));
    // Once only.
    BOOST_TEST(!desk.set_nx("k", "a", 4, start + 2s));
}

BOOST_AUTO_TEST_CASE(the_connection_that_took_it_does_not_resend) {
    lock_desk desk;
    desk.set_nx("k", "a", 1);
    desk.table.orphan(key_of("k"), 1, start, start);
    BOOST_TEST(!desk.set_nx("k", "a", 1));
}

BOOST_AUTO_TEST_CASE(a_later_word_of_the_owner_confirms_the_grant) {
    using change = expire_if_equal_request::change;
    lock_desk desk;
    desk.set_nx("k", "a", 1);
    desk.table.orphan(key_of("k"), 1, start, start);
    desk.table
        .expire_if_equal(
            {.key = key_of("k"), .comparand = "a", .what = change::until, .when = start + 9s},
            start)
        .value();
    BOOST_TEST(!desk.set_nx("k", "a", 2));
}

BOOST_AUTO_TEST_CASE(another_value_is_another_owners_and_nobody_left_it) {
    lock_desk desk;
    desk.set_nx("k", "a", 1);
    desk.table.orphan(key_of("k"), 1, start, start);
    desk.table.set({.key = key_of("k"), .value = "b"}, start).value();
    BOOST_TEST(!desk.set_nx("k", "b", 2));
}

BOOST_AUTO_TEST_CASE(only_a_fresh_grant_of_that_connection_is_orphaned) {
    lock_desk desk;
    desk.set_nx("k", "a", 1, start, 1h);
    desk.table.orphan(key_of("k"), 2, start, start);
    BOOST_TEST(!desk.set_nx("k", "a", 3));
    desk.table.orphan(key_of("k"), 1, start, start + 11s);
    BOOST_TEST(!desk.set_nx("k", "a", 3, start + 11s));
    desk.table.orphan(key_of("absent"), 1, start, start);
}

BOOST_AUTO_TEST_CASE(a_try_of_the_holder_does_not_undo_that_it_knows_of_its_grant) {
    lock_desk desk;
    desk.set_nx("k", "a", 1, start, 1h);
    BOOST_TEST(!desk.set_nx("k", "a", 1, start + 1s));
    desk.table.orphan(key_of("k"), 1, start + 1s, start + 2s);
    BOOST_TEST(!desk.set_nx("k", "a", 2, start + 2s));
}

BOOST_AUTO_TEST_CASE(the_answer_to_who_asks_again_may_get_lost_too) {
    lock_desk desk;
    desk.set_nx("k", "a", 1, start, 1h);
    desk.table.orphan(key_of("k"), 1, start, start);
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 1s, 1h));
    desk.table.orphan(key_of("k"), 2, start + 1s, start + 1s);
    BOOST_TEST(desk.set_nx("k", "a", 3, start + 2s, 1h));
    desk.table.orphan(key_of("k"), 3, start + 3s, start + 3s);
    BOOST_TEST(!desk.set_nx("k", "a", 4, start + 3s, 1h));
}

BOOST_AUTO_TEST_CASE(a_resent_lock_is_renewed_by_its_new_connection) {
    lock_desk desk({.renew = true, .max_hold = 60s});
    desk.set_nx("k", "a", 1, start, 2s);
    desk.table.orphan(key_of("k"), 1, start, start);
    BOOST_TEST(desk.set_nx("k", "a", 2, start + 100ms, 2s));
    desk.check();
    desk.leave(1, start + 200ms);
    BOOST_TEST(desk.table.exists(key_of("k"), start + 30s));
    desk.leave(2, start + 30s);
    BOOST_TEST(!desk.table.exists(key_of("k"), start + 32s));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(parked)

BOOST_AUTO_TEST_CASE(a_try_is_not_held_back_where_it_can_never_be_right) {
    lock_desk desk({.pollers = poller_rule::park});
    desk.take("s", "a", permits(1, 10));
    const auto tried = desk.table.take(
        {.key = key_of("s"), .owner = "t", .client = 7, .ttl = 1s, .is_parked = true},
        lock_table::if_refused::will_wait, start);
    BOOST_REQUIRE(!tried.has_value());
    BOOST_TEST((tried.error() == lock_error::other_lock_type));
    // Others are not kept from it.
    BOOST_TEST(desk.take("s", "b", permits(1, 10, 2)).has_value());
    const std::string_view one = "1";
    desk.table.list_push(key_of("l"), list_end::back, {&one, 1}, start).value();
    const auto of_list = desk.table.take(
        {.key = key_of("l"), .owner = "t", .client = 7, .ttl = 1s, .is_parked = true},
        lock_table::if_refused::will_wait, start);
    BOOST_TEST((of_list.error() == lock_error::wrong_type));
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_held_back_is_a_lock_of_redis) {
    lock_desk desk({.pollers = poller_rule::park, .renew = true, .max_hold = 60s});
    desk.set_nx("k", "holder", 1);
    place parked("a", {.client = 2, .ttl = 2s});
    parked.is_parked = true;
    desk.wait(parked, "k");
    desk.unset("k", "holder");
    BOOST_TEST(desk.ended() == "a granted");
    BOOST_TEST(desk.table.exists(key_of("k"), start + 30s));
    desk.leave(2, start + 30s);
    BOOST_TEST(!desk.table.exists(key_of("k"), start + 32s));
    BOOST_TEST(desk.lost() == "");
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_held_back_is_no_second_hold) {
    lock_desk desk;
    desk.set_nx("k", "a", 1, start, 1s);
    place parked("a", {.client = 2}, start + 50ms);
    parked.is_parked = true;
    parked.at = &desk;
    desk.table.wait(parked, key_of("k"), start).value();
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "");
    desk.advance(start + 50ms);
    BOOST_TEST(desk.ended() == "a timed out");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(adaptive)

BOOST_AUTO_TEST_CASE(who_is_refused_again_is_told_once) {
    lock_desk desk;
    desk.set_nx("k", "holder", 1);
    BOOST_TEST(!desk.set_nx("k", "a", 2, start));
    BOOST_TEST(!desk.table.take_polled().has_value());
    BOOST_TEST(!desk.set_nx("k", "a", 2, start + 20ms));
    const auto polled = desk.table.take_polled();
    BOOST_REQUIRE(polled.has_value());
    BOOST_TEST(polled->token == caller::of(key_of("k"), 2, "a").token);
    BOOST_TEST((polled->pause == 20ms));
    BOOST_TEST(!desk.table.take_polled().has_value());
}

BOOST_AUTO_TEST_CASE(other_policies_have_no_use_for_it) {
    lock_desk desk(barging);
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 60ms);
    BOOST_TEST(!desk.table.take_polled().has_value());
}

BOOST_AUTO_TEST_CASE(who_is_woken_by_a_release_does_not_poll) {
    lock_desk desk;
    desk.set_nx("k", "holder", 1);
    BOOST_TEST(!desk.set_nx("k", "a", 2, start));
    desk.table.announced(key_of("k"));
    BOOST_TEST(!desk.set_nx("k", "a", 2, start + 20ms));
    BOOST_TEST(!desk.table.take_polled().has_value());
}

BOOST_AUTO_TEST_CASE(no_lock_is_kept_for_one_who_waits_in_line_by_now) {
    lock_desk desk({.pollers = poller_rule::adaptive, .starvation_after = 100ms});
    desk.set_nx("k", "holder", 1);
    poll(desk, "a", 2, start, start + 120ms);
    BOOST_TEST((desk.table.stand_up(key_of("k"), caller::of(key_of("k"), 2, "a")) == start));
    place parked("a", {.client = 2, .ttl = 2s});
    parked.is_parked = true;
    parked.came = start;
    desk.wait(parked, "k", start + 121ms);
    desk.unset("k", "holder", start + 122ms);
    BOOST_TEST(desk.ended() == "a granted");
    BOOST_TEST(desk.table.counted().reservations == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
