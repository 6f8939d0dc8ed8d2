#include <array>
#include <functional>

#include "lock_desk.hh"

/// Whatever ends a lock, the first in line gets it at that moment.
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

/// A lock held for ten seconds, and somebody who waits for it.
struct fixture {
    lock_desk desk;
    place next{"next", {.client = 2}};

    fixture() {
        desk.take("k", "holder");
        desk.wait(next, "k");
        BOOST_REQUIRE(desk.ended() == "");
    }
    ~fixture() {
        desk.lost();
        desk.check();
    }
    void settle(instant now = start) {
        desk.latest = std::max(desk.latest, now);
        desk.table.settle(now);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(hand_off, fixture)

BOOST_AUTO_TEST_CASE(at_a_release) {
    desk.release("k", "holder");
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_a_compare_and_delete) {
    BOOST_TEST(!desk.unset("k", "somebody"));
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST(desk.unset("k", "holder"));
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_its_expiry) {
    BOOST_TEST((desk.table.next_due() == start + 10s));
    desk.advance(start + 10s);
    BOOST_TEST(desk.ended() == "next granted");
    BOOST_TEST(desk.lost() == "holder");
}

BOOST_AUTO_TEST_CASE(when_somebody_looks_at_it_after_its_expiry) {
    BOOST_TEST((desk.table.get(key_of("k"), start + 10s).value() == std::nullopt));
    settle(start + 10s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(when_the_expired_are_cleared_away) {
    desk.table.expire_due(start + 10s, 100);
    settle(start + 10s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_an_expiry_that_was_brought_forward) {
    desk.expire("k", start + 1s);
    BOOST_TEST((desk.table.next_due() == start + 1s));
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(not_before_an_expiry_that_was_put_off) {
    desk.expire("k", start + 60s);
    desk.advance(start + 10s);
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST((desk.table.next_due() == start + 60s));
    desk.advance(start + 60s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_an_expiry_in_the_past) {
    desk.expire("k", start - 1s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(never_after_a_persist_but_at_the_next_expiry) {
    BOOST_TEST(desk.table.persist(key_of("k"), start));
    settle();
    BOOST_TEST(!desk.table.next_due().has_value());
    desk.advance(start + 1h);
    BOOST_TEST(desk.ended() == "");
    desk.expire("k", start + 2h, start + 1h);
    desk.advance(start + 2h);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_an_extension_by_its_owner_not_before_the_new_end) {
    desk.table.extend_hold(key_of("k"), "holder", 1s, start).value();
    settle();
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_a_conditional_expiry) {
    using change = expire_if_equal_request::change;
    desk.table
        .expire_if_equal(
            {.key = key_of("k"), .comparand = "holder", .what = change::until, .when = start + 1s},
            start)
        .value();
    settle();
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_a_delete) {
    BOOST_TEST(desk.remove("k"));
    BOOST_TEST(desk.ended() == "next granted");
    BOOST_TEST(desk.lost() == "holder");
}

BOOST_AUTO_TEST_CASE(at_a_flush_of_its_database) {
    desk.table.flush(1);
    settle();
    BOOST_TEST(desk.ended() == "");
    desk.table.flush(0);
    settle();
    BOOST_TEST(desk.ended() == "next granted");
    BOOST_TEST(desk.owners("k") == "next");
}

BOOST_AUTO_TEST_CASE(at_a_break) {
    desk.table.break_lock(key_of("k"), start);
    settle();
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(not_when_it_is_set_over_but_at_the_end_of_that) {
    desk.table.set({.key = key_of("k"), .value = "other", .expiry = ends(start + 1s)}, start)
        .value();
    settle();
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST(desk.lost() == "holder");
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(once_for_a_delete_and_a_set_in_one_command) {
    // As GETDEL and SET of one transaction: nobody looks between.
    desk.table.remove(key_of("k"), start);
    desk.table.set({.key = key_of("k"), .value = "other"}, start).value();
    settle();
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST(desk.owners("k") == "other");
    desk.remove("k");
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(before_a_set_nx_of_the_same_command) {
    desk.table.remove(key_of("k"), start);
    const auto outcome = desk.table.set(
        {.key = key_of("k"), .value = "barger", .condition = set_condition::if_absent, .client = 9},
        start);
    BOOST_TEST(!outcome.value().stored);
    settle();
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(not_for_a_counter_that_came_between_but_at_its_end) {
    desk.table.remove(key_of("k"), start);
    desk.table.increment(key_of("k"), 1, start).value();
    settle();
    BOOST_TEST(desk.ended() == "");
    desk.expire("k", start + 1s);
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_the_release_of_a_hash_lock_that_came_between) {
    desk.table.remove(key_of("k"), start);
    desk.table.acquire({.key = key_of("k"), .owner = "redisson"}, start).value();
    settle();
    BOOST_TEST(desk.ended() == "");
    desk.table.release({.key = key_of("k"), .owner = "redisson"}, start).value();
    settle();
    BOOST_TEST(desk.ended() == "next granted");
}

BOOST_AUTO_TEST_CASE(at_the_end_of_a_list_that_came_between_to_nobody) {
    desk.table.remove(key_of("k"), start);
    settle();
    BOOST_TEST(desk.ended() == "next granted");
    BOOST_TEST(desk.table.waiters() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_hash_lock_is_handed_on_when_it_is_freed_or_expires) {
    for (const bool expires : {false, true}) {
        lock_desk desk;
        desk.table
            .acquire({.key = key_of("k"), .owner = "redisson", .expiry = ends(start + 5s)}, start)
            .value();
        place next("next");
        desk.wait(next, "k");
        if (expires) {
            desk.advance(start + 5s);
        } else {
            desk.table.release({.key = key_of("k"), .owner = "redisson"}, start).value();
            desk.table.settle(start);
        }
        BOOST_TEST(desk.ended() == "next granted");
    }
}

BOOST_AUTO_TEST_CASE(a_bound_lock_is_handed_on_a_grace_after_its_connection) {
    lock_desk desk({.grace = 1s});
    desk.take("k", "holder", bound(1));
    place next("next", {.client = 2});
    desk.wait(next, "k");
    desk.leave(1, start + 5s);
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST((desk.table.next_due() == start + 6s));
    desk.advance(start + 6s);
    BOOST_TEST(desk.ended() == "next granted");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_promised_lock_is_not_handed_on_when_its_connection_ends) {
    lock_desk desk;
    desk.take("k", "holder", {.client = 1, .ttl = 10s});
    place next("next", {.client = 2});
    desk.wait(next, "k");
    desk.leave(1);
    desk.advance(start + 10s - 1ns);
    BOOST_TEST(desk.ended() == "");
    desk.advance(start + 10s);
    BOOST_TEST(desk.ended() == "next granted");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(an_expired_permit_goes_to_the_first_in_line) {
    lock_desk desk;
    auto brief = permits(1, 2);
    brief.ttl = 1s;
    desk.take("k", "a", brief);
    desk.take("k", "b", permits(1, 2, 2));
    place next("next", permits(1, 2, 3));
    desk.wait(next, "k");
    BOOST_TEST((desk.table.next_due() == start + 1s));
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "next granted");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_set_while_it_is_closed_is_handed_on_at_its_end) {
    // Between the two there is a queue and no entry: the one that comes must know of it.
    lock_desk desk({.lock_delay = 5s});
    desk.take("k", "holder", {.ttl = 1s});
    place next("next", {.client = 2});
    desk.wait(next, "k");
    desk.advance(start + 1s);
    desk.table.set({.key = key_of("k"), .value = "other", .expiry = ends(start + 2s)}, start + 1s)
        .value();
    desk.table.settle(start + 1s);
    desk.check();
    desk.remove("k", start + 1500ms);
    desk.advance(start + 6s);
    BOOST_TEST(desk.ended() == "next granted");
    desk.lost();
}
