#include "shards/core/fence_choice.hh"

#include <boost/test/unit_test.hpp>

#include "fleet_support.hh"

using namespace lockkeeper::shards;

namespace {

fence_choice three_votes(uint64_t a, uint64_t b, uint64_t c, uint32_t block = 1) {
    fence_choice choice(3, block);
    choice.vote(0, a);
    choice.vote(1, b);
    choice.vote(2, c);
    return choice;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_quorum_of_equal_votes_is_settled_at_once) {
    fence_choice choice(3, 10);
    choice.vote(0, 30);
    BOOST_TEST(!choice.settled());
    choice.vote(2, 30);
    BOOST_REQUIRE(choice.settled());
    BOOST_TEST(choice.settled()->first == 21);
    BOOST_TEST(choice.settled()->last == 30);
    BOOST_TEST(choice.carriers() == masters({0, 2}));
}

BOOST_AUTO_TEST_CASE(a_third_master_far_ahead_or_behind_does_not_matter) {
    BOOST_TEST(three_votes(5, 900, 5).settled()->last == 5);
    BOOST_TEST(three_votes(5, 1, 5).settled()->last == 5);
    BOOST_TEST(three_votes(5, 1, 5).lagging() == masters({1}));
    BOOST_TEST(three_votes(5, 900, 5).lagging() == masters({}));
}

BOOST_AUTO_TEST_CASE(votes_that_differ_raise_the_lowest_quorum_to_its_highest_level) {
    auto choice = three_votes(4, 9, 6);
    BOOST_TEST(!choice.settled());
    const auto plan = choice.plan_raise();
    BOOST_TEST(plan.who == masters({0}));
    BOOST_TEST(plan.to == 6);
    choice.raised(0, 6);
    BOOST_TEST(choice.settled()->last == 6);
    BOOST_TEST(choice.carriers() == masters({0, 2}));
}

BOOST_AUTO_TEST_CASE(a_master_is_asked_once_for_each_level) {
    auto choice = three_votes(4, 9, 6);
    BOOST_TEST(!choice.plan_raise().who.empty());
    BOOST_TEST(choice.plan_raise().who.empty());
}

BOOST_AUTO_TEST_CASE(who_refuses_to_be_raised_is_replaced) {
    auto choice = three_votes(4, 9, 6);
    choice.plan_raise();
    choice.drop(0);
    BOOST_TEST(!choice.settled());
    const auto plan = choice.plan_raise();
    BOOST_TEST(plan.who == masters({2}));
    BOOST_TEST(plan.to == 9);
    choice.raised(2, 9);
    BOOST_TEST(choice.settled()->last == 9);
    BOOST_TEST(choice.carriers() == masters({1, 2}));
}

BOOST_AUTO_TEST_CASE(a_master_that_was_dropped_does_not_come_back_by_a_late_raise) {
    auto choice = three_votes(4, 9, 6);
    choice.plan_raise();
    choice.drop(0);
    choice.raised(0, 6);
    BOOST_TEST(!choice.settled());
    BOOST_TEST(!choice.voters().contains(0));
}

BOOST_AUTO_TEST_CASE(of_five_the_lowest_three_carry) {
    fence_choice choice(5, 1);
    for (const auto& [who, level] : {std::pair{0, 50}, {1, 20}, {2, 40}, {3, 30}, {4, 10}}) {
        choice.vote(static_cast<master_index>(who), static_cast<uint64_t>(level));
    }
    const auto plan = choice.plan_raise();
    BOOST_TEST(plan.who == masters({1, 4}));
    BOOST_TEST(plan.to == 30);
    choice.raised(1, 30);
    BOOST_TEST(!choice.settled());
    choice.raised(4, 30);
    BOOST_TEST(choice.settled()->last == 30);
    BOOST_TEST(choice.carriers() == masters({1, 3, 4}));
    BOOST_TEST(choice.lagging() == masters({}));
}

BOOST_AUTO_TEST_CASE(one_master_is_a_quorum) {
    fence_choice choice(1, 64);
    choice.vote(0, 64);
    BOOST_TEST(choice.settled()->first == 1);
    BOOST_TEST(choice.settled()->last == 64);
}

BOOST_AUTO_TEST_CASE(without_fences_a_quorum_is_settled_with_nothing) {
    fence_choice choice(3, 0);
    choice.vote(0, 0);
    choice.vote(1, 0);
    BOOST_REQUIRE(choice.settled());
    BOOST_TEST(choice.settled()->last < choice.settled()->first);
}
