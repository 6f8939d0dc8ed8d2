#include "shards/blocked_pops.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/testing/test_case.hh>

#include "shards/lock_service.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

struct fixture {
    key_hasher hasher{hash_seed{1, 2}};
    lock_table table{};
    blocked_pops pops{hasher};

    void push(std::string_view key, std::vector<std::string_view> values) {
        BOOST_REQUIRE(table.list_push(at(key), list_end::back, values, read_clock()).has_value());
        pops.serve(table, 0, key, read_clock());
    }
    size_t length(std::string_view key) { return *table.list_length(at(key), read_clock()); }
    lock_key at(std::string_view key) const { return {0, key, hasher.place(key).bucket}; }
    ss::future<pop_result> wait(uint64_t client, std::vector<std::string> keys,
                                std::optional<std::chrono::milliseconds> timeout = {}) {
        return pops.wait({.client = client, .keys = std::move(keys), .timeout = timeout});
    }
};

}  // namespace

SEASTAR_TEST_CASE(waiters_are_served_in_the_order_of_arrival) {
    fixture f;
    auto first = f.wait(1, {"a"});
    auto second = f.wait(2, {"a"});
    auto third = f.wait(3, {"a"});
    f.push("a", {"x", "y"});
    BOOST_TEST((co_await std::move(first)).value == "x");
    BOOST_TEST((co_await std::move(second)).value == "y");
    BOOST_TEST(!third.available());
    BOOST_TEST(f.length("a") == 0u);
    f.pops.cancel_all();
    BOOST_TEST(((co_await std::move(third)).how == pop_result::end::cancelled));
}

SEASTAR_TEST_CASE(elements_that_nobody_waits_for_stay_in_the_list) {
    fixture f;
    auto only = f.wait(1, {"a"});
    f.push("a", {"x", "y", "z"});
    BOOST_TEST((co_await std::move(only)).value == "x");
    BOOST_TEST(f.length("a") == 2u);
}

SEASTAR_TEST_CASE(a_waiter_on_several_keys_takes_one_element_and_leaves_all_queues) {
    fixture f;
    auto both = f.wait(1, {"a", "b", "a"});
    auto behind = f.wait(2, {"b"});
    f.push("a", {"x"});
    const auto got = co_await std::move(both);
    BOOST_TEST(got.key == "a");
    BOOST_TEST(got.value == "x");
    f.push("b", {"y"});
    BOOST_TEST((co_await std::move(behind)).value == "y");
    BOOST_TEST(f.pops.size() == 0u);
}

SEASTAR_TEST_CASE(a_wait_ends_at_its_time) {
    fixture f;
    const auto got = co_await f.wait(1, {"a"}, 1ms);
    BOOST_TEST((got.how == pop_result::end::timed_out));
    f.push("a", {"x"});
    BOOST_TEST(f.length("a") == 1u);
}

SEASTAR_TEST_CASE(a_cancelled_waiter_costs_the_others_nothing) {
    fixture f;
    auto gone = f.wait(1, {"a"});
    auto next = f.wait(2, {"a"});
    BOOST_TEST(f.pops.cancel(1));
    BOOST_TEST(!f.pops.cancel(1));
    BOOST_TEST(((co_await std::move(gone)).how == pop_result::end::cancelled));
    f.push("a", {"x"});
    BOOST_TEST((co_await std::move(next)).value == "x");
}
