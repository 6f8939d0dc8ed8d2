#include "shards/core/grant_book.hh"

#include <limits>

#include "lock_desk.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(exclusive)

BOOST_AUTO_TEST_CASE(the_first_owner_gets_the_lock_and_is_told_its_end) {
    lock_desk desk;
    const auto given = desk.take("k", "a", {.ttl = 5s}).value();
    BOOST_TEST(given.fence > 0U);
    BOOST_TEST((given.until == start + 5s));
    BOOST_TEST(given.holds == 1);
    BOOST_TEST(!desk.take("k", "b").has_value());
    BOOST_TEST(desk.owners("k") == "a");
}

BOOST_AUTO_TEST_CASE(a_refused_one_is_told_when_the_holder_ends) {
    lock_desk desk;
    desk.take("k", "a", {.ttl = 5s});
    const auto outcome = desk.ask("k", "b", {}).value();
    BOOST_TEST(!outcome.granted);
    BOOST_TEST((outcome.held_until == start + 5s));
}

BOOST_AUTO_TEST_CASE(the_owner_may_take_it_again_and_releases_it_as_often) {
    lock_desk desk;
    const auto first = desk.take("k", "a").value();
    const auto second = desk.take("k", "a").value();
    BOOST_TEST(second.holds == 2);
    BOOST_TEST(second.fence == first.fence);
    BOOST_TEST((desk.release("k", "a") == 1));
    BOOST_TEST(!desk.take("k", "b").has_value());
    BOOST_TEST((desk.release("k", "a") == 0));
    BOOST_TEST(desk.take("k", "b").has_value());
}

BOOST_AUTO_TEST_CASE(a_second_hold_never_brings_the_end_nearer) {
    lock_desk desk;
    desk.take("k", "a", {.ttl = 10s});
    BOOST_TEST((desk.take("k", "a", {.ttl = 1s})->until == start + 10s));
    BOOST_TEST((desk.take("k", "a", {.ttl = 20s})->until == start + 20s));
}

BOOST_AUTO_TEST_CASE(an_order_that_is_repeated_has_no_hold_more) {
    lock_desk desk;
    for (const wish& how : {wish{}, shared(), permits(2, 5), permits(5, 5)}) {
        const auto first = *desk.take("k", "a", how);
        auto same = how;
        same.repeats = first.fence;
        const auto again = *desk.take("k", "a", same, start + 1s);
        BOOST_TEST(again.fence == first.fence);
        BOOST_TEST(again.holds == 1);
        BOOST_TEST((again.until == start + 11s));
        BOOST_TEST((desk.release("k", "a", start + 1s) == 0));
    }
}

BOOST_AUTO_TEST_CASE(an_order_that_repeats_an_earlier_grant_is_a_new_one) {
    lock_desk desk;
    const auto earlier = *desk.take("k", "a");
    desk.release("k", "a");
    const auto other = *desk.take("k", "a");
    wish again;
    again.repeats = earlier.fence;
    BOOST_TEST(other.fence > earlier.fence);
    BOOST_TEST((desk.take("k", "a", again)->holds == 2));
}

BOOST_AUTO_TEST_CASE(holds_are_counted_up_to_a_limit) {
    lock_desk desk;
    constexpr int most = std::numeric_limits<uint16_t>::max();
    for (int i = 0; i < most; ++i) {
        desk.table
            .take({.key = key_of("k"), .owner = "a", .client = 1, .ttl = 10s},
                  lock_table::if_refused::may_ask_again, start)
            .value();
    }
    BOOST_TEST(desk.error_of("k", "a", {}) == "too many holds");
    BOOST_TEST((desk.release("k", "a") == most - 1));
}

BOOST_AUTO_TEST_CASE(only_the_owner_releases_or_extends) {
    lock_desk desk;
    desk.take("k", "a");
    BOOST_TEST(!desk.release("k", "b").has_value());
    BOOST_TEST(!desk.table.extend_hold(key_of("k"), "b", 60s, start).value().has_value());
    BOOST_TEST(!desk.release("absent", "a").has_value());
    BOOST_TEST(!desk.table.extend_hold(key_of("absent"), "a", 60s, start).value().has_value());
    BOOST_TEST(desk.owners("k") == "a");
}

