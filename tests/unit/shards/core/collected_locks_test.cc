#include "lock_desk.hh"

/// One of several locks that are taken together: while they are collected, and when all are there.
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr lock_policy with_grace{.max_hold = 600s, .grace = 1s};

wish collected(uint64_t client) {
    return {.client = client, .ttl = std::nullopt, .is_collected = true};
}

std::optional<grant> confirm(lock_desk& desk, const grant& given, uint64_t client,
                             std::optional<std::chrono::milliseconds> ttl, instant now) {
    return desk.table
        .confirm({.key = key_of("k"),
                  .owner = "a",
                  .client = client,
                  .ttl = ttl,
                  .repeats = given.fence},
                 given.holds == 1 ? collected_as::fresh : collected_as::held_before, now)
        .value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_fresh_one_lives_by_its_connection_until_all_are_there) {
    lock_desk desk(with_grace);
    const auto given = *desk.take("k", "a", collected(1));
    desk.leave(1, start + 5s);
    BOOST_TEST((desk.until("k", start + 5s) == start + 6s));
    BOOST_TEST((given.until == start + 600s));
}

BOOST_AUTO_TEST_CASE(a_fresh_one_gets_its_time_when_all_are_there) {
    lock_desk desk(with_grace);
    const auto given = *desk.take("k", "a", collected(1));
    const auto confirmed = confirm(desk, given, 1, 2s, start + 5s);
    BOOST_REQUIRE(confirmed.has_value());
    BOOST_TEST((confirmed->until == start + 7s));
    BOOST_TEST(confirmed->fence == given.fence);
    BOOST_TEST(confirmed->holds == 1);
    desk.leave(1, start + 6s);
    BOOST_TEST((desk.until("k", start + 6s) == start + 7s));
}

BOOST_AUTO_TEST_CASE(a_fresh_one_without_a_ttl_stays_with_its_connection) {
    lock_desk desk(with_grace);
    const auto given = *desk.take("k", "a", collected(1));
    BOOST_TEST((confirm(desk, given, 1, std::nullopt, start + 5s)->until == start + 600s));
    desk.leave(1, start + 6s);
    BOOST_TEST((desk.until("k", start + 6s) == start + 7s));
}

BOOST_AUTO_TEST_CASE(what_was_held_before_is_not_touched_while_others_are_collected) {
    for (const bool is_bound : {false, true}) {
        lock_desk desk(with_grace);
        desk.take("k", "a", {.client = 1, .ttl = 60s});
        if (is_bound) {
            desk.take("k", "a", bound(2));
        }
        const auto end = desk.until("k");
        const auto given = *desk.take("k", "a", collected(3), start + 1s);
        BOOST_TEST(given.holds == (is_bound ? 3 : 2));
        BOOST_TEST((desk.until("k", start + 1s) == end));
        BOOST_TEST(desk.table.take_back(key_of("k"), "a", given.fence, start + 2s));
        desk.leave(3, start + 3s);
        BOOST_TEST((desk.until("k", start + 3s) == end));
        desk.leave(2, start + 3s);
        BOOST_TEST((desk.until("k", start + 3s) == start + 60s));
        BOOST_TEST((desk.release("k", "a", start + 4s) == (is_bound ? 1 : 0)));
    }
}

BOOST_AUTO_TEST_CASE(a_lock_of_redis_is_still_one_when_the_others_are_not_to_be_had) {
    lock_desk desk(with_grace);
    desk.set_nx("k", "a", 1, start, 5s);
    const auto given = *desk.take("k", "a", collected(2));
    desk.table.take_back(key_of("k"), "a", given.fence, start);
    desk.advance(start + 5s);
    BOOST_TEST(desk.lost() == "");  // nobody is told
}

BOOST_AUTO_TEST_CASE(what_was_held_before_keeps_the_later_end) {
    lock_desk desk(with_grace);
    desk.take("k", "a", {.client = 1, .ttl = 60s});
    auto given = *desk.take("k", "a", collected(2));
    BOOST_TEST((confirm(desk, given, 2, 1s, start + 1s)->until == start + 60s));
    given = *desk.take("k", "a", collected(2));
    BOOST_TEST((confirm(desk, given, 2, 90s, start + 1s)->until == start + 91s));
    BOOST_TEST((confirm(desk, given, 2, 90s, start + 1s)->holds == 3));
    given = *desk.take("k", "a", collected(2));
    BOOST_TEST((confirm(desk, given, 2, std::nullopt, start + 1s)->until == start + 601s));
    desk.leave(2, start + 2s);
    BOOST_TEST((desk.until("k", start + 2s) == start + 91s));
}

BOOST_AUTO_TEST_CASE(what_another_connection_was_told_meanwhile_is_kept) {
    lock_desk desk(with_grace);
    const auto given = *desk.take("k", "a", collected(1));
    desk.take("k", "a", {.client = 2, .ttl = 30s});
    BOOST_TEST((confirm(desk, given, 1, 1s, start)->until == start + 30s));
    BOOST_TEST((desk.until("k") == start + 30s));
}

BOOST_AUTO_TEST_CASE(one_that_was_lost_meanwhile_is_not_confirmed) {
    lock_desk desk(with_grace);
    const auto given = *desk.take("k", "a", collected(1));
    BOOST_TEST(desk.table.holds(key_of("k"), "a", given.fence, start));
    desk.remove("k");
    BOOST_TEST(!confirm(desk, given, 1, 1s, start).has_value());
    // The same owner may have it, but by another grant.
    desk.take("k", "a", {.client = 2});
    BOOST_TEST(!desk.table.holds(key_of("k"), "a", given.fence, start));
    BOOST_TEST(!confirm(desk, given, 1, 1s, start).has_value());
    BOOST_TEST(!desk.table.take_back(key_of("k"), "a", given.fence, start));
    BOOST_TEST(desk.owners("k") == "a");
    desk.lost();
}

BOOST_AUTO_TEST_CASE(an_order_that_is_repeated_over_another_link_is_still_fresh) {
    lock_desk desk(with_grace);
    const auto given = *desk.take("k", "a", collected(1));
    desk.leave(1, start, 5s);
    auto again = collected(2);
    again.repeats = given.fence;
    BOOST_TEST(desk.take("k", "a", again, start + 1s)->holds == 1);
    BOOST_TEST((confirm(desk, given, 2, 2s, start + 20s)->until == start + 22s));
}
