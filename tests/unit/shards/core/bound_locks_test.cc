#include "lock_desk.hh"

/// Locks that live by their client's connection, and promises to clients that disappear.
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr lock_policy with_grace{.max_hold = 60s, .grace = 1s};

/// Who holds it, to see whether somebody else could.
bool is_free(lock_desk& desk, instant now) {
    return !desk.table.exists(key_of("k"), now);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_without_a_ttl_ends_a_grace_after_its_connection) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.leave(1, start + 5s);
    BOOST_TEST(!is_free(desk, start + 6s - 1ns));
    BOOST_TEST(is_free(desk, start + 6s));
    BOOST_TEST(desk.lost() == "a");
}

BOOST_AUTO_TEST_CASE(a_client_beyond_a_broken_link_has_the_time_that_it_needs_to_hear_of_it) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.take("s", "b", {.client = 1, .mode = lock_mode::shared, .ttl = std::nullopt});
    desk.leave(1, start + 5s, 4s);
    BOOST_TEST(!is_free(desk, start + 9s - 1ns));
    BOOST_TEST(desk.owners("s", start + 9s - 1ns) == "b");
    BOOST_TEST(is_free(desk, start + 9s));
    BOOST_TEST(desk.owners("s", start + 9s) == "");
}

BOOST_AUTO_TEST_CASE(a_repeated_order_goes_over_to_its_new_connection_and_has_one_hold) {
    lock_desk desk(with_grace);
    const auto first = *desk.take("k", "a", bound(1));
    desk.leave(1, start + 1s, 4s);
    const auto again = *desk.take(
        "k", "a", {.client = 2, .ttl = std::nullopt, .repeats = first.fence}, start + 2s);
    BOOST_TEST(again.fence == first.fence);
    BOOST_TEST(again.holds == 1);
    BOOST_TEST(!is_free(desk, start + 30s));
    BOOST_TEST((desk.release("k", "a", start + 30s) == 0));
    BOOST_TEST(is_free(desk, start + 30s));
}

BOOST_AUTO_TEST_CASE(without_a_grace_it_ends_with_its_connection) {
    lock_desk desk({.grace = 0s});
    desk.take("k", "a", bound(1));
    desk.take("s", "b", {.mode = lock_mode::shared, .ttl = std::nullopt});
    desk.leave(1, start + 5s);
    BOOST_TEST(is_free(desk, start + 5s));
    BOOST_TEST(desk.owners("s", start + 5s) == "");
    BOOST_TEST(desk.lost().size() == std::string_view("a, b").size());
}

BOOST_AUTO_TEST_CASE(a_lock_with_a_ttl_outlives_its_connection) {
    lock_desk desk(with_grace);
    desk.take("k", "a", {.client = 1, .ttl = 10s});
    desk.set_nx("redis", "a", 1);
    desk.leave(1);
    BOOST_TEST(!is_free(desk, start + 10s - 1ns));
    BOOST_TEST(desk.table.exists(key_of("redis"), start + 10s - 1ns));
    BOOST_TEST(is_free(desk, start + 10s));
}

BOOST_AUTO_TEST_CASE(another_connection_that_ends_changes_nothing) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.leave(2);
    BOOST_TEST(!is_free(desk, start + 30s));
}

BOOST_AUTO_TEST_CASE(a_released_lock_is_forgotten_by_its_connection) {
    lock_desk desk({.grace = 0s});
    desk.take("k", "a", bound(1));
    desk.release("k", "a");
    desk.take("k", "b", {.client = 2, .ttl = 10s});
    desk.leave(1);
    BOOST_TEST(desk.owners("k") == "b");
}

BOOST_AUTO_TEST_CASE(a_lock_that_went_by_a_flush_is_forgotten_by_its_connection) {
    lock_desk desk({.grace = 0s});
    desk.take("k", "a", bound(1));
    desk.table.flush(0);
    desk.take("k", "b", {.client = 2, .ttl = 10s});
    desk.leave(1);
    desk.advance(start);
    BOOST_TEST(desk.owners("k") == "b");
}

BOOST_AUTO_TEST_CASE(an_extension_gives_it_a_ttl_of_its_own) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.table.extend_hold(key_of("k"), "a", 10s, start).value();
    desk.leave(1);
    BOOST_TEST(!is_free(desk, start + 10s - 1ns));
    BOOST_TEST(is_free(desk, start + 10s));
}

