#include "lock_desk.hh"

/// Policies that change while locks are held and clients are in line: what has been given stays as
/// it was given, what is decided next is decided by the new ones.
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

void change(lock_desk& desk, const lock_policy& next) {
    desk.table.change_policies(policy_book({{"*", next}}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_shorter_queue_is_for_newcomers_and_sends_nobody_away) {
    lock_desk desk({.max_waiters = 10});
    desk.take("k", "holder");
    place a("a", {.client = 2}), b("b", {.client = 3}), c("c", {.client = 4});
    desk.wait(a, "k");
    desk.wait(b, "k");
    change(desk, {.max_waiters = 1});
    BOOST_TEST(desk.try_wait(c, "k") == "too many waiters");
    BOOST_TEST(desk.waiting_for("k") == 2U);
    desk.release("k", "holder");
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "a granted, b granted");
    desk.wait(c, "k");
}

BOOST_AUTO_TEST_CASE(a_line_follows_every_change_and_the_policy_of_its_own_key) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a", {.client = 2});
    desk.wait(a, "k");
    const lock_line& line = *desk.table.line_of(key_of("k"));
    for (uint32_t most = 1; most < 5; ++most) {
        desk.table.change_policies(
            policy_book({{"other", {.max_waiters = 99}}, {"k", {.max_waiters = most}}}));
        BOOST_TEST(line.policy().max_waiters == most);
    }
    desk.table.change_policies(policy_book());
    BOOST_TEST(line.policy().max_waiters == lock_policy().max_waiters);
}

BOOST_AUTO_TEST_CASE(a_lock_keeps_the_grace_and_the_longest_hold_that_it_was_given_with) {
    lock_desk desk({.max_hold = 60s, .grace = 5s});
    desk.take("k", "a", bound(1));
    desk.take("long", "b", bound(2));
    change(desk, {.max_hold = 10s, .grace = 0s});
    desk.take("new", "a", bound(1));
    desk.leave(1);
    BOOST_TEST(!desk.table.exists(key_of("new"), start));
    BOOST_TEST(desk.table.exists(key_of("k"), start + 5s - 1ns));
    BOOST_TEST(!desk.table.exists(key_of("k"), start + 5s));
    BOOST_TEST((desk.until("long") == start + 60s));
}

BOOST_AUTO_TEST_CASE(a_lock_delay_is_for_locks_that_are_given_from_then_on) {
    lock_desk desk;
    desk.take("before", "a", {.ttl = 1s});
    change(desk, {.lock_delay = 5s});
    desk.take("after", "a", {.ttl = 1s});
    desk.advance(start + 1s);
    BOOST_TEST(desk.take("before", "b", {.client = 2}, start + 1s).has_value());
    BOOST_TEST(!desk.take("after", "b", {.client = 2}, start + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(a_lock_delay_that_is_gone_closes_nothing_any_more) {
    lock_desk desk({.lock_delay = 5s});
    desk.take("k", "a", {.ttl = 1s});
    change(desk, {});
    desk.advance(start + 1s);
    BOOST_TEST(desk.take("k", "b", {.client = 2}, start + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(those_who_poll_already_are_served_by_the_new_rule) {
    lock_desk desk;
    desk.set_nx("k", "holder", 1);
    for (instant now = start; now <= start + 60ms; now = now + 20ms) {
        desk.set_nx("k", "first", 2, now);
    }
    change(desk, {.pollers = poller_rule::reserve});
    desk.unset("k", "holder", start + 61ms);
    BOOST_TEST(!desk.set_nx("k", "late", 3, start + 62ms));
    BOOST_TEST(desk.set_nx("k", "first", 2, start + 80ms));
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_kept_for_somebody_stays_so_until_its_time_is_over) {
    lock_desk desk({.pollers = poller_rule::reserve});
    desk.set_nx("k", "holder", 1);
    for (instant now = start; now <= start + 60ms; now = now + 20ms) {
        desk.set_nx("k", "first", 2, now);
    }
    desk.unset("k", "holder", start + 61ms);
    change(desk, {.pollers = poller_rule::barge});
    BOOST_TEST(!desk.set_nx("k", "late", 3, start + 62ms));
    const instant over = desk.table.next_due().value();
    BOOST_TEST(desk.set_nx("k", "late", 3, over));
}

BOOST_AUTO_TEST_CASE(renewed_locks_stay_renewed_and_others_are_not_taken_in) {
    lock_desk desk;
    desk.set_nx("plain", "a", 1, start, 1s);
    change(desk, {.renew = true});
    desk.set_nx("renewed", "a", 1, start, 1s);
    change(desk, {});
    BOOST_TEST(!desk.table.exists(key_of("plain"), start + 1s));
    BOOST_TEST(desk.table.exists(key_of("renewed"), start + 30s));
}
