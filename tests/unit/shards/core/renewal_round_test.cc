#include "shards/core/renewal_round.hh"

#include <boost/test/unit_test.hpp>

#include "fleet_support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr auto lease = 10s;
constexpr instant valid = start + 3s;

renewal_round renewal_of(uint8_t count, uint32_t block = 0) {
    return {{.masters = count, .lease = lease, .block = block, .patience = 250ms},
            voter_set::first(count),
            start};
}

renewal_answer yes(uint64_t counter = 0) {
    return renewal_answer::extended(counter);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_majority_moves_the_end_counted_from_before_the_question) {
    auto round = renewal_of(3);
    BOOST_TEST(!round.on_answer(0, yes(), after(100ms), valid).valid_until);
    const auto step = round.on_answer(2, yes(), after(200ms), valid);
    BOOST_REQUIRE(step.valid_until);
    BOOST_TEST(*step.valid_until == after(lease - 102ms));
    BOOST_TEST(step.finished);
}

BOOST_AUTO_TEST_CASE(a_renewal_never_resurrects) {
    auto round = renewal_of(3);
    round.on_answer(0, yes(), after(100ms), valid);
    const instant ended = after(200ms);
    const auto step = round.on_answer(1, yes(), ended, ended);
    BOOST_TEST(!step.valid_until);
    BOOST_TEST(step.finished);
}

BOOST_AUTO_TEST_CASE(a_minority_changes_nothing) {
    auto round = renewal_of(5);
    round.on_answer(0, yes(), start, valid);
    round.on_answer(1, yes(), start, valid);
    round.on_answer(2, renewal_answer::not_ours(), start, valid);
    round.on_answer(3, renewal_answer::refused(), start, valid);
    const auto step = round.on_answer(4, renewal_answer::no_answer(), start, valid);
    BOOST_TEST(!step.valid_until);
    BOOST_TEST(step.finished);
    BOOST_TEST(!round.is_complete());
    BOOST_TEST(round.not_ours() == masters({2}));
}

BOOST_AUTO_TEST_CASE(answers_after_the_deadline_count_for_nothing) {
    auto round = renewal_of(3);
    round.on_answer(0, yes(), start, valid);
    const auto step = round.on_answer(1, yes(), after(250ms), valid);
    BOOST_TEST(!step.valid_until);
    BOOST_TEST(step.finished);
}

BOOST_AUTO_TEST_CASE(a_confirmation_whose_connection_broke_does_not_count) {
    auto round = renewal_of(3);
    round.on_answer(0, yes(), start, valid);
    round.on_link_lost(0, start, valid);
    BOOST_TEST(!round.on_answer(1, yes(), start, valid).valid_until);
    BOOST_TEST(round.on_answer(2, yes(), start, valid).valid_until.has_value());
}

BOOST_AUTO_TEST_CASE(a_block_comes_with_equal_counters) {
    auto round = renewal_of(3, 64);
    round.on_answer(0, yes(640), start, valid);
    const auto step = round.on_answer(1, yes(640), start, valid);
    BOOST_TEST(step.valid_until.has_value());
    BOOST_REQUIRE(step.block);
    BOOST_TEST((*step.block == fence_block{.first = 577, .last = 640}));
    BOOST_TEST(step.finished);
}

BOOST_AUTO_TEST_CASE(counters_that_differ_are_raised_while_the_lease_is_already_extended) {
    auto round = renewal_of(3, 64);
    round.on_answer(0, yes(640), after(1ms), valid);
    auto step = round.on_answer(1, yes(700), after(1ms), valid);
    BOOST_TEST(step.valid_until.has_value());
    BOOST_TEST(!step.finished);
    BOOST_TEST(round.wake_at() == after(3ms));
    step = round.on_time(after(3ms), valid);
    BOOST_TEST(step.raise == masters({0}));
    BOOST_TEST(step.raise_to == 700);
    step = round.on_raised(0, 700, true, after(4ms), valid);
    BOOST_REQUIRE(step.block);
    BOOST_TEST(step.block->last == 700);
    BOOST_TEST(step.finished);
}

BOOST_AUTO_TEST_CASE(who_waits_for_counters_of_which_one_has_gone_is_not_woken_for_them) {
    auto round = renewal_of(3, 64);
    round.on_answer(0, yes(640), after(1ms), valid);
    round.on_answer(1, yes(700), after(1ms), valid);
    BOOST_TEST(round.wake_at() == after(3ms));
    BOOST_TEST(!round.on_link_lost(1, after(2ms), valid).finished);
    BOOST_TEST(round.wake_at() == after(250ms));
    round.on_time(after(3ms), valid);
    BOOST_TEST(round.wake_at() == after(250ms));
    BOOST_TEST(round.on_answer(2, yes(700), after(4ms), valid).raise == masters({0}));
}

BOOST_AUTO_TEST_CASE(without_a_quorum_for_the_block_there_is_none) {
    auto round = renewal_of(3, 64);
    round.on_answer(0, yes(640), after(1ms), valid);
    round.on_answer(1, yes(700), after(1ms), valid);
    BOOST_TEST(round.on_answer(2, renewal_answer::not_ours(), after(1ms), valid).raise ==
               masters({0}));
    const auto step = round.on_raised(0, 700, false, after(2ms), valid);
    BOOST_TEST(!step.block);
    BOOST_TEST(step.finished);
    BOOST_TEST(!round.is_complete());
}

BOOST_AUTO_TEST_CASE(a_block_that_comes_after_the_end_of_the_lease_is_not_taken) {
    auto round = renewal_of(3, 64);
    round.on_answer(0, yes(640), after(1ms), valid);
    const auto step = round.on_answer(1, yes(640), after(2ms), after(2ms));
    BOOST_TEST(!step.block);
    BOOST_TEST(!step.valid_until);
}
