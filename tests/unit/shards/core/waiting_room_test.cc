#include "shards/core/waiting_room.hh"

#include <array>
#include <memory>

#include "lock_desk.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(order)

BOOST_AUTO_TEST_CASE(waiters_are_served_in_the_order_in_which_they_came) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a"), b("b"), c("c");
    desk.wait(a, "k");
    desk.wait(b, "k");
    desk.wait(c, "k");
    BOOST_TEST(desk.ended() == "");
    desk.release("k", "holder");
    BOOST_TEST(desk.ended() == "a granted");
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "b granted");
    desk.release("k", "b");
    BOOST_TEST(desk.ended() == "c granted");
    desk.release("k", "c");
    BOOST_TEST(desk.table.waiters() == 0U);
    BOOST_TEST(desk.waiting_for("k") == 0U);
}

BOOST_AUTO_TEST_CASE(a_hand_off_carries_a_new_fence_and_a_whole_ttl) {
    lock_desk desk;
    const auto before = desk.take("k", "holder").value();
    place a("a", {.ttl = 7s});
    desk.wait(a, "k");
    desk.release("k", "holder", start + 1s);
    BOOST_TEST(desk.ended() == "a granted");
    BOOST_TEST(a.given.fence > before.fence);
    BOOST_TEST((a.given.until == start + 8s));
    BOOST_TEST((desk.until("k", start + 1s) == start + 8s));
    BOOST_TEST(desk.table.counted().hand_offs == 1U);
}

BOOST_AUTO_TEST_CASE(higher_priorities_come_first_and_equal_ones_in_their_order) {
    lock_desk desk;
    desk.take("k", "holder");
    place low("low", {}, end_of_time, -1), a("a"), b("b"), high("high", {}, end_of_time, 5),
        higher("higher", {}, end_of_time, 6), also_high("also", {}, end_of_time, 5);
    for (place* each : {&low, &a, &b, &high, &higher, &also_high}) {
        desk.wait(*each, "k");
    }
    std::string order;
    std::string holder = "holder";
    for (int i = 0; i < 6; ++i) {
        desk.release("k", holder);
        const waiter* const next = desk.table.take_ended();
        BOOST_REQUIRE(next != nullptr);
        holder = next->owner;
        order += holder + " ";
    }
    BOOST_TEST(order == "higher high also a b low ");
}

BOOST_AUTO_TEST_CASE(who_does_not_wait_is_refused_while_somebody_does) {
    lock_desk desk;
    desk.take("k", "reader", shared());
    place writer("writer", {.client = 2});
    desk.wait(writer, "k");
    BOOST_TEST(!desk.take("k", "late", shared(3)).has_value());
    BOOST_TEST(!desk.set_nx("k", "token", 4));
    desk.release("k", "reader");
    BOOST_TEST(desk.ended() == "writer granted");
}

BOOST_AUTO_TEST_CASE(a_waiting_writer_is_not_overtaken_by_later_readers) {
    lock_desk desk;
    desk.take("k", "r1", shared());
    place writer("writer", {.client = 2}), r2("r2", shared(3)), r3("r3", shared(4));
    desk.wait(writer, "k");
    desk.wait(r2, "k");
    desk.wait(r3, "k");
    BOOST_TEST(desk.ended() == "");
    desk.release("k", "r1");
    BOOST_TEST(desk.ended() == "writer granted");
    desk.release("k", "writer");
    BOOST_TEST(desk.ended() == "r2 granted, r3 granted");
    BOOST_TEST(desk.owners("k") == "r2 r3");
}

BOOST_AUTO_TEST_CASE(an_owner_takes_it_again_past_those_who_wait) {
    lock_desk desk;
    desk.take("k", "a");
    place b("b", {.client = 2});
    desk.wait(b, "k");
    BOOST_TEST((desk.take("k", "a")->holds == 2));
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "");
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "b granted");
}

BOOST_AUTO_TEST_CASE(a_downgrade_lets_waiting_readers_in_up_to_the_next_writer) {
    lock_desk desk;
    desk.take("k", "a");
    place r1("r1", shared(2)), r2("r2", shared(3)), writer("w", {.client = 4}), r3("r3", shared(5));
    for (place* each : {&r1, &r2, &writer, &r3}) {
        desk.wait(*each, "k");
    }
    desk.take("k", "a", shared());
    BOOST_TEST(desk.ended() == "r1 granted, r2 granted");
    BOOST_TEST(desk.waiting_for("k") == 2U);
}

