#include "shards/core/quorum_round.hh"

#include <boost/test/unit_test.hpp>

#include "fleet_support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr auto lease = 10s;
constexpr auto drift = 100ms + 2ms;
constexpr auto patience = 250ms;

round_terms terms_of(uint8_t count, uint32_t block = 1) {
    return {
        .masters = count, .lease = lease, .block = block, .patience = patience, .min_grant = 50ms};
}

quorum_round round_of(uint8_t count, uint32_t block = 1) {
    return {terms_of(count, block), voter_set::first(count), start};
}

}  // namespace

// ---- Winning

BOOST_AUTO_TEST_CASE(a_round_is_won_by_a_majority_without_waiting_for_the_rest) {
    auto round = round_of(5, 64);
    BOOST_TEST((round.on_vote(0, vote::granted(640), after(1ms)).state == round_state::open));
    BOOST_TEST((round.on_vote(3, vote::granted(640), after(2ms)).state == round_state::open));
    BOOST_TEST((round.on_vote(4, vote::granted(640), after(3ms)).state == round_state::won));
    BOOST_TEST((round.block() == fence_block{.first = 577, .last = 640}));
    BOOST_TEST(round.carriers() == masters({0, 3, 4}));
    BOOST_TEST(round.outstanding() == masters({1, 2}));
}

BOOST_AUTO_TEST_CASE(validity_counts_from_before_the_first_question) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), after(200ms));
    round.on_vote(1, vote::granted(1), after(240ms));
    BOOST_TEST(round.valid_until() == after(lease - drift));
}

BOOST_AUTO_TEST_CASE(one_master_decides_alone) {
    auto round = round_of(1, 64);
    BOOST_TEST((round.on_vote(0, vote::granted(128), after(1ms)).state == round_state::won));
    BOOST_TEST(round.block().last == 128);
}

BOOST_AUTO_TEST_CASE(nine_masters_need_five) {
    auto round = round_of(9);
    for (master_index master = 0; master < 4; ++master) {
        BOOST_TEST((round.on_vote(master, vote::granted(1), start).state == round_state::open));
    }
    BOOST_TEST((round.on_vote(8, vote::granted(1), start).state == round_state::won));
}

BOOST_AUTO_TEST_CASE(a_verdict_does_not_change_any_more) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), start);
    round.on_vote(1, vote::granted(1), start);
    BOOST_TEST((round.on_link_lost(0, start).state == round_state::won));
    BOOST_TEST((round.on_vote(2, vote::busy(), start).state == round_state::won));
    BOOST_TEST((round.on_time(after(1h)).state == round_state::won));
    BOOST_TEST(round.block().last == 1);
}

BOOST_AUTO_TEST_CASE(a_master_has_one_vote) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), start);
    BOOST_TEST((round.on_vote(0, vote::granted(1), start).state == round_state::open));
}

// ---- Losing

BOOST_AUTO_TEST_CASE(a_round_is_lost_once_a_majority_cannot_be_reached) {
    auto round = round_of(3);
    BOOST_TEST((round.on_vote(0, vote::busy(), start).state == round_state::open));
    BOOST_TEST((round.on_vote(1, vote::busy(), start).state == round_state::lost));
    BOOST_TEST((round.loss() == round_loss::busy));
}

BOOST_AUTO_TEST_CASE(a_loser_releases_wherever_it_may_have_won) {
    auto round = round_of(5);
    round.on_vote(0, vote::granted(1), start);
    round.on_vote(1, vote::busy(), start);
    round.on_vote(2, vote::refused(), start);
    round.on_link_lost(3, start);
    BOOST_TEST((round.state() == round_state::lost));
    // Who said busy has nothing of ours; the others may.
    BOOST_TEST(round.may_hold() == masters({0, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(a_silent_master_may_still_grant_and_is_released) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), start);
    BOOST_TEST((round.on_time(after(patience)).state == round_state::lost));
    BOOST_TEST(round.may_hold() == masters({0, 1, 2}));
    BOOST_TEST((round.loss() == round_loss::unreachable));
}

BOOST_AUTO_TEST_CASE(a_round_that_asks_too_few_is_lost_before_it_begins) {
    const quorum_round round(terms_of(3), masters({1}), start);
    BOOST_TEST((round.state() == round_state::lost));
    BOOST_TEST((round.loss() == round_loss::unreachable));
}

BOOST_AUTO_TEST_CASE(votes_at_the_deadline_count_for_nothing) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), start);
    BOOST_TEST((round.on_vote(1, vote::granted(1), after(patience)).state == round_state::lost));
}