BOOST_AUTO_TEST_CASE(within_the_grace_its_owner_may_come_back_over_another_connection) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.leave(1, start + 1s);
    BOOST_TEST((desk.take("k", "a", bound(2), start + 1500ms)->holds == 2));
    BOOST_TEST(!is_free(desk, start + 10s));
    desk.leave(2, start + 10s);
    BOOST_TEST(is_free(desk, start + 11s));
}

BOOST_AUTO_TEST_CASE(it_belongs_to_the_connection_that_asked_last) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.take("k", "a", bound(2));
    desk.leave(1);
    BOOST_TEST(!is_free(desk, start + 5s));
    desk.leave(2, start + 5s);
    BOOST_TEST(is_free(desk, start + 6s));
}

BOOST_AUTO_TEST_CASE(only_the_holds_of_that_connection_end_in_a_shared_lock) {
    lock_desk desk({.grace = 0s});
    const auto without_ttl = [](uint64_t client) {
        return wish{.client = client, .mode = lock_mode::shared, .ttl = std::nullopt};
    };
    desk.take("k", "a", without_ttl(1));
    desk.take("k", "b", without_ttl(1));
    desk.take("k", "c", without_ttl(2));
    desk.take("k", "d", shared(1));
    desk.leave(1);
    BOOST_TEST(desk.owners("k") == "c d");
    desk.take("k", "c", without_ttl(3));
    desk.leave(2);
    BOOST_TEST(desk.owners("k") == "c d");
    desk.leave(3);
    BOOST_TEST(desk.owners("k") == "d");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_shared_owner_that_releases_leaves_the_others_of_its_connection) {
    lock_desk desk({.grace = 0s});
    const wish mine{.client = 1, .mode = lock_mode::shared, .ttl = std::nullopt};
    desk.take("k", "a", mine);
    desk.take("k", "b", mine);
    desk.release("k", "a");
    desk.check();
    desk.leave(1);
    BOOST_TEST(desk.owners("k") == "");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_downgraded_lock_still_lives_by_its_connection) {
    lock_desk desk({.max_hold = 0s, .grace = 0s});
    desk.take("k", "a", bound(1));
    desk.take("k", "a", shared(1));
    BOOST_TEST(desk.owners("k", start + 1h) == "a");
    desk.leave(1, start + 1h);
    BOOST_TEST(desk.owners("k", start + 1h) == "");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_lock_is_not_kept_alive_beyond_the_longest_hold) {
    lock_desk desk({.max_hold = 5s});
    BOOST_TEST((desk.take("k", "a", bound(1))->until == start + 5s));
    BOOST_TEST(is_free(desk, start + 5s));
    BOOST_TEST(desk.lost() == "a");
    desk.leave(1, start + 5s);
}