BOOST_AUTO_TEST_CASE(a_newcomer_of_high_priority_that_fits_is_served_at_once) {
    lock_desk desk;
    desk.take("k", "r1", shared());
    place writer("writer", {.client = 2}), urgent("urgent", shared(3), end_of_time, 1);
    desk.wait(writer, "k");
    desk.wait(urgent, "k");
    BOOST_TEST(desk.ended() == "urgent granted");
}

BOOST_AUTO_TEST_CASE(a_small_wish_does_not_overtake_a_large_one) {
    lock_desk desk;
    desk.take("k", "a", permits(2, 3));
    place large("large", permits(3, 3, 2)), small("small", permits(1, 3, 3));
    desk.wait(large, "k");
    desk.wait(small, "k");
    BOOST_TEST(desk.ended() == "");
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "large granted");
    desk.release("k", "large");
    BOOST_TEST(desk.ended() == "small granted");
}

BOOST_AUTO_TEST_CASE(permits_go_to_as_many_as_they_are_enough_for) {
    lock_desk desk;
    desk.take("k", "a", permits(3, 3));
    place b("b", permits(1, 3, 2)), c("c", permits(1, 3, 3)), d("d", permits(2, 3, 4));
    for (place* each : {&b, &c, &d}) {
        desk.wait(*each, "k");
    }
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "b granted, c granted");
    desk.release("k", "b");
    BOOST_TEST(desk.ended() == "d granted");
}

BOOST_AUTO_TEST_CASE(keys_and_databases_have_queues_of_their_own) {
    lock_desk desk;
    desk.take("k", "a");
    desk.table
        .take({.key = key_of("k", 1), .owner = "b", .client = 2, .ttl = 10s},
              lock_table::if_refused::may_ask_again, start)
        .value();
    place here("here", {.client = 3}), there("there", {.client = 4});
    desk.wait(here, "k");
    there.at = &desk;
    desk.table.wait(there, key_of("k", 1), start).value();
    desk.table.settle(start);
    desk.table.release_hold(key_of("k", 1), "b", start).value();
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "there granted");
    desk.release("k", "a");
    BOOST_TEST(desk.ended() == "here granted");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ends_of_a_wait)

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_deadline) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a", {.client = 2}, start + 100ms);
    desk.wait(a, "k");
    BOOST_TEST((desk.table.next_due() == start + 100ms));
    desk.advance(start + 100ms - 1ns);
    BOOST_TEST(desk.ended() == "");
    desk.advance(start + 100ms);
    BOOST_TEST(desk.ended() == "a timed out");
    BOOST_TEST(desk.table.counted().timed_out == 1U);
    BOOST_TEST(!desk.table.has_ended());
}

BOOST_AUTO_TEST_CASE(a_lock_that_comes_free_after_a_deadline_goes_to_the_next_one) {
    lock_desk desk;
    desk.take("k", "holder");
    place late("late", {.client = 2}, start + 100ms), next("next", {.client = 3});
    desk.wait(late, "k");
    desk.wait(next, "k");
    // The release comes before the timer does.
    desk.release("k", "holder", start + 100ms);
    BOOST_TEST(desk.ended() == "late timed out, next granted");
}

BOOST_AUTO_TEST_CASE(a_deadline_and_an_expiry_at_the_same_instant_end_the_wait) {
    lock_desk desk;
    desk.take("k", "holder", {.ttl = 100ms});
    place a("a", {.client = 2}, start + 100ms), b("b", {.client = 3});
    desk.wait(a, "k");
    desk.wait(b, "k");
    desk.advance(start + 100ms);
    BOOST_TEST(desk.ended() == "a timed out, b granted");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(who_leaves_costs_the_others_nothing) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a", {.client = 2}), b("b", {.client = 3}), c("c", {.client = 4});
    for (place* each : {&a, &b, &c}) {
        desk.wait(*each, "k");
    }
    desk.table.stop_waiting(a, start);
    desk.table.stop_waiting(b, start);
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "a cancelled, b cancelled");
    desk.release("k", "holder");
    BOOST_TEST(desk.ended() == "c granted");
    BOOST_TEST(desk.table.counted().cancelled == 2U);
}