BOOST_AUTO_TEST_CASE(the_owner_moves_its_end_in_both_directions) {
    lock_desk desk;
    desk.take("k", "a", {.ttl = 10s});
    BOOST_TEST((desk.table.extend_hold(key_of("k"), "a", 60s, start).value() == start + 60s));
    BOOST_TEST((desk.until("k") == start + 60s));
    BOOST_TEST((desk.table.extend_hold(key_of("k"), "a", 1s, start).value() == start + 1s));
    BOOST_TEST(desk.take("k", "b", {}, start + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(after_its_end_a_lock_is_nobodys) {
    lock_desk desk;
    desk.take("k", "a", {.ttl = 5s});
    BOOST_TEST(!desk.release("k", "a", start + 5s).has_value());
    BOOST_TEST(desk.lost() == "a");
}

BOOST_AUTO_TEST_CASE(a_longest_ttl_ends_never_and_does_not_wrap) {
    lock_desk desk;
    BOOST_TEST(
        (desk.take("k", "a", {.ttl = std::chrono::milliseconds::max()})->until == end_of_time));
    BOOST_TEST(!desk.until("k").has_value());
}

BOOST_AUTO_TEST_CASE(set_nx_and_native_verbs_meet_at_one_lock) {
    lock_desk desk;
    BOOST_TEST(desk.set_nx("k", "token", 1));
    BOOST_TEST(!desk.take("k", "b", {.client = 2}).has_value());
    BOOST_TEST((desk.take("k", "token")->holds == 2));
    BOOST_TEST((desk.release("k", "token") == 1));
    BOOST_TEST((desk.release("k", "token") == 0));
    desk.take("k", "b", {.client = 2});
    BOOST_TEST(!desk.set_nx("k", "token", 1));
    BOOST_TEST((desk.table.get(key_of("k"), start).value() == "b"));
    BOOST_TEST(desk.unset("k", "b"));
}

BOOST_AUTO_TEST_CASE(a_hash_lock_is_another_owners_lock) {
    lock_desk desk;
    desk.table.acquire({.key = key_of("k"), .owner = "redisson", .expiry = ends(start + 5s)}, start)
        .value();
    const auto outcome = desk.ask("k", "a", {}).value();
    BOOST_TEST(!outcome.granted);
    BOOST_TEST((outcome.held_until == start + 5s));
    BOOST_TEST(desk.owners("k") == "redisson");
}

BOOST_AUTO_TEST_CASE(a_list_is_no_lock) {
    lock_desk desk;
    const std::array<std::string_view, 1> values = {"v"};
    desk.table.list_push(key_of("k"), list_end::back, values, start).value();
    BOOST_TEST(desk.error_of("k", "a", {}) == "wrong type");
    BOOST_TEST(!desk.table.release_hold(key_of("k"), "a", start).has_value());
}

BOOST_AUTO_TEST_CASE(a_key_at_the_limit_of_length_is_a_lock_and_a_longer_one_an_error) {
    lock_desk desk({}, {.key_bytes_max = 8});
    BOOST_TEST(desk.take("12345678", "a").has_value());
    BOOST_TEST(desk.error_of("123456789", "a", {}) == "key too long");
}

BOOST_AUTO_TEST_CASE(the_last_key_is_a_lock_and_one_more_an_error) {
    lock_desk desk({}, {.keys_max = 2});
    desk.take("k1", "a");
    desk.take("k2", "a");
    BOOST_TEST(desk.error_of("k3", "a", {}) == "too many locks");
    desk.release("k1", "a");
    BOOST_TEST(desk.take("k3", "a").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(shared_locks)

BOOST_AUTO_TEST_CASE(several_share_and_nobody_has_it_alone) {
    lock_desk desk;
    const auto a = desk.take("k", "a", shared()).value();
    const auto b = desk.take("k", "b", shared(2)).value();
    BOOST_TEST(b.fence > a.fence);
    BOOST_TEST(!desk.take("k", "w", {.client = 3}).has_value());
    BOOST_TEST(desk.owners("k") == "a b");
    desk.release("k", "a");
    desk.release("k", "b");
    BOOST_TEST(desk.take("k", "w", {.client = 3}).has_value());
    BOOST_TEST(!desk.take("k", "a", shared()).has_value());
}

BOOST_AUTO_TEST_CASE(each_of_them_ends_by_itself) {
    lock_desk desk;
    desk.take("k", "a", {.mode = lock_mode::shared, .ttl = 1s});
    desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 3s});
    BOOST_TEST((desk.until("k") == start + 3s));
    BOOST_TEST(desk.owners("k", start + 1s) == "b");
    BOOST_TEST(!desk.release("k", "a", start + 1s).has_value());
    BOOST_TEST(desk.lost() == "a");
    desk.advance(start + 3s);
    BOOST_TEST(desk.lost() == "b");
    BOOST_TEST(desk.owners("k", start + 3s) == "");
}

BOOST_AUTO_TEST_CASE(a_shared_owner_has_holds_too) {
    lock_desk desk;
    desk.take("k", "a", shared());
    BOOST_TEST((desk.take("k", "a", shared())->holds == 2));
    BOOST_TEST((desk.release("k", "a") == 1));
    BOOST_TEST(desk.owners("k") == "a");
    BOOST_TEST((desk.release("k", "a") == 0));
    BOOST_TEST(desk.owners("k") == "");
}

BOOST_AUTO_TEST_CASE(an_upgrade_is_refused_clearly) {
    lock_desk desk;
    desk.take("k", "a", shared());
    BOOST_TEST(desk.error_of("k", "a", {}) == "upgrade");
    BOOST_TEST(desk.owners("k") == "a");
}

BOOST_AUTO_TEST_CASE(a_downgrade_lets_others_share) {
    lock_desk desk;
    const auto alone = desk.take("k", "a").value();
    desk.take("k", "a");
    const auto together = desk.take("k", "a", shared()).value();
    BOOST_TEST(together.fence > alone.fence);
    BOOST_TEST(together.holds == 2);
    BOOST_TEST(desk.take("k", "b", shared(2)).has_value());
    BOOST_TEST(desk.owners("k") == "a b");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_downgraded_lock_is_not_nearer_than_before) {
    lock_desk desk;
    desk.take("k", "a", {.ttl = 30s});
    BOOST_TEST((desk.take("k", "a", {.mode = lock_mode::shared, .ttl = 1s})->until == start + 30s));
}

BOOST_AUTO_TEST_CASE(an_extension_is_for_the_one_who_asks) {
    lock_desk desk;
    desk.take("k", "a", {.mode = lock_mode::shared, .ttl = 1s});
    desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 1s});
    BOOST_TEST((desk.table.extend_hold(key_of("k"), "a", 5s, start).value() == start + 5s));
    BOOST_TEST(desk.owners("k", start + 1s) == "a");
}

BOOST_AUTO_TEST_CASE(the_owners_of_one_lock_are_limited) {
    lock_desk desk({}, {.members_max = 2});
    desk.take("k", "a", shared());
    desk.take("k", "b", shared());
    BOOST_TEST(desk.error_of("k", "c", shared()) == "too many holders");
    BOOST_TEST(desk.take("k", "a", shared()).has_value());
}

BOOST_AUTO_TEST_CASE(an_expiry_set_by_anybody_is_the_end_of_all) {
    lock_desk desk;
    desk.take("k", "a", shared());
    desk.take("k", "b", shared(2));
    desk.expire("k", start + 1s);
    BOOST_TEST((desk.until("k") == start + 1s));
    BOOST_TEST(desk.take("k", "c", {.client = 3}, start + 1s).has_value());
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_later_expiry_set_by_anybody_keeps_them_all) {
    lock_desk desk;
    desk.take("k", "a", {.mode = lock_mode::shared, .ttl = 1s});
    desk.expire("k", start + 5s);
    BOOST_TEST(desk.owners("k", start + 2s) == "a");
    BOOST_TEST(desk.table.persist(key_of("k"), start));
    BOOST_TEST(desk.owners("k", start + 1h) == "a");
    BOOST_TEST((desk.release("k", "a", start + 1h) == 0));
}

BOOST_AUTO_TEST_CASE(a_later_expiry_brings_back_nobody_whose_time_was_over) {
    lock_desk desk;
    desk.take("k", "a", {.mode = lock_mode::shared, .ttl = 1s});
    desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 10s});
    BOOST_TEST(desk.table.expire({.key = key_of("k"), .when = start + 1min}, start + 2s));
    BOOST_TEST(desk.owners("k", start + 2s) == "b");
    BOOST_TEST(desk.lost() == "a");
    desk.take("k", "c", {.client = 3, .mode = lock_mode::shared, .ttl = 1s}, start + 2s);
    BOOST_TEST(desk.table.persist(key_of("k"), start + 3s));
    BOOST_TEST(desk.owners("k", start + 3s) == "b");
    BOOST_TEST(desk.lost() == "c");
}