BOOST_AUTO_TEST_CASE(without_a_longest_hold_it_lasts_as_long_as_its_connection) {
    lock_desk desk({.max_hold = 0s, .grace = 1s});
    BOOST_TEST((desk.take("k", "a", bound(1))->until == end_of_time));
    BOOST_TEST(!is_free(desk, start + 10'000h));
    desk.leave(1, start + 10'000h);
    BOOST_TEST(is_free(desk, start + 10'000h + 1s));
}

BOOST_AUTO_TEST_CASE(a_connection_that_ends_after_its_lock_does_not_bring_it_back) {
    lock_desk desk({.max_hold = 5s, .grace = 1s});
    desk.take("k", "a", bound(1));
    desk.leave(1, start + 5s);
    BOOST_TEST(is_free(desk, start + 5s));
}

// ---- over several connections -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_end_of_one_connection_leaves_the_time_that_was_told_over_another) {
    for (const lock_mode mode : {lock_mode::exclusive, lock_mode::shared, lock_mode::permits}) {
        lock_desk desk(with_grace);
        BOOST_TEST((desk.take("k", "a", {.client = 1, .mode = mode, .of = 2, .ttl = 40s})->until ==
                    start + 40s));
        desk.take("k", "a", {.client = 2, .mode = mode, .of = 2, .ttl = std::nullopt}, start + 1s);
        desk.leave(2, start + 2s);
        BOOST_TEST(!is_free(desk, start + 40s - 1ns));
        BOOST_TEST(is_free(desk, start + 40s));
        desk.lost();
    }
}

BOOST_AUTO_TEST_CASE(a_lock_of_redis_that_becomes_bound_keeps_its_time) {
    for (const lock_mode mode : {lock_mode::exclusive, lock_mode::shared}) {
        lock_desk desk(with_grace);
        desk.set_nx("k", "a", 1, start, 40s);
        BOOST_TEST((desk.take("k", "a", {.client = 2, .mode = mode, .ttl = std::nullopt})->until ==
                    start + 60s));
        desk.leave(2);
        BOOST_TEST(!is_free(desk, start + 40s - 1ns));
        BOOST_TEST(is_free(desk, start + 40s));
        desk.lost();
    }
}

BOOST_AUTO_TEST_CASE(a_renewed_lock_that_becomes_bound_keeps_its_ttl) {
    lock_desk desk({.renew = true, .max_hold = 60s, .grace = 1s});
    desk.set_nx("k", "a", 1, start, 10s);
    desk.take("k", "a", bound(2), start + 5s);
    desk.leave(2, start + 6s);
    BOOST_TEST(!is_free(desk, start + 15s - 1ns));
    BOOST_TEST(is_free(desk, start + 15s));
    desk.lost();
}

BOOST_AUTO_TEST_CASE(who_names_a_ttl_is_told_what_another_connection_cannot_take) {
    for (const lock_mode mode : {lock_mode::exclusive, lock_mode::shared}) {
        lock_desk desk(with_grace);
        desk.take("k", "a", {.client = 1, .mode = mode, .ttl = std::nullopt});
        BOOST_TEST(
            (desk.take("k", "a", {.client = 2, .mode = mode, .ttl = 30s})->until == start + 30s));
        BOOST_TEST(
            (desk.take("k", "a", {.client = 3, .mode = mode, .ttl = 20s})->until == start + 30s));
        desk.leave(1, start + 1s);
        BOOST_TEST(!is_free(desk, start + 30s - 1ns));
        BOOST_TEST(is_free(desk, start + 30s));
        desk.lost();
    }
}

BOOST_AUTO_TEST_CASE(a_bound_lock_that_is_taken_with_a_ttl_still_lives_by_its_connection) {
    for (const lock_mode again : {lock_mode::exclusive, lock_mode::shared}) {
        lock_desk desk(with_grace);
        desk.take("k", "a", bound(1));
        desk.take("k", "a", {.client = 2, .mode = again, .ttl = 5s});
        desk.leave(2, start + 1s);
        BOOST_TEST(!is_free(desk, start + 30s));
        desk.take("k", "a", {.client = 3, .mode = again, .ttl = std::nullopt}, start + 30s);
        desk.leave(1, start + 30s);
        BOOST_TEST(!is_free(desk, start + 40s));
        desk.leave(3, start + 40s);
        BOOST_TEST(is_free(desk, start + 41s));
        desk.lost();
    }
}

BOOST_AUTO_TEST_CASE(an_end_that_somebody_else_has_set_counts_for_what_is_told_later) {
    lock_desk desk(with_grace);
    desk.take("k", "a", bound(1));
    desk.take("k", "a", {.client = 2, .ttl = 30s});
    desk.expire("k", start + 10s);
    BOOST_TEST((desk.take("k", "a", {.client = 2, .ttl = 5s})->until == start + 10s));
    desk.leave(1);
    BOOST_TEST(is_free(desk, start + 10s));
    desk.lost();
}

// ---- the policy `renew` -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_renewed_lock_lasts_while_its_client_is_connected) {
    lock_desk desk({.renew = true, .max_hold = 60s});
    desk.set_nx("k", "t", 1, start, 2s);
    BOOST_TEST(!is_free(desk, start + 30s));
    BOOST_TEST(is_free(desk, start + 60s));
}

BOOST_AUTO_TEST_CASE(a_renewed_lock_ends_its_ttl_after_its_connection) {
    lock_desk desk({.renew = true, .max_hold = 60s});
    desk.set_nx("k", "t", 1, start, 2s);
    desk.leave(1, start + 10s);
    BOOST_TEST(!is_free(desk, start + 12s - 1ns));
    BOOST_TEST(is_free(desk, start + 12s));
}

BOOST_AUTO_TEST_CASE(a_longest_hold_never_takes_back_the_ttl_that_was_told) {
    lock_desk desk({.renew = true, .max_hold = 5s});
    desk.set_nx("k", "t", 1, start, 20s);
    BOOST_TEST(!is_free(desk, start + 20s - 1ns));
    BOOST_TEST(is_free(desk, start + 20s));
}

BOOST_AUTO_TEST_CASE(a_lock_without_a_ttl_is_not_renewed_but_lasts) {
    lock_desk desk({.renew = true, .max_hold = 5s});
    desk.set_nx("k", "t", 1, start, std::nullopt);
    desk.leave(1);
    BOOST_TEST(!is_free(desk, start + 1h));
}

BOOST_AUTO_TEST_CASE(an_end_that_a_client_sets_itself_is_kept_when_its_connection_ends) {
    using change = expire_if_equal_request::change;
    lock_desk desk({.renew = true, .max_hold = 60s});
    desk.set_nx("k", "t", 1, start, 2s);
    desk.table
        .expire_if_equal(
            {.key = key_of("k"), .comparand = "t", .what = change::until, .when = start + 30s},
            start)
        .value();
    desk.leave(1);
    BOOST_TEST(!is_free(desk, start + 30s - 1ns));
    BOOST_TEST(is_free(desk, start + 30s));
}

BOOST_AUTO_TEST_CASE(an_end_that_a_client_sets_itself_is_not_put_off_by_the_policy) {
    lock_desk desk({.renew = true, .max_hold = 60s});
    desk.set_nx("k", "t", 1, start, 2s);
    desk.expire("k", start + 1s);
    BOOST_TEST(is_free(desk, start + 1s));
}

BOOST_AUTO_TEST_CASE(what_an_owner_of_a_renewed_lock_is_told_when_it_takes_it_again_is_kept) {
    for (const lock_mode mode : {lock_mode::exclusive, lock_mode::shared}) {
        lock_desk desk({.renew = true, .max_hold = 60s, .grace = 1s});
        desk.set_nx("k", "t", 1, start, 10s);
        const auto again = desk.take("k", "t", {.client = 1, .mode = mode, .ttl = 2s}, start + 1s);
        BOOST_REQUIRE(again.has_value());
        BOOST_TEST((again->until == start + 11s));
        desk.leave(1, start + 2s);
        BOOST_TEST(!is_free(desk, start + 11s - 1ns));
        BOOST_TEST(is_free(desk, start + 11s));
    }
}

BOOST_AUTO_TEST_CASE(nobody_is_renewed_unless_the_policy_says_so) {
    lock_desk desk;
    desk.set_nx("k", "t", 1, start, 2s);
    BOOST_TEST(is_free(desk, start + 2s));
}

// ---- a lock-delay after an unclean end
// ------------------------------------------------------------

BOOST_AUTO_TEST_CASE(after_an_unclean_end_nobody_gets_it_for_a_while) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("k", "a", {.ttl = 1s});
    desk.advance(start + 1s);
    BOOST_TEST(!desk.take("k", "b", {.client = 2}, start + 4s - 1ns).has_value());
    BOOST_TEST(!desk.set_nx("k", "t", 3, start + 4s - 1ns));
    BOOST_TEST(desk.take("k", "b", {.client = 2}, start + 4s).has_value());
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_refused_one_is_told_when_the_delay_is_over) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("k", "a", {.ttl = 1s});
    desk.advance(start + 1s);
    BOOST_TEST((desk.ask("k", "b", {.client = 2}, start + 2s).value().held_until == start + 4s));
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_waiter_gets_it_when_the_delay_is_over) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("k", "a", {.ttl = 1s});
    place b("b", {.client = 2});
    desk.wait(b, "k");
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST((desk.table.next_due() == start + 4s));
    desk.advance(start + 4s);
    BOOST_TEST(desk.ended() == "b granted");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_release_has_no_delay) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("k", "a");
    desk.release("k", "a");
    BOOST_TEST(desk.take("k", "b", {.client = 2}).has_value());
    desk.remove("k");
    BOOST_TEST(desk.take("k", "c", {.client = 3}).has_value());
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_connection_that_ended_has_one) {
    lock_desk desk({.grace = 0s, .lock_delay = 3s});
    desk.take("k", "a", bound(1));
    desk.leave(1);
    BOOST_TEST(!desk.take("k", "b", {.client = 2}, start + 3s - 1ns).has_value());
    BOOST_TEST(desk.take("k", "b", {.client = 2}, start + 3s).has_value());
    desk.take("s", "a", {.client = 5, .mode = lock_mode::shared, .ttl = std::nullopt}, start + 3s);
    desk.leave(5, start + 3s);
    BOOST_TEST(!desk.take("s", "b", {.client = 2}, start + 4s).has_value());
    desk.lost();
}