BOOST_AUTO_TEST_CASE(when_the_first_leaves_those_behind_it_may_fit) {
    lock_desk desk;
    desk.take("k", "r1", shared());
    place writer("writer", {.client = 2}), r2("r2", shared(3)), r3("r3", shared(4));
    for (place* each : {&writer, &r2, &r3}) {
        desk.wait(*each, "k");
    }
    desk.table.stop_waiting(writer, start);
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "writer cancelled, r2 granted, r3 granted");
}

BOOST_AUTO_TEST_CASE(when_the_first_times_out_those_behind_it_may_fit) {
    lock_desk desk;
    desk.take("k", "a", permits(1, 3));
    place large("large", permits(3, 3, 2), start + 1s), small("small", permits(1, 3, 3));
    desk.wait(large, "k");
    desk.wait(small, "k");
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "large timed out, small granted");
}

BOOST_AUTO_TEST_CASE(a_wait_may_be_refused_by_whoever_watches) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a", {.client = 2});
    desk.wait(a, "k");
    desk.table.refuse_waiting(a, lock_error::deadlock, start);
    BOOST_TEST(desk.ended() == "a refused");
    BOOST_TEST((a.error == lock_error::deadlock));
    BOOST_TEST(desk.table.counted().refused_waits == 1U);
}

BOOST_AUTO_TEST_CASE(a_wait_for_what_has_become_something_else_is_refused) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a", {.client = 2});
    desk.wait(a, "k");
    desk.table.remove(key_of("k"), start);
    const std::array<std::string_view, 1> values = {"v"};
    desk.table.list_push(key_of("k"), list_end::back, values, start).value();
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "a refused");
    BOOST_TEST((a.error == lock_error::wrong_type));
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_grant_whose_reply_cannot_be_written_goes_to_the_next) {
    lock_desk desk;
    desk.take("k", "holder");
    place a("a", {.client = 2}), b("b", {.client = 3});
    desk.wait(a, "k");
    desk.wait(b, "k");
    desk.release("k", "holder");
    BOOST_TEST(desk.ended() == "a granted");
    BOOST_TEST(desk.table.take_back(key_of("k"), "a", a.given.fence, start));
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "b granted");
    BOOST_TEST(b.given.fence > a.given.fence);
}

