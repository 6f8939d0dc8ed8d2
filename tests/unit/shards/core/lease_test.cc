#include "shards/core/lease.hh"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "fleet_support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

using kind = lease_action::kind;
using phase = lease::phase;

constexpr auto ttl = 10s;
/// What a lease for `ttl` is asked for, and how long it is then believed in.
constexpr auto length = 20s;
constexpr auto validity = length - 200ms - 2ms;

/// A lease and everything that it asks for.
struct desk {
    explicit desk(uint8_t count = 3) : admitted(voter_set::first(count)) { rules.masters = count; }

    lease_turn turn() { return {rules, admitted, now, 12'345'678, out}; }

    /// What was asked for since the last call.
    std::vector<lease_action> taken() { return std::exchange(out, {}); }
    /// The only action, of this kind.
    lease_action only(kind what) {
        auto actions = taken();
        BOOST_REQUIRE(actions.size() == 1);
        BOOST_REQUIRE((actions[0].what == what));
        return actions[0];
    }

    void acquire(std::chrono::nanoseconds wanted = ttl) {
        key.acquire(wanted, {.high = ++attempts, .low = 7}, turn());
    }
    void vote(int from, const lockkeeper::shards::vote& answer) {
        key.on_vote(key.attempt(), static_cast<master_index>(from), answer, turn());
        check();
    }
    void renewed(int from, const renewal_answer& answer) {
        key.on_renewed(key.attempt(), static_cast<master_index>(from), answer, turn());
        check();
    }
    void raised(int from, uint64_t to, bool confirmed) {
        key.on_raised(key.attempt(), static_cast<master_index>(from), to, confirmed, turn());
        check();
    }
    void at(instant when) {
        now = when;
        key.on_time(turn());
        check();
    }
    /// Whatever else happens before it.
    lease_action next_renewal() {
        lease_action next{.what = kind::vote};
        while (next.what != kind::renew) {
            at(key.wake_at(rules));
            for (const auto& action : taken()) {
                next = action.what == kind::renew ? action : next;
            }
            BOOST_REQUIRE((key.state() == phase::held));
        }
        return next;
    }
    /// All masters vote for us, with counters at `level`.
    void win(uint64_t level = 640, std::chrono::nanoseconds wanted = ttl) {
        acquire(wanted);
        for (const master_index master : admitted) {
            vote(master, lockkeeper::shards::vote::granted(level));
        }
        BOOST_REQUIRE((key.state() == phase::held));
        taken();
    }
    void check() {
        const auto broken = key.verify(rules);
        BOOST_TEST(!broken, broken.value_or(""));
    }

    lease_rules rules{};
    voter_set admitted;
    instant now = start;
    uint64_t attempts = 0;
    std::vector<lease_action> out;
    lease key;
};

}  // namespace

// ---- Acquiring