BOOST_AUTO_TEST_CASE(votes_just_before_the_deadline_count) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), start);
    BOOST_TEST(
        (round.on_vote(1, vote::granted(1), after(patience - 1ns)).state == round_state::won));
}

BOOST_AUTO_TEST_CASE(a_win_that_leaves_too_little_of_the_lease_is_none) {
    auto terms = terms_of(1);
    terms.lease = 100ms;  // of which 3 ms are for drift
    terms.min_grant = 50ms;
    quorum_round round(terms, voter_set::first(1), start);
    BOOST_TEST((round.on_vote(0, vote::granted(1), after(47ms + 1ns)).state == round_state::lost));
    BOOST_TEST((round.loss() == round_loss::late));
    quorum_round other(terms, voter_set::first(1), start);
    BOOST_TEST((other.on_vote(0, vote::granted(1), after(47ms)).state == round_state::won));
}

BOOST_AUTO_TEST_CASE(the_reason_tells_busy_from_unreachable) {
    auto busy = round_of(3);
    busy.on_vote(0, vote::granted(1), start);
    busy.on_vote(1, vote::busy(), start);
    busy.on_time(after(patience));
    BOOST_TEST((busy.loss() == round_loss::busy));

    auto gone = round_of(3);
    gone.on_vote(0, vote::busy(), start);
    gone.on_time(after(patience));
    BOOST_TEST((gone.loss() == round_loss::unreachable));

    // One of five may not vote, two have said busy: the two that were not waited for do not matter.
    quorum_round early(terms_of(5), masters({0, 1, 2, 3}), start);
    early.on_vote(0, vote::busy(), start);
    early.on_vote(1, vote::busy(), start);
    BOOST_TEST((early.state() == round_state::lost));
    BOOST_TEST((early.loss() == round_loss::busy));

    // A majority voted for us, but did not agree on a fence in time: nobody is in the way.
    auto slow = round_of(3);
    slow.on_vote(0, vote::granted(1), start);
    slow.on_vote(1, vote::granted(2), start);
    slow.on_time(after(patience));
    BOOST_TEST((slow.state() == round_state::lost));
    BOOST_TEST((slow.loss() == round_loss::unreachable));
}

BOOST_AUTO_TEST_CASE(the_remaining_time_is_that_until_a_majority_is_free) {
    auto round = round_of(5);
    round.on_vote(0, vote::granted(1), start);
    round.on_vote(1, vote::busy(9s), start);
    round.on_vote(2, vote::busy(3s), start);
    round.on_vote(3, vote::busy(5s), start);
    BOOST_TEST((round.state() == round_state::lost));
    // 0 is ours to give, 4 did not say no: the one that ends first is enough.
    BOOST_TEST((round.free_in() == 3s));
}

BOOST_AUTO_TEST_CASE(the_remaining_time_is_not_guessed) {
    auto round = round_of(3);
    round.on_vote(0, vote::busy(), start);
    round.on_vote(1, vote::busy(), start);
    BOOST_TEST(!round.free_in());
}

// ---- Connections

BOOST_AUTO_TEST_CASE(a_vote_whose_connection_broke_does_not_count) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(1), start);
    round.on_link_lost(0, start);
    BOOST_TEST((round.on_vote(1, vote::granted(1), start).state == round_state::open));
    BOOST_TEST((round.on_vote(2, vote::granted(1), start).state == round_state::won));
    BOOST_TEST(round.carriers() == masters({1, 2}));
    BOOST_TEST(round.holders() == masters({1, 2}));
    BOOST_TEST(round.may_hold() == masters({0, 1, 2}));
}

// ---- Fences that differ

BOOST_AUTO_TEST_CASE(votes_that_differ_wait_for_one_that_makes_a_quorum_of_equals) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    auto step = round.on_vote(1, vote::granted(7), after(2ms));
    BOOST_TEST((step.state == round_state::open));
    BOOST_TEST(step.raise.empty());
    BOOST_TEST(round.wake_at() == after(4ms));
    step = round.on_vote(2, vote::granted(7), after(3ms));
    BOOST_TEST((step.state == round_state::won));
    BOOST_TEST(round.block().last == 7);
    BOOST_TEST(round.lagging() == masters({0}));
}