BOOST_AUTO_TEST_CASE(an_owner_whose_two_requests_wait_gets_both) {
    lock_desk desk;
    desk.take("k", "holder");
    place first("a", {.client = 2}), second("a", {.client = 3});
    desk.wait(first, "k");
    desk.wait(second, "k");
    desk.release("k", "holder");
    BOOST_TEST(desk.ended() == "a granted, a granted");
    BOOST_TEST(second.given.holds == 2);
    BOOST_TEST(desk.table.take_back(key_of("k"), "a", first.given.fence, start));
    BOOST_TEST(desk.owners("k") == "a");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(limits)

BOOST_AUTO_TEST_CASE(a_queue_has_a_longest_length) {
    lock_desk desk({.max_waiters = 2});
    desk.take("k", "holder");
    place a("a", {.client = 2}), b("b", {.client = 3}), c("c", {.client = 4});
    BOOST_TEST(desk.try_wait(a, "k") == "none");
    BOOST_TEST(desk.try_wait(b, "k") == "none");
    BOOST_TEST(desk.try_wait(c, "k") == "too many waiters");
    desk.table.stop_waiting(a, start);
    desk.table.settle(start);
    BOOST_TEST(desk.try_wait(c, "k") == "none");
}

BOOST_AUTO_TEST_CASE(a_policy_may_forbid_to_wait) {
    lock_desk desk({.max_waiters = 0});
    desk.take("k", "holder");
    place a("a", {.client = 2});
    BOOST_TEST(desk.try_wait(a, "k") == "too many waiters");
    BOOST_TEST(desk.table.line_of(key_of("k")) == nullptr);
}

BOOST_AUTO_TEST_CASE(all_queues_together_have_a_longest_length) {
    lock_desk desk({}, {}, {.waiters_max = 1});
    desk.take("k", "holder");
    desk.take("l", "holder");
    place a("a", {.client = 2}), b("b", {.client = 3});
    BOOST_TEST(desk.try_wait(a, "k") == "none");
    BOOST_TEST(desk.try_wait(b, "l") == "too many waiters");
}

BOOST_AUTO_TEST_CASE(keys_with_somebody_in_line_are_limited) {
    lock_desk desk({}, {}, {.lines_max = 1});
    desk.take("k", "holder");
    desk.take("l", "holder");
    place a("a", {.client = 2}), b("b", {.client = 3});
    BOOST_TEST(desk.try_wait(a, "k") == "none");
    BOOST_TEST(desk.try_wait(b, "l") == "too many waiters");
    // Who polls is answered all the same, only not remembered.
    BOOST_TEST(!desk.set_nx("l", "t", 4));
    BOOST_TEST(desk.table.line_of(key_of("l")) == nullptr);
}

BOOST_AUTO_TEST_CASE(one_queue_is_for_locks_or_for_a_semaphore) {
    lock_desk desk({.lock_delay = 1s});
    desk.take("k", "holder", {.ttl = 1s});
    place writer("writer", {.client = 2}), permit("permit", permits(1, 3, 3));
    desk.wait(writer, "k");
    desk.advance(start + 1s);
    BOOST_TEST(desk.try_wait(permit, "k", start + 1s) == "other lock type");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(one_queue_is_for_one_number_of_permits) {
    lock_desk desk({.lock_delay = 1s});
    auto brief = permits(3, 3);
    brief.ttl = 1s;
    desk.take("k", "holder", brief);
    place three("three", permits(1, 3, 2)), four("four", permits(1, 4, 3));
    desk.wait(three, "k");
    desk.advance(start + 1s);
    BOOST_TEST(desk.try_wait(four, "k", start + 1s) == "other permits");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(a_line_is_gone_with_the_last_of_its_waiters) {
    lock_desk desk;
    desk.take("k", "holder");
    {
        place a("a", {.client = 2}, start + 1s);
        desk.wait(a, "k");
        BOOST_TEST(desk.table.line_of(key_of("k")) != nullptr);
        desk.advance(start + 1s);
        BOOST_TEST(desk.ended() == "a timed out");
    }
    BOOST_TEST(desk.table.line_of(key_of("k")) == nullptr);
    BOOST_TEST(!desk.table.next_due().has_value());
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_wait_and_are_served_in_order) {
    constexpr size_t keys = 10;
    constexpr size_t per_key = 10'000;
    lock_desk desk;
    std::vector<std::string> holders(keys, "holder");
    for (size_t key = 0; key < keys; ++key) {
        desk.take(std::to_string(key), "holder");
    }
    std::vector<std::unique_ptr<place>> all;
    for (size_t i = 0; i < keys * per_key; ++i) {
        all.push_back(
            std::make_unique<place>("w" + std::to_string(i), wish{.client = 2},
                                    start + 1h + std::chrono::seconds(keys * per_key - i)));
        desk.wait(*all.back(), std::to_string(i % keys));
    }
    BOOST_TEST(desk.table.waiters() == keys * per_key);
    for (size_t i = 0; i < keys * per_key; ++i) {
        desk.release(std::to_string(i % keys), holders[i % keys]);
        const waiter* const next = desk.table.take_ended();
        BOOST_REQUIRE(next == all[i].get());
        holders[i % keys] = next->owner;
    }
    for (size_t key = 0; key < keys; ++key) {
        desk.release(std::to_string(key), holders[key]);
    }
    BOOST_TEST(desk.table.waiters() == 0);
    BOOST_TEST(desk.table.lines() == 0);
    BOOST_TEST(!desk.table.next_due().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(refused_for_other_reasons)

BOOST_AUTO_TEST_CASE(who_waits_during_the_start_delay_is_served_after_it) {
    lock_desk desk({}, {.grants_from = start + 1s});
    place a("a");
    desk.wait(a, "k");
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST((desk.table.next_due() == start + 1s));
    desk.advance(start + 1s);
    BOOST_TEST(desk.ended() == "a granted");
}

BOOST_AUTO_TEST_CASE(who_came_shortly_before_its_end_is_served_then_too) {
    lock_desk desk({}, {.grants_from = start + 1s});
    place a("a");
    desk.wait(a, "k", start + 999ms);
    BOOST_TEST((desk.table.next_due() == start + 1s));
}

BOOST_AUTO_TEST_CASE(who_waits_for_lack_of_fences_is_served_when_there_are_some) {
    lock_desk desk({}, {.fence_ceiling = 1});
    desk.take("k", "holder", shared());
    place together("together", shared(3));
    desk.wait(together, "k");
    BOOST_TEST(desk.ended() == "");
    BOOST_TEST(desk.table.next_due().has_value());
    desk.table.fences().raise_limit(10);
    desk.advance(*desk.table.next_due());
    BOOST_TEST(desk.ended() == "together granted");
}

BOOST_AUTO_TEST_SUITE_END()