BOOST_AUTO_TEST_CASE(a_set_over_it_makes_it_a_plain_lock) {
    lock_desk desk;
    desk.take("k", "a", shared());
    const auto fence = desk.table.fence_of(key_of("k"), start).value();
    BOOST_TEST(desk.table.set({.key = key_of("k"), .value = "other"}, start).value().stored);
    BOOST_TEST(desk.owners("k") == "other");
    BOOST_TEST(desk.table.fence_of(key_of("k"), start).value() > fence);
    BOOST_TEST(desk.lost() == "a");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(semaphores)

BOOST_AUTO_TEST_CASE(permits_are_given_while_there_are_enough) {
    lock_desk desk;
    BOOST_TEST(desk.take("k", "a", permits(2, 3)).has_value());
    BOOST_TEST(!desk.take("k", "b", permits(2, 3, 2)).has_value());
    BOOST_TEST(desk.take("k", "c", permits(1, 3, 3)).has_value());
    BOOST_TEST(!desk.take("k", "d", permits(1, 3, 4)).has_value());
    desk.release("k", "a");
    BOOST_TEST(desk.take("k", "b", permits(2, 3, 2)).has_value());
}

BOOST_AUTO_TEST_CASE(an_expired_permit_is_free_again) {
    lock_desk desk;
    auto brief = permits(1, 2);
    brief.ttl = 1s;
    desk.take("k", "a", brief);
    desk.take("k", "b", permits(1, 2, 2));
    BOOST_TEST(!desk.take("k", "c", permits(1, 2, 3), start + 1s - 1ns).has_value());
    BOOST_TEST(desk.take("k", "c", permits(1, 2, 3), start + 1s).has_value());
    BOOST_TEST(desk.owners("k", start + 1s) == "b c");
    BOOST_TEST(desk.lost() == "a");
}

BOOST_AUTO_TEST_CASE(a_refused_one_is_told_when_the_next_permit_ends) {
    lock_desk desk;
    auto brief = permits(1, 2);
    brief.ttl = 1s;
    desk.take("k", "a", brief);
    desk.take("k", "b", permits(1, 2, 2));
    BOOST_TEST((desk.ask("k", "c", permits(1, 2, 3)).value().held_until == start + 1s));
}

BOOST_AUTO_TEST_CASE(an_owner_that_asks_again_takes_more_permits) {
    lock_desk desk;
    desk.take("k", "a", permits(1, 3));
    BOOST_TEST((desk.take("k", "a", permits(1, 3))->holds == 2));
    BOOST_TEST(!desk.take("k", "b", permits(2, 3, 2)).has_value());
    BOOST_TEST(desk.error_of("k", "a", permits(2, 3)) == "other permits");
    BOOST_TEST((desk.take("k", "a", permits(1, 3))->holds == 3));
    BOOST_TEST(!desk.take("k", "a", permits(1, 3)).has_value());
    BOOST_TEST((desk.release("k", "a") == 2));
}

BOOST_AUTO_TEST_CASE(all_agree_on_the_number_of_permits) {
    lock_desk desk;
    desk.take("k", "a", permits(1, 3));
    BOOST_TEST(desk.error_of("k", "b", permits(1, 4)) == "other permits");
    desk.release("k", "a");
    BOOST_TEST(desk.take("k", "b", permits(1, 4)).has_value());
}

BOOST_AUTO_TEST_CASE(a_semaphore_is_no_lock_and_a_lock_no_semaphore) {
    lock_desk desk;
    desk.take("semaphore", "a", permits(1, 3));
    BOOST_TEST(desk.error_of("semaphore", "b", {}) == "other lock type");
    BOOST_TEST(desk.error_of("semaphore", "b", shared()) == "other lock type");
    desk.take("lock", "a");
    BOOST_TEST(desk.error_of("lock", "b", permits(1, 3)) == "other lock type");
    desk.take("read", "a", shared());
    BOOST_TEST(desk.error_of("read", "b", permits(1, 3)) == "other lock type");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fences)

BOOST_AUTO_TEST_CASE(each_grant_of_a_key_has_a_greater_fence) {
    lock_desk desk;
    uint64_t last = 0;
    for (int i = 0; i < 10; ++i) {
        const auto given = desk.take("k", i % 2 == 0 ? "a" : "b", i % 3 == 0 ? shared() : wish{});
        BOOST_TEST(given->fence > last);
        last = given->fence;
        if (i % 2 == 0) {
            desk.release("k", "a");
        } else {
            desk.remove("k");
        }
        BOOST_TEST(desk.set_nx("k", "t", 7));
        const auto of_redis = desk.table.fence_of(key_of("k"), start).value();
        BOOST_TEST(of_redis > last);
        last = of_redis;
        desk.unset("k", "t");
    }
    desk.lost();
}

BOOST_AUTO_TEST_CASE(the_fence_of_a_shared_lock_is_the_highest_that_somebody_holds) {
    lock_desk desk;
    const auto fence = [&desk](instant now = start) {
        return desk.table.fence_of(key_of("k"), now);
    };
    const auto first = desk.take("k", "a", {.client = 1, .mode = lock_mode::shared, .ttl = 9s});
    const auto second = desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 5s});
    desk.take("k", "c", shared(3));
    desk.release("k", "c");
    BOOST_TEST((fence() == second->fence));
    BOOST_TEST((fence(start + 5s) == first->fence));
    BOOST_TEST((fence(start + 9s) == std::nullopt));
    desk.lost();
}

