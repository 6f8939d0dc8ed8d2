#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "lock_desk.hh"
#include "shards/core/lease_source.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

/// Masters that give what a test lets them, and remember what they were asked for.
class source final : public lease_source {
public:
    struct question {
        instant until;
        std::string token;
    };

    std::optional<uint64_t> fence(const lock_key&, instant until, std::string_view token,
                                  instant) override {
        asked.push_back({until, std::string(token)});
        if (left == 0) {
            return std::nullopt;
        }
        --left;
        return ++last;
    }
    bool is_valid(const lock_key&, instant) override { return true; }
    bool is_elsewhere(const lock_key&, instant) override { return false; }
    std::optional<instant> elsewhere_until(const lock_key&) override { return std::nullopt; }
    void needed_until(const lock_key&, instant until, instant) override { needed.push_back(until); }
    void gone(const lock_key& key, bool, instant) override { given_back.emplace_back(key.name); }

    uint64_t left = 100;
    uint64_t last = 0;
    std::vector<question> asked;
    std::vector<instant> needed;
    std::vector<std::string> given_back;
};

struct leased_desk : lock_desk {
    leased_desk() { table.lease_from(masters); }
    ~leased_desk() { check(); }

    uint64_t fence_of(std::string_view name) {
        return table.fence_of(key_of(name), start).value_or(0);
    }
    lock_result<set_outcome> overwrite(std::string_view name, std::string_view value) {
        return table.set(
            {.key = key_of(name), .value = value, .expiry = expiry_change::at(start + 10s)}, start);
    }

    source masters;
};

}  // namespace

// ---- A grant without a fence of its own is none

BOOST_AUTO_TEST_CASE(who_joins_gets_a_fence_of_his_own_or_nothing) {
    leased_desk desk;
    const auto first = desk.take("k", "one", shared(1));
    desk.masters.left = 0;
    BOOST_TEST(desk.error_of("k", "two", shared(2)) == "no lease");
    BOOST_TEST(desk.owners("k") == "one");
    desk.masters.left = 1;
    const auto second = desk.take("k", "two", shared(2));
    BOOST_TEST(second->fence > first->fence);
    BOOST_TEST(desk.error_of("k", "three", shared(3)) == "no lease");
    BOOST_TEST(desk.owners("k") == "one two");
}

BOOST_AUTO_TEST_CASE(an_owner_who_goes_on_as_one_of_several_needs_a_fence) {
    leased_desk desk;
    const auto first = desk.take("k", "one", {.client = 1});
    desk.masters.left = 0;
    BOOST_TEST(desk.error_of("k", "one", shared(1)) == "no lease");
    BOOST_TEST((desk.table.kind_of(key_of("k"), start) == entry_kind::string));
    BOOST_TEST(desk.fence_of("k") == first->fence);
    desk.masters.left = 1;
    BOOST_TEST(desk.take("k", "one", shared(1))->fence > first->fence);
}

BOOST_AUTO_TEST_CASE(who_overwrites_a_lock_needs_a_fence_and_the_masters_to_hold_his_token) {
    leased_desk desk;
    BOOST_REQUIRE(desk.set_nx("k", "one", 1));
    const uint64_t first = desk.fence_of("k");
    desk.masters.left = 0;
    const auto refused = desk.overwrite("k", "two");
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error() == lock_error::no_lease));
    BOOST_TEST(desk.masters.asked.back().token == "two");
    BOOST_TEST(*desk.table.get(key_of("k"), start).value() == "one");
    BOOST_TEST(desk.lost() == "");
    desk.masters.left = 1;
    BOOST_REQUIRE(desk.overwrite("k", "two"));
    BOOST_TEST(desk.fence_of("k") > first);
}

BOOST_AUTO_TEST_CASE(a_crowd_that_is_served_at_once_waits_for_the_fences_that_are_missing) {
    leased_desk desk;
    const auto writer = desk.take("k", "writer", {.client = 9});
    place one("one", shared(1));
    place two("two", shared(2));
    desk.wait(one, "k");
    desk.wait(two, "k");
    desk.masters.left = 1;
    desk.release("k", "writer");
    BOOST_TEST(desk.ended() == "one granted");
    BOOST_TEST(one.given.fence > writer->fence);
    desk.masters.left = 1;
    desk.table.lease_changed(key_of("k"));
    desk.table.settle(start);
    BOOST_TEST(desk.ended() == "two granted");
    BOOST_TEST(two.given.fence > one.given.fence);
}

// ---- How long masters must hold it

BOOST_AUTO_TEST_CASE(what_lives_by_a_connection_needs_no_lease_to_its_bound) {
    leased_desk desk;
    BOOST_REQUIRE(desk.take("k", "me", bound(1)));
    BOOST_TEST((desk.masters.asked.back().until == end_of_time));
    BOOST_TEST((desk.until("k") == start + 10min));
    // Its connection breaks: what it was promised from then on has an end.
    desk.leave(1, start, 5s);
    BOOST_TEST((desk.masters.needed.back() == start + 5s));
}

BOOST_AUTO_TEST_CASE(of_several_each_needs_what_it_was_told) {
    leased_desk desk;
    BOOST_REQUIRE(desk.take("k", "bound", {.client = 1, .mode = lock_mode::shared, .ttl = {}}));
    BOOST_TEST((desk.masters.asked.back().until == end_of_time));
    BOOST_REQUIRE(desk.take("k", "timed", shared(2)));
    BOOST_TEST((desk.masters.asked.back().until == start + 10s));
    BOOST_TEST((desk.masters.needed == std::vector{start + 10s, end_of_time}));
}

BOOST_AUTO_TEST_CASE(an_owner_who_names_an_end_is_told_when_the_masters_hold_it_so_long) {
    leased_desk desk;
    BOOST_REQUIRE(desk.take("k", "me", bound(1)));
    BOOST_REQUIRE(desk.table.extend_hold(key_of("k"), "me", 60s, start));
    BOOST_TEST((desk.masters.needed.back() == start + 60s));
}

// ---- When nobody needs it any more

BOOST_AUTO_TEST_CASE(a_key_that_was_fetched_for_those_who_have_left_is_given_back) {
    leased_desk desk;
    desk.masters.left = 0;
    place one("one", {.client = 1}, start + 1s);
    desk.wait(one, "k");
    BOOST_TEST(desk.masters.given_back.empty());
    desk.advance(start + 2s);
    BOOST_TEST(desk.ended() == "one timed out");
    BOOST_TEST((desk.masters.given_back == std::vector<std::string>{"k"}));
}