BOOST_AUTO_TEST_CASE(a_lease_is_longer_than_the_grant_that_it_is_taken_for) {
    const lease_rules rules;
    BOOST_TEST((rules.length_for(10s) == 20s));        // as long again
    BOOST_TEST((rules.length_for(100ms) == 5'100ms));  // or the slack
    BOOST_TEST((rules.length_for(9min) == 10min));     // up to the longest lease
    BOOST_TEST((rules.length_for(24h) == 10min));
    BOOST_TEST((rules.length_for(1'500us) == 5'002ms));
}

BOOST_AUTO_TEST_CASE(rounds_for_short_locks_wait_less) {
    const lease_rules rules;
    BOOST_TEST((rules.patience_for(1s) == 100ms));
    BOOST_TEST((rules.patience_for(10s) == 250ms));
    BOOST_TEST((rules.patience_for(1ms) == 20ms));
}

BOOST_AUTO_TEST_CASE(an_alarm_that_has_rung_does_not_ring_again_at_once) {
    desk it;
    it.acquire();
    it.vote(0, lockkeeper::shards::vote::granted(5));
    it.vote(1, lockkeeper::shards::vote::granted(7));
    const instant alarm = it.key.wake_at(it.rules);
    it.key.on_link_lost(1, it.turn());
    it.at(alarm);
    BOOST_TEST((it.key.state() == phase::acquiring));
    BOOST_TEST(it.key.wake_at(it.rules) > it.now);
}

BOOST_AUTO_TEST_CASE(all_admitted_masters_are_asked_at_once) {
    desk it;
    it.acquire();
    const auto asked = it.only(kind::vote);
    BOOST_TEST(asked.to == masters({0, 1, 2}));
    BOOST_TEST((asked.length == length));
    BOOST_TEST(asked.block == 64);
    BOOST_TEST((it.key.state() == phase::acquiring));
}

BOOST_AUTO_TEST_CASE(a_won_round_is_held_with_fences_and_an_end) {
    desk it;
    it.acquire();
    it.now = after(3ms);
    it.vote(0, vote::granted(640));
    it.vote(1, vote::granted(640));
    BOOST_TEST((it.key.state() == phase::held));
    BOOST_TEST(it.key.valid_until() == after(validity));
    BOOST_TEST(it.key.next_fence() == 577);
    BOOST_TEST(it.key.holders() == masters({0, 1}));
}

BOOST_AUTO_TEST_CASE(every_attempt_has_an_id_of_its_own_and_old_answers_are_ignored) {
    desk it;
    it.acquire();
    const auto first = it.key.attempt();
    it.key.release(it.turn());
    it.acquire();
    BOOST_TEST((it.key.attempt() != first));
    it.key.on_vote(first, 0, vote::granted(640), it.turn());
    it.key.on_vote(first, 1, vote::granted(640), it.turn());
    BOOST_TEST((it.key.state() == phase::acquiring));
}

BOOST_AUTO_TEST_CASE(without_a_majority_of_admitted_masters_nothing_is_sent) {
    desk it;
    it.admitted = masters({2});
    it.acquire();
    BOOST_TEST((it.key.state() == phase::unreachable));
    BOOST_TEST(it.taken().empty());
    BOOST_TEST(!it.key.may_try(it.now));
    it.now = it.key.wake_at(it.rules);
    BOOST_TEST(it.key.may_try(it.now));
}

BOOST_AUTO_TEST_CASE(a_lost_round_releases_and_looks_who_has_the_key) {
    desk it;
    it.acquire();
    it.taken();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::busy());
    it.vote(2, vote::busy());
    const auto actions = it.taken();
    BOOST_REQUIRE(actions.size() == 2);
    BOOST_TEST((actions[0].what == kind::release));
    BOOST_TEST(actions[0].to == masters({0}));
    BOOST_TEST(actions[0].until > it.now + length);
    BOOST_TEST((actions[1].what == kind::look));
    BOOST_TEST(actions[1].to == masters({1}));
    BOOST_TEST((it.key.state() == phase::elsewhere));
    BOOST_TEST((it.key.loss() == round_loss::busy));
}

BOOST_AUTO_TEST_CASE(what_was_looked_at_is_remembered_and_awaited) {
    desk it;
    it.acquire();
    it.vote(0, vote::busy());
    it.vote(1, vote::busy());
    it.key.on_looked(it.key.attempt(), "proxy-b:123", 120ms, it.turn());
    BOOST_TEST(it.key.holder() == "proxy-b:123");
    BOOST_TEST(*it.key.held_elsewhere_until() == it.now + 120ms);
    BOOST_TEST(it.key.wake_at(it.rules) <= it.now + 130ms);
    BOOST_TEST(it.key.wake_at(it.rules) >= it.now + 50ms);
    BOOST_TEST(!it.key.may_try(it.now));
}

BOOST_AUTO_TEST_CASE(a_key_that_stays_busy_is_tried_at_a_bounded_pace) {
    desk it;
    const instant end = it.now + 10s;
    int rounds = 0;
    while (it.now < end) {
        it.acquire();
        it.vote(0, vote::busy());
        it.vote(1, vote::busy());
        ++rounds;
        it.now = it.key.wake_at(it.rules);
    }
    BOOST_TEST(rounds <= 200);
    BOOST_TEST(rounds >= 10);
}

BOOST_AUTO_TEST_CASE(a_round_that_times_out_releases_on_the_silent_masters_too) {
    desk it;
    it.acquire();
    it.taken();
    it.vote(0, vote::granted(640));
    it.at(it.key.wake_at(it.rules));
    BOOST_TEST((it.key.state() == phase::unreachable));
    BOOST_TEST(it.only(kind::release).to == masters({0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_released_attempt_leaves_nothing_behind) {
    desk it;
    it.acquire();
    it.taken();
    it.vote(1, vote::busy());
    it.key.release(it.turn());
    BOOST_TEST((it.key.state() == phase::absent));
    BOOST_TEST(it.only(kind::release).to == masters({0, 2}));
    BOOST_TEST(it.key.may_try(it.now));
}

// ---- Fences

BOOST_AUTO_TEST_CASE(votes_that_differ_are_raised_before_anything_is_granted) {
    desk it;
    it.acquire();
    it.taken();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::granted(704));
    it.vote(2, vote::busy());
    const auto raise = it.only(kind::raise);
    BOOST_TEST(raise.to == masters({0}));
    BOOST_TEST(raise.raise_to == 704);
    BOOST_TEST((it.key.grant(ttl, it.turn()).error() == grant_obstacle::not_held));
    it.raised(0, 704, true);
    BOOST_TEST((it.key.state() == phase::held));
    BOOST_TEST(it.key.grant(ttl, it.turn())->fence == 641);
}

BOOST_AUTO_TEST_CASE(a_late_vote_joins_and_is_raised_in_the_background) {
    desk it;
    it.acquire();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::granted(640));
    it.taken();
    it.vote(2, vote::granted(128));
    const auto raise = it.only(kind::raise);
    BOOST_TEST(raise.to == masters({2}));
    BOOST_TEST(raise.raise_to == 640);
    BOOST_TEST(it.key.holders() == masters({0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(each_fence_is_given_once_and_the_next_is_higher) {
    desk it;
    it.win(640);
    uint64_t last = 0;
    for (int i = 0; i < 64; ++i) {
        const auto given = it.key.grant(1s, it.turn());
        BOOST_REQUIRE(given);
        BOOST_TEST(given->fence > last);
        last = given->fence;
    }
    BOOST_TEST(last == 640);
    BOOST_TEST((it.key.grant(1s, it.turn()).error() == grant_obstacle::no_fence));
}

BOOST_AUTO_TEST_CASE(new_fences_are_fetched_in_time_while_others_wait) {
    desk it;
    it.win(640);
    it.key.expect(1s, it.rules);
    std::vector<lease_action> asked;
    for (int i = 0; i < 40; ++i) {
        BOOST_REQUIRE(it.key.grant(1s, it.turn()));
    }
    const auto renew = it.only(kind::renew);  // one, though several were due
    BOOST_TEST(renew.block == 512);           // more than before: the key is hot
    it.renewed(0, renewal_answer::extended(1'152));
    it.renewed(1, renewal_answer::extended(1'152));
    BOOST_TEST(it.key.next_fence() == 641);
    BOOST_TEST(it.key.grant(1s, it.turn())->fence == 641);
}

BOOST_AUTO_TEST_CASE(without_fences_grants_carry_none) {
    desk it;
    it.rules.fences = false;
    it.acquire();
    BOOST_TEST(it.only(kind::vote).block == 0);
    it.vote(0, vote::granted(0));
    it.vote(1, vote::granted(0));
    for (int i = 0; i < 200; ++i) {
        BOOST_TEST(it.key.grant(1s, it.turn())->fence == 0);
    }
}

// ---- Grants

BOOST_AUTO_TEST_CASE(a_grant_never_outlives_the_lease) {
    desk it;
    it.win();
    it.now = after(validity - ttl);
    BOOST_TEST(it.key.grant(ttl, it.turn())->until == after(validity));
    it.now = it.now + 1ns;
    it.taken();
    BOOST_TEST((it.key.grant(ttl, it.turn()).error() == grant_obstacle::too_short));
    // Room is being made for it.
    it.only(kind::renew);
    it.renewed(0, renewal_answer::extended());
    it.renewed(2, renewal_answer::extended());
    const auto given = it.key.grant(ttl, it.turn());
    BOOST_REQUIRE(given);
    BOOST_TEST(given->until <= it.key.valid_until());
}

BOOST_AUTO_TEST_CASE(nothing_is_granted_from_a_lease_that_is_nearly_over) {
    desk it;
    it.win();
    it.now = after(validity - 10ms);
    BOOST_TEST(it.key.grant_untimed(it.turn()).has_value());
    it.now = after(validity - 10ms + 1ns);
    BOOST_TEST((it.key.grant_untimed(it.turn()).error() == grant_obstacle::nearly_over));
    it.now = after(validity + 1h);
    BOOST_TEST(!it.key.grant_untimed(it.turn()));
}

BOOST_AUTO_TEST_CASE(nothing_is_granted_after_release_loss_or_close) {
    desk it;
    it.win();
    it.key.release(it.turn());
    BOOST_TEST((it.key.grant(1s, it.turn()).error() == grant_obstacle::not_held));

    desk other;
    other.win();
    other.at(after(validity));
    BOOST_TEST((other.key.state() == phase::lost));
    BOOST_TEST((other.key.grant(1s, other.turn()).error() == grant_obstacle::not_held));

    desk third;
    third.win();
    third.key.close();
    BOOST_TEST((third.key.grant(1s, third.turn()).error() == grant_obstacle::not_held));
}

BOOST_AUTO_TEST_CASE(a_ttl_that_no_lease_can_cover_lives_on_renewals) {
    desk it;
    it.win(640, 24h);
    const auto given = it.key.grant(24h, it.turn());
    BOOST_REQUIRE(given);
    BOOST_TEST(given->until == it.key.valid_until());
    BOOST_TEST(it.key.wake_at(it.rules) == start + 600s / 3);
}

// ---- Renewal

BOOST_AUTO_TEST_CASE(an_explicit_ttl_is_not_renewed) {
    desk it;
    it.win();
    BOOST_REQUIRE(it.key.grant(ttl, it.turn()));
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
    it.at(after(validity - 1s));
    BOOST_TEST(it.taken().empty());
}

BOOST_AUTO_TEST_CASE(an_untimed_lease_is_renewed_every_third) {
    desk it;
    it.win(640, 15s);  // 30 s
    BOOST_REQUIRE(it.key.grant_untimed(it.turn()));
    for (int i = 1; i <= 10; ++i) {
        BOOST_TEST(it.key.wake_at(it.rules) == after(i * 10s));
        it.at(after(i * 10s));
        BOOST_TEST((it.only(kind::renew).length == 30s));
        it.renewed(0, renewal_answer::extended());
        it.renewed(1, renewal_answer::extended());
        it.renewed(2, renewal_answer::extended());
        BOOST_TEST(!it.key.is_extending());
    }
    it.key.needed_until(start_of_time);
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
}

BOOST_AUTO_TEST_CASE(while_somebody_waits_the_lease_keeps_room_for_a_hand_off) {
    desk it;
    it.win();
    it.key.expect(ttl, it.rules);
    // Half of the slack may go.
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until() - 15s);
    it.at(it.key.wake_at(it.rules));
    it.only(kind::renew);
    it.renewed(0, renewal_answer::extended());
    it.renewed(1, renewal_answer::extended());
    BOOST_TEST(it.key.valid_until() == it.now + validity);
    it.key.expect(0s, it.rules);
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
}

BOOST_AUTO_TEST_CASE(one_extension_is_under_way_at_most) {
    desk it;
    it.win();
    it.now = after(validity - 1s);
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(!it.key.grant(ttl, it.turn()));
        BOOST_TEST(!it.key.cover(it.now + ttl, it.turn()));
        it.key.on_time(it.turn());
    }
    it.only(kind::renew);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_fails_is_tried_again_until_the_lease_ends) {
    desk it;
    it.win(640, 15s);
    BOOST_REQUIRE(it.key.grant_untimed(it.turn()));
    int renewals = 0;
    while (it.key.state() == phase::held) {
        it.at(it.key.wake_at(it.rules));
        for (const auto& action : it.taken()) {
            if (action.what == kind::renew) {
                ++renewals;
                for (const master_index master : action.to) {
                    it.renewed(master, renewal_answer::refused());
                }
            }
        }
    }
    BOOST_TEST(renewals > 20);
    BOOST_TEST(renewals < 50);
    BOOST_TEST((it.key.state() == phase::lost));
    BOOST_TEST(it.now == start + 30s - 302ms);
}

BOOST_AUTO_TEST_CASE(without_a_majority_a_lease_looks_for_one_seldom_until_its_end_is_near) {
    desk it;
    it.win(640, 15s);
    BOOST_REQUIRE(it.key.grant_untimed(it.turn()));
    it.admitted = masters({0});
    it.at(it.key.wake_at(it.rules));
    BOOST_TEST(it.key.wake_at(it.rules) == it.now + 1'500ms);
    it.at(it.key.valid_until() - 400ms);
    BOOST_TEST(it.key.wake_at(it.rules) == it.now + 100ms);
    it.at(it.key.valid_until() - 1ms);
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
    BOOST_TEST(it.taken().empty());
}

BOOST_AUTO_TEST_CASE(fences_that_are_all_given_out_are_fetched) {
    desk it;
    BOOST_TEST(!it.key.fetch_fences(it.turn()));
    it.win();
    BOOST_TEST(it.key.fetch_fences(it.turn()));
    for (int i = 0; i < 64; ++i) {
        BOOST_REQUIRE(it.key.grant(1ms, it.turn()));
    }
    BOOST_TEST(it.taken().empty());
    BOOST_TEST(!it.key.fetch_fences(it.turn()));
    for (const master_index master : it.only(kind::renew).to) {
        it.renewed(master, renewal_answer::extended(2'000));
    }
    BOOST_TEST(it.key.fetch_fences(it.turn()));
}

BOOST_AUTO_TEST_CASE(a_late_answer_to_a_renewal_is_not_taken_for_one_to_the_next) {
    desk it(5);
    it.win(640, 15s);
    BOOST_REQUIRE(it.key.grant_untimed(it.turn()));
    it.at(it.key.wake_at(it.rules));
    BOOST_TEST(it.only(kind::renew).to == masters({0, 1, 2, 3, 4}));
    for (const int master : {0, 1}) {
        it.renewed(master, renewal_answer::extended());
    }
    const instant valid_until = it.key.valid_until();
    it.at(it.key.wake_at(it.rules));  // in vain
    for (const int master : {2, 3}) {
        it.renewed(master, renewal_answer::refused());
    }
    // The fifth has been asked once, long ago, and that is what it will answer to.
    BOOST_TEST(it.next_renewal().to == masters({0, 1, 2, 3}));
    it.now = it.now + 1ms;
    it.renewed(0, renewal_answer::extended());
    it.renewed(1, renewal_answer::extended());
    it.renewed(4, renewal_answer::extended());
    BOOST_TEST(it.key.valid_until() == valid_until);
    it.renewed(2, renewal_answer::extended());
    BOOST_TEST(it.key.valid_until() > valid_until);
    // Now it owes nothing, and is asked again.
    it.renewed(3, renewal_answer::extended());
    it.taken();
    BOOST_TEST(it.next_renewal().to == masters({0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(a_lost_connection_owes_no_answer) {
    desk it;
    it.win(640, 15s);
    BOOST_REQUIRE(it.key.grant_untimed(it.turn()));
    it.at(it.key.wake_at(it.rules));
    it.taken();
    for (const master_index master : it.admitted) {
        it.key.on_link_lost(master, it.turn());
    }
    it.at(it.key.wake_at(it.rules));
    BOOST_TEST(it.only(kind::renew).to == masters({0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_lease_releases_what_partial_renewals_have_kept_alive) {
    desk it;
    it.win();
    it.taken();
    it.at(after(validity));
    BOOST_TEST(it.only(kind::release).to == masters({0, 1, 2}));
    BOOST_TEST(it.key.may_try(it.now));
}

BOOST_AUTO_TEST_CASE(a_key_that_a_majority_does_not_have_any_more_is_lost_at_once) {
    desk it;
    it.win(640, 15s);
    BOOST_REQUIRE(it.key.grant_untimed(it.turn()));
    it.at(it.key.wake_at(it.rules));
    it.renewed(0, renewal_answer::not_ours());
    BOOST_TEST((it.key.state() == phase::held));
    it.renewed(1, renewal_answer::not_ours());
    BOOST_TEST((it.key.state() == phase::lost));
}

BOOST_AUTO_TEST_CASE(a_renewal_never_asks_for_less_than_the_masters_hold_already) {
    desk it;
    it.win(640, 4min);  // 8 minutes
    BOOST_TEST(it.key.cover(it.key.valid_until(), it.turn()));
    it.now = after(7min);
    BOOST_REQUIRE(it.key.grant(1s, it.turn()));
    BOOST_TEST(!it.key.cover(it.now + 90s, it.turn()));
    BOOST_TEST((it.only(kind::renew).length == 8min));
}

// ---- Fewer masters than there could be

BOOST_AUTO_TEST_CASE(a_lease_with_fewer_than_all_masters_is_completed_in_the_background) {
    desk it;
    it.acquire();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::busy());
    it.vote(2, vote::granted(640));
    it.taken();
    BOOST_TEST((it.key.state() == phase::held));
    BOOST_TEST(it.key.wake_at(it.rules) == it.now + 1s);
    it.at(it.now + 1s);
    const auto repair = it.only(kind::vote);
    BOOST_TEST(repair.to == masters({1}));
    BOOST_TEST((repair.attempt == it.key.attempt()));
    BOOST_TEST((repair.length <= length));
    it.vote(1, vote::granted(704));
    BOOST_TEST(it.key.holders() == masters({0, 1, 2}));
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
    it.taken();
    it.key.release(it.turn());
    BOOST_TEST(it.only(kind::release).to == masters({0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_silent_master_is_not_asked_twice) {
    desk it;
    it.acquire();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::granted(640));
    it.taken();
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
    // But when its connection broke, the question may be lost.
    it.admitted = masters({0, 1});
    it.key.on_link_lost(2, it.turn());
    it.admitted = masters({0, 1, 2});
    it.vote(2, vote::no_answer());
    BOOST_TEST(it.key.wake_at(it.rules) == it.now + 1s);
    it.at(it.now + 1s);
    BOOST_TEST(it.only(kind::vote).to == masters({2}));
}

BOOST_AUTO_TEST_CASE(a_master_that_was_silent_for_long_enough_is_asked_again) {
    desk it;
    it.acquire();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::granted(640));
    it.taken();
    it.vote(2, vote::no_answer());
    it.at(it.key.wake_at(it.rules));
    BOOST_TEST(it.only(kind::vote).to == masters({2}));
    BOOST_TEST(it.key.wake_at(it.rules) == it.key.valid_until());
    it.vote(2, vote::no_answer());
    it.at(it.key.wake_at(it.rules));
    BOOST_TEST(it.only(kind::vote).to == masters({2}));
}

BOOST_AUTO_TEST_CASE(a_lease_is_released_wherever_it_may_be) {
    desk it;
    it.acquire();
    it.vote(0, vote::granted(640));
    it.vote(1, vote::granted(640));
    it.taken();
    it.key.release(it.turn());
    BOOST_TEST(it.only(kind::release).to == masters({0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(an_acquire_may_ride_behind_the_release) {
    desk it;
    it.win();
    it.key.release(it.turn());
    it.acquire();
    const auto actions = it.taken();
    BOOST_REQUIRE(actions.size() == 2);
    BOOST_TEST((actions[0].what == kind::release));
    BOOST_TEST((actions[1].what == kind::vote));
    BOOST_TEST((actions[0].attempt != actions[1].attempt));
}

BOOST_AUTO_TEST_CASE(one_master_is_the_same_code) {
    desk it(1);
    it.acquire();
    it.vote(0, vote::granted(64));
    BOOST_TEST(it.key.grant(ttl, it.turn())->fence == 1);
    it.taken();
    it.key.release(it.turn());
    BOOST_TEST(it.only(kind::release).to == masters({0}));
}

// ---- The token of the client on the masters

namespace {

using texts = std::vector<std::string>;

/// Held in the name of the first client.
desk held_by(std::string_view token) {
    desk it;
    it.key.acquire(ttl, {.high = ++it.attempts, .low = 7}, it.turn(), token);
    BOOST_TEST(it.only(kind::vote).stored->value == token);
    for (int master = 0; master < 3; ++master) {
        it.vote(master, vote::granted(640));
    }
    BOOST_REQUIRE(it.key.grant(ttl, it.turn(), token).has_value());
    it.taken();
    return it;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_leases_own_value_needs_no_token) {
    desk it;
    it.win();
    BOOST_TEST(it.key.grant(ttl, it.turn()).has_value());
    it.key.release(it.turn());
    BOOST_TEST(!it.only(kind::release).stored);
}

BOOST_AUTO_TEST_CASE(another_clients_token_is_exchanged_before_it_is_granted) {
    desk it = held_by("ann");
    const auto refused = it.key.grant(1s, it.turn(), "bob");
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST((refused.error() == grant_obstacle::other_token));
    const auto asked = it.only(kind::renew);
    BOOST_TEST(asked.stored->value == "bob");
    BOOST_TEST(asked.stored->also == texts{"ann"}, boost::test_tools::per_element());
    it.renewed(0, renewal_answer::extended(704));
    BOOST_TEST(!it.key.grant(1s, it.turn(), "bob").has_value());  // one of three
    it.renewed(1, renewal_answer::extended(704));
    BOOST_TEST(it.key.grant(1s, it.turn(), "bob").has_value());
    // The third has ann's still, perhaps: it is ours as well.
    it.taken();
    it.key.release(it.turn());
    const auto release = it.only(kind::release);
    BOOST_TEST(release.to == masters({0, 1, 2}));
    BOOST_TEST(release.stored->value == "bob");
    BOOST_TEST(release.stored->also == texts{"ann"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_exchange_without_a_majority_grants_nothing_and_is_not_forgotten) {
    desk it = held_by("ann");
    BOOST_TEST(!it.key.grant(1s, it.turn(), "bob").has_value());
    it.taken();
    it.renewed(0, renewal_answer::extended(704));
    it.renewed(1, renewal_answer::refused());
    it.renewed(2, renewal_answer::no_answer());
    BOOST_TEST(!it.key.is_extending());
    it.now = after(100ms);
    BOOST_TEST(!it.key.grant(1s, it.turn(), "cid").has_value());
    const auto asked = it.taken().back();
    BOOST_TEST(asked.stored->value == "cid");
    BOOST_TEST(asked.stored->also == (texts{"ann", "bob"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_renewal_keeps_the_token_and_heals_those_that_missed_an_exchange) {
    desk it = held_by("ann");
    BOOST_TEST(!it.key.grant_untimed(it.turn(), "bob").has_value());
    it.taken();
    for (int master = 0; master < 3; ++master) {
        it.renewed(master, renewal_answer::extended(704));
    }
    BOOST_REQUIRE(it.key.grant_untimed(it.turn(), "bob").has_value());
    it.taken();
    it.at(it.key.wake_at(it.rules));
    const auto asked = it.only(kind::renew);
    BOOST_TEST(asked.stored->value == "bob");
    BOOST_TEST(asked.stored->also == texts{"ann"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_plain_lock_takes_the_token_away) {
    desk it = held_by("ann");
    BOOST_TEST(!it.key.grant(1s, it.turn()).has_value());
    BOOST_TEST(it.only(kind::renew).stored->value == "");
}

BOOST_AUTO_TEST_CASE(an_idle_lease_is_small) {
    BOOST_TEST(sizeof(lease) <= 80);
}