BOOST_AUTO_TEST_CASE(without_a_fence_nothing_is_granted_and_nothing_changes) {
    lock_desk desk({}, {.fence_floor = 5, .fence_ceiling = 7});
    desk.take("k", "a", shared());
    BOOST_TEST((desk.take("other", "b")->fence == 7U));
    BOOST_TEST(desk.error_of("new", "a", {}) == "no fence");
    BOOST_TEST(desk.error_of("k", "b", shared()) == "no fence");
    BOOST_TEST(desk.error_of("other", "b", shared()) == "no fence");
    BOOST_TEST((desk.table.set({.key = key_of("other"), .value = "c"}, start).error() ==
                lock_error::no_fence));
    BOOST_TEST(desk.owners("other") == "b");
    BOOST_TEST((desk.take("other", "b")->holds == 2));
    desk.table.fences().raise_limit(8);
    BOOST_TEST((desk.take("new", "a")->fence == 8U));
}

BOOST_AUTO_TEST_CASE(a_value_of_the_same_owner_needs_no_fence) {
    lock_desk desk({}, {.fence_ceiling = 1});
    BOOST_TEST(desk.set_nx("k", "me", 1));
    BOOST_TEST(desk.table.set({.key = key_of("k"), .value = "me"}, start).value().stored);
    const auto renewed = desk.table.acquire_or_renew(
        {.key = key_of("k"), .value = "me, still", .token_bytes = 2}, start);
    BOOST_TEST((renewed.value().what == acquire_or_renew_outcome::result::renewed));
    BOOST_TEST(desk.table.fence_of(key_of("k"), start).value() == 1U);
}

