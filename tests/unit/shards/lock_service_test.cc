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
