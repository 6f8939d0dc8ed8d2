#include "bench/load/referee.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::bench;
using namespace std::chrono_literals;

namespace {

constexpr moment start{1000s};
constexpr auto no_fence = std::nullopt;

}  // namespace

BOOST_AUTO_TEST_CASE(one_after_the_other_is_no_fault) {
    referee judge(1, referee::strictness::verifies);
    for (std::uint32_t client = 0; client != 5; ++client) {
        const auto seen = judge.enter(0, client, start, 10s, client + 1);
        BOOST_TEST(!seen.intruded);
        BOOST_TEST(!seen.after_expiry);
        BOOST_TEST(!seen.fence_fell);
        judge.leave(0, client);
    }
}

BOOST_AUTO_TEST_CASE(two_in_a_section_of_one_key_are_an_intrusion) {
    referee judge(1, referee::strictness::verifies);
    judge.enter(0, 1, start, 10s, no_fence);
    BOOST_TEST(judge.enter(0, 2, start + 1s, 10s, no_fence).intruded);
}

BOOST_AUTO_TEST_CASE(two_in_sections_of_two_keys_are_none) {
    referee judge(2, referee::strictness::verifies);
    judge.enter(0, 1, start, 10s, no_fence);
    BOOST_TEST(!judge.enter(1, 2, start, 10s, no_fence).intruded);
}

BOOST_AUTO_TEST_CASE(the_first_client_counts_as_somebody) {
    referee judge(1, referee::strictness::verifies);
    judge.enter(0, 0, start, 10s, no_fence);
    const auto seen = judge.enter(0, 1, start, 10s, no_fence);
    BOOST_TEST(seen.intruded);
    BOOST_TEST(seen.from_another_client);
}

BOOST_AUTO_TEST_CASE(who_stays_past_its_lease_is_not_intruded_upon) {
    referee judge(1, referee::strictness::verifies);
    judge.enter(0, 1, start, 10s, no_fence);
    const auto seen = judge.enter(0, 2, start + 10s, 10s, no_fence);
    BOOST_TEST(!seen.intruded);
    BOOST_TEST(seen.after_expiry);
}

BOOST_AUTO_TEST_CASE(a_late_leave_does_not_push_the_next_one_out) {
    referee judge(1, referee::strictness::verifies);
    judge.enter(0, 1, start, 10s, no_fence);
    judge.enter(0, 2, start + 11s, 10s, no_fence);
    judge.leave(0, 1);
    BOOST_TEST(judge.enter(0, 3, start + 12s, 10s, no_fence).intruded, "2 is still in");
}

BOOST_AUTO_TEST_CASE(a_fence_that_does_not_grow_has_fallen) {
    referee judge(1, referee::strictness::verifies);
    const auto fence = [&](std::uint64_t number) {
        const bool fell = judge.enter(0, 1, start, 10s, number).fence_fell;
        judge.leave(0, 1);
        return fell;
    };
    BOOST_TEST(!fence(0));
    BOOST_TEST(!fence(5));
    BOOST_TEST(fence(5));
    BOOST_TEST(!fence(6));
    BOOST_TEST(fence(3));
}

BOOST_AUTO_TEST_CASE(only_another_client_makes_a_hand_off) {
    referee judge(1, referee::strictness::counts_only);
    const auto handed = [&](std::uint32_t client) {
        const bool from_another = judge.enter(0, client, start, 10s, no_fence).from_another_client;
        judge.leave(0, client);
        return from_another;
    };
    BOOST_TEST(!handed(1), "nobody had it before");
    BOOST_TEST(!handed(1));
    BOOST_TEST(handed(2));
    BOOST_TEST(!handed(2));
    BOOST_TEST(handed(1));
}

BOOST_AUTO_TEST_CASE(without_verification_nothing_is_a_fault) {
    referee judge(1, referee::strictness::counts_only);
    judge.enter(0, 1, start, 10s, 7);
    const auto seen = judge.enter(0, 2, start, 10s, 7);
    BOOST_TEST(!seen.intruded);
    BOOST_TEST(!seen.fence_fell);
    BOOST_TEST(seen.from_another_client);
}