BOOST_AUTO_TEST_CASE(nothing_is_granted_before_the_start_delay_is_over) {
    lock_desk desk({}, {.grants_from = start + 1s});
    BOOST_TEST(desk.error_of("k", "a", {}) == "starting");
    BOOST_TEST(
        (desk.table
             .set({.key = key_of("k"), .value = "a", .condition = set_condition::if_absent}, start)
             .error() == lock_error::starting));
    BOOST_TEST(desk.take("k", "a", {}, start + 1s).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ends_without_a_release)

BOOST_AUTO_TEST_CASE(an_owner_hears_of_a_lock_that_was_taken_from_it) {
    lock_desk desk;
    const auto given = desk.take("k", "a", {.client = 7}).value();
    desk.remove("k");
    const auto all = desk.table.take_lost();
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].key == "k");
    BOOST_TEST(all[0].owner == "a");
    BOOST_TEST(all[0].fence == given.fence);
    BOOST_TEST(all[0].client == 7U);
    BOOST_TEST(!desk.table.has_lost());
    BOOST_TEST(desk.table.counted().lost == 1U);
}

BOOST_AUTO_TEST_CASE(a_release_is_no_loss) {
    lock_desk desk;
    desk.take("k", "a");
    desk.release("k", "a");
    desk.take("k", "a");
    desk.unset("k", "a");
    desk.take("k", "a", shared());
    desk.release("k", "a");
    const auto given = desk.take("k", "a").value();
    BOOST_TEST(desk.table.take_back(key_of("k"), "a", given.fence, start));
    BOOST_TEST(desk.lost() == "");
}