BOOST_AUTO_TEST_CASE(clients_of_redis_have_one_too) {
    lock_desk desk({.lock_delay = 3s});
    desk.set_nx("k", "t", 1, start, 1s);
    BOOST_TEST(!desk.set_nx("k", "u", 2, start + 1s));
    BOOST_TEST(!desk.set_nx("k", "u", 2, start + 2s));
    BOOST_TEST(desk.set_nx("k", "u", 2, start + 4s));
}

BOOST_AUTO_TEST_CASE(the_last_to_leave_a_line_does_not_end_the_delay) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("k", "a", {.ttl = 1s});
    place b("b", {.client = 2});
    desk.wait(b, "k");
    // The lock has expired, and the first to notice is the one who leaves.
    desk.table.stop_waiting(b, start + 1s);
    desk.table.settle(start + 1s);
    BOOST_TEST(desk.ended() == "b cancelled");
    BOOST_TEST(!desk.take("k", "c", {.client = 3}, start + 2s).has_value());
    desk.lost();
}

BOOST_AUTO_TEST_CASE(an_owner_of_several_that_ends_without_a_word_delays_those_who_come) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("s", "a", {.client = 1, .mode = lock_mode::permits, .of = 2, .ttl = 60s});
    desk.take("s", "b", {.client = 2, .mode = lock_mode::permits, .of = 2, .ttl = 1s});
    const auto like = [](uint64_t client) {
        return wish{.client = client, .mode = lock_mode::permits, .of = 2, .ttl = 9s};
    };
    BOOST_TEST(!desk.take("s", "c", like(3), start + 1s).has_value());
    place d("d", like(4));
    desk.wait(d, "s", start + 2s);
    desk.advance(start + 4s - 1ns);
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST((desk.table.next_due() == start + 4s));
    desk.advance(start + 4s);
    BOOST_TEST(desk.ended() == "d granted");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(the_delay_of_a_reader_outlives_the_last_of_the_others) {
    lock_desk desk({.lock_delay = 3s});
    desk.take("k", "a", {.client = 1, .mode = lock_mode::shared, .ttl = 60s});
    desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 1s});
    desk.advance(start + 1s);
    // Whoever holds it may go on.
    BOOST_TEST(desk.take("k", "a", shared(1), start + 2s)->holds == 2);
    desk.release("k", "a", start + 2s);
    desk.release("k", "a", start + 2s);
    BOOST_TEST(!desk.take("k", "w", {.client = 3}, start + 4s - 1ns).has_value());
    BOOST_TEST(desk.take("k", "w", {.client = 3}, start + 4s).has_value());
    desk.lost();
}

BOOST_AUTO_TEST_CASE(locks_in_hashes_have_one_too) {
    lock_desk desk({.lock_delay = 3s});
    desk.table
        .acquire({.key = key_of("k"), .owner = "a", .expiry = expiry_change::at(start + 1s)}, start)
        .value();
    desk.advance(start + 1s);
    BOOST_TEST(!desk.table.may_take(key_of("k"), 2, "b", start + 4s - 1ns));
    BOOST_TEST(desk.table.may_take(key_of("k"), 2, "b", start + 4s));
    desk.table.hash_set(key_of("rw"), {"mode", "read"}, start + 4s).value();
    desk.expire("rw", start + 5s, start + 4s);
    desk.advance(start + 5s);
    BOOST_TEST(!desk.table.may_take(key_of("rw"), 2, "b", start + 6s));
}
