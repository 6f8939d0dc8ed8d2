#include "shards/lock_service.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/when_all.hh>
#include <seastar/testing/test_case.hh>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

SEASTAR_TEST_CASE(turns_are_given_in_the_order_of_asking) {
    lock_service locks({1, 2}, {});
    std::vector<int> order;
    BOOST_TEST(locks.turn_is_free());
    co_await locks.take_turn();
    BOOST_TEST(!locks.turn_is_free());
    std::vector<ss::future<>> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(locks.take_turn().then([&, i] {
            order.push_back(i);
            locks.give_turn();
        }));
    }
    BOOST_TEST(order.empty());
    locks.give_turn();
    co_await ss::when_all_succeed(waiting.begin(), waiting.end());
    BOOST_TEST((order == std::vector<int>{0, 1, 2}));
    BOOST_TEST(locks.turn_is_free());
}

SEASTAR_TEST_CASE(what_concerns_one_lock_does_not_come_between_the_steps_of_others) {
    lock_service locks({1, 2}, {});
    const std::string name = "k";
    const auto key = locks.key(0, name);
    const auto end = read_clock() + 10s;
    const grant_request request{.key = key, .owner = "me", .client = 1, .ttl = 10s};
    const auto now = read_clock();
    const auto fence =
        locks.table().take(request, lock_table::if_refused::may_ask_again, now)->given.fence;
    co_await locks.take_turn();
    auto extended = locks.extend(turn::wait_for_it, 0, name, "me", 60'000ms);
    auto confirmed = locks.confirm(
        turn::wait_for_it,
        {.key = name, .owner = "me", .client = 1, .ttl = 90'000ms, .confirms = {{.fence = fence}}});
    auto taken_back = locks.take_back(turn::wait_for_it, 0, name, "me", fence);
    BOOST_TEST(!extended.available());
    BOOST_TEST(!confirmed.available());
    BOOST_TEST(!taken_back.available());
    BOOST_TEST((locks.table().lifetime_of(key, read_clock()).until <= end + 1s));
    // Whoever has the turn goes on.
    const auto mine = co_await locks.extend(turn::have_it, 0, name, "me", 30'000ms);
    BOOST_TEST(mine.value().has_value());
    locks.give_turn();
    const auto theirs = co_await std::move(extended);
    BOOST_TEST((theirs.value() > mine.value()));
    const auto confirmation = co_await std::move(confirmed);
    BOOST_TEST((confirmation.value()->until > theirs.value()));
    co_await std::move(taken_back);
    BOOST_TEST(!locks.table().exists(key, read_clock()));
    BOOST_TEST(locks.turn_is_free());
}

SEASTAR_TEST_CASE(expired_locks_give_their_memory_back_without_being_asked_for) {
    lock_service locks({1, 2}, {});
    co_await locks.start();
    for (int i = 0; i < 2'000; ++i) {
        const std::string name = "lock:" + std::to_string(i);
        const lock_key key{0, name, locks.hasher().place(name).bucket};
        const auto stored = locks.table().set(
            {.key = key, .value = "me", .expiry = expiry_change::at(read_clock() + 1ms)},
            read_clock());
        BOOST_REQUIRE(stored.has_value());
    }
    while (locks.table().stats().keys > 0) {
        co_await ss::sleep(10ms);
    }
    BOOST_TEST(locks.table().stats().expired == 2'000u);
    co_await locks.stop();
}

/// Another core may have the policies by then, and renew what a connection of this one has taken.
SEASTAR_TEST_CASE(connections_count_with_renewed_locks_as_soon_as_policies_are_prepared) {
    lock_service locks({1, 2}, {});
    BOOST_TEST(!locks.may_renew());
    locks.prepare_policies(policy_book({{"*", {.renew = true}}}));
    BOOST_TEST(locks.may_renew());
    BOOST_TEST(!locks.table().policies().any_renews());
    locks.change_policies();
    BOOST_TEST(locks.table().policies().any_renews());
    locks.prepare_policies(policy_book());
    locks.change_policies();
    BOOST_TEST(!locks.table().policies().any_renews());
    BOOST_TEST(locks.may_renew());
    return ss::make_ready_future<>();
}

SEASTAR_TEST_CASE(the_clock_never_goes_back) {
    auto before = read_clock();
    for (int i = 0; i < 1'000; ++i) {
        const auto now = read_clock();
        BOOST_REQUIRE((now >= before));
        before = now;
    }
    return ss::make_ready_future<>();
}