BOOST_AUTO_TEST_CASE(clients_of_redis_are_told_nothing) {
    lock_desk desk;
    desk.set_nx("k", "token", 1, start, 1s);
    desk.advance(start + 1s);
    BOOST_TEST(!desk.table.exists(key_of("k"), start + 1s));
    BOOST_TEST(desk.lost() == "");
}

BOOST_AUTO_TEST_CASE(breaking_a_lock_tells_all_of_its_owners) {
    lock_desk desk;
    desk.take("k", "a", shared());
    desk.take("k", "b", shared(2));
    BOOST_TEST(desk.table.break_lock(key_of("k"), start));
    BOOST_TEST(desk.lost() == "a, b");
    BOOST_TEST(!desk.table.break_lock(key_of("k"), start));
    BOOST_TEST(desk.take("k", "c").has_value());
    BOOST_TEST(!desk.release("k", "a").has_value());
}

BOOST_AUTO_TEST_CASE(a_flush_is_told_when_its_memory_is_freed) {
    lock_desk desk;
    desk.take("k", "a");
    desk.take("s", "b", shared(2));
    BOOST_TEST(desk.table.flush(0) == 2U);
    BOOST_TEST(desk.take("k", "c", {.client = 3}).has_value());
    desk.advance(start);
    auto told = desk.lost();
    BOOST_TEST((told == "a, b" || told == "b, a"));
    BOOST_TEST(desk.owners("k") == "c");
}

BOOST_AUTO_TEST_CASE(another_value_set_over_it_is_a_loss_and_the_same_is_not) {
    lock_desk desk;
    desk.take("k", "a");
    desk.table.set({.key = key_of("k"), .value = "a"}, start).value();
    BOOST_TEST(desk.lost() == "");
    desk.table.set({.key = key_of("k"), .value = "b"}, start).value();
    BOOST_TEST(desk.lost() == "a");
    desk.remove("k");
    BOOST_TEST(desk.lost() == "");
}