BOOST_AUTO_TEST_CASE(after_two_milliseconds_the_lower_members_are_raised) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(7), after(2ms));
    const auto step = round.on_time(after(4ms));
    BOOST_TEST(step.raise == masters({0}));
    BOOST_TEST(step.raise_to == 7);
    BOOST_TEST(round.wake_at() == after(patience));
    BOOST_TEST((round.on_raised(0, 7, true, after(5ms)).state == round_state::won));
    BOOST_TEST(round.block().last == 7);
}

BOOST_AUTO_TEST_CASE(who_waits_for_votes_of_which_one_has_gone_is_not_woken_for_them) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(7), after(2ms));
    BOOST_TEST(round.wake_at() == after(4ms));
    BOOST_TEST((round.on_link_lost(1, after(3ms)).state == round_state::open));
    BOOST_TEST(round.wake_at() == after(patience));
    round.on_time(after(4ms));
    BOOST_TEST(round.wake_at() == after(patience));
    // Nobody is left who could make a quorum of equals.
    BOOST_TEST((round.on_vote(2, vote::granted(7), after(9ms)).raise == masters({0})));
}

BOOST_AUTO_TEST_CASE(a_second_quorum_that_differs_is_waited_for_as_the_first) {
    auto round = round_of(5);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(6), after(1ms));
    round.on_vote(2, vote::granted(7), after(1ms));
    round.on_link_lost(2, after(2ms));
    BOOST_TEST(round.wake_at() == after(patience));
    BOOST_TEST(round.on_vote(3, vote::granted(7), after(10ms)).raise.empty());
    BOOST_TEST(round.wake_at() == after(12ms));
    BOOST_TEST(!round.on_time(after(12ms)).raise.empty());
    BOOST_TEST(round.wake_at() == after(patience));
}

BOOST_AUTO_TEST_CASE(when_all_have_answered_nothing_is_waited_for) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::busy(), after(1ms));
    const auto step = round.on_vote(2, vote::granted(7), after(1ms));
    BOOST_TEST(step.raise == masters({0}));
}

BOOST_AUTO_TEST_CASE(a_late_vote_may_settle_what_a_raise_was_sent_for) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(7), after(2ms));
    round.on_time(after(4ms));
    BOOST_TEST((round.on_vote(2, vote::granted(7), after(5ms)).state == round_state::won));
    BOOST_TEST(round.carriers() == masters({1, 2}));
}

BOOST_AUTO_TEST_CASE(a_refused_raise_chooses_anew_or_loses) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(7), after(1ms));
    BOOST_TEST(round.on_vote(2, vote::granted(9), after(1ms)).raise == masters({0}));
    const auto step = round.on_raised(0, 7, false, after(2ms));
    BOOST_TEST(step.raise == masters({1}));
    BOOST_TEST(step.raise_to == 9);
    BOOST_TEST((round.on_raised(1, 9, false, after(3ms)).state == round_state::lost));
    BOOST_TEST(round.may_hold() == masters({0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_confirmation_of_a_lower_level_is_not_enough) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(7), after(1ms));
    round.on_vote(2, vote::granted(9), after(1ms));
    round.on_link_lost(1, after(1ms));  // the choice is now 0 and 2, raised to 9
    BOOST_TEST((round.on_raised(0, 7, true, after(2ms)).state == round_state::open));
    BOOST_TEST((round.on_raised(0, 9, true, after(3ms)).state == round_state::won));
    BOOST_TEST(round.block().last == 9);
}

BOOST_AUTO_TEST_CASE(a_raise_that_is_not_confirmed_in_time_loses_the_round) {
    auto round = round_of(3);
    round.on_vote(0, vote::granted(5), after(1ms));
    round.on_vote(1, vote::granted(7), after(1ms));
    round.on_vote(2, vote::busy(), after(1ms));
    BOOST_TEST((round.on_raised(0, 7, true, after(patience)).state == round_state::lost));
}

BOOST_AUTO_TEST_CASE(without_fences_votes_never_differ) {
    auto round = round_of(3, 0);
    round.on_vote(0, vote::granted(0), start);
    BOOST_TEST((round.on_vote(1, vote::granted(0), start).state == round_state::won));
}