BOOST_AUTO_TEST_CASE(a_grant_is_taken_back_only_if_it_is_still_that_one) {
    lock_desk desk;
    const auto first = desk.take("k", "a").value();
    desk.release("k", "a");
    const auto second = desk.take("k", "a").value();
    BOOST_TEST(!desk.table.take_back(key_of("k"), "a", first.fence, start));
    BOOST_TEST(!desk.table.take_back(key_of("k"), "b", second.fence, start));
    BOOST_TEST(desk.table.take_back(key_of("k"), "a", second.fence, start));
    BOOST_TEST(!desk.table.take_back(key_of("k"), "a", second.fence, start));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(what_happens_is_counted) {
    lock_desk desk;
    desk.take("k", "a");
    desk.take("k", "b", {.client = 2});
    desk.take("k", "a");
    desk.release("k", "a");
    desk.release("k", "a");
    const grant_counters& counted = desk.table.counted();
    BOOST_TEST(counted.grants == 2U);
    BOOST_TEST(counted.refusals == 1U);
    BOOST_TEST(counted.releases == 2U);
    BOOST_TEST(counted.lost == 0U);
    grant_counters sum = counted;
    sum += counted;
    BOOST_TEST(sum.grants == 4U);
    BOOST_TEST(sum.refusals == 2U);
}

BOOST_AUTO_TEST_CASE(who_comes_to_a_lock_with_as_many_owners_as_it_may_have_can_wait) {
    for (const lock_mode mode : {lock_mode::shared, lock_mode::permits}) {
        lock_desk desk({}, {.members_max = 2});
        const auto like = [mode](uint64_t client, std::chrono::milliseconds ttl = 10s) {
            return wish{.client = client, .mode = mode, .of = 5, .ttl = ttl};
        };
        desk.take("k", "a", like(1));
        desk.take("k", "b", like(2, 5s));
        BOOST_TEST(desk.error_of("k", "c", like(3)) == "too many holders");
        BOOST_TEST(desk.take("k", "a", like(1))->holds == 2);
        place c("c", like(3));
        place d("d", like(4));
        desk.wait(c, "k");
        desk.wait(d, "k");
        BOOST_TEST(desk.ended() == "");
        desk.advance(start + 5s);
        BOOST_TEST(desk.ended() == "c granted");
        desk.release("k", "a", start + 5s);
        desk.release("k", "a", start + 5s);
        BOOST_TEST(desk.ended() == "d granted");
        desk.lost();
    }
}

BOOST_AUTO_TEST_CASE(an_owner_that_ends_before_the_others_is_told_in_time) {
    lock_desk desk;
    desk.take("k", "a", {.client = 1, .mode = lock_mode::shared, .ttl = 600s});
    desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 1s});
    desk.take("k", "c", {.client = 3, .mode = lock_mode::shared, .ttl = 2s});
    BOOST_TEST((desk.table.next_expiry() == start + 1s));
    desk.advance(start + 1s);
    BOOST_TEST(desk.lost() == "b");
    BOOST_TEST((desk.table.next_expiry() == start + 2s));
    desk.table.extend_hold(key_of("k"), "c", 5s, start + 1s).value();
    desk.advance(start + 2s);
    BOOST_TEST(desk.lost() == "");
    desk.advance(start + 6s);
    BOOST_TEST(desk.lost() == "c");
    BOOST_TEST((desk.table.next_expiry() == start + 600s));
    desk.advance(start + 600s);
    BOOST_TEST(desk.lost() == "a");
    BOOST_TEST((desk.table.next_expiry() == std::nullopt));
}

BOOST_AUTO_TEST_CASE(owners_of_a_flushed_lock_are_told_once) {
    lock_desk desk;
    desk.take("k", "a", {.client = 1, .mode = lock_mode::shared, .ttl = 600s});
    desk.take("k", "b", {.client = 2, .mode = lock_mode::shared, .ttl = 1s});
    desk.table.flush(0);
    desk.take("k", "c", {.client = 3, .mode = lock_mode::shared, .ttl = 600s});
    BOOST_TEST(desk.table.expire_due(start + 1s, 100).removed > 0);
    BOOST_TEST(desk.lost().size() == std::string_view("a, b").size());
    desk.advance(start + 2s);
    BOOST_TEST(desk.lost() == "");
    BOOST_TEST(desk.owners("k") == "c");
}
