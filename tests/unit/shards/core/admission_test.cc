#include "shards/core/admission.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "fleet_support.hh"
#include "shards/core/fence_slots.hh"
#include "shards/core/lease_terms.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

using kind = admission_step::kind;
using standing = other_master::standing;
using state = admission::state;

constexpr uint64_t wall_clock = 1'760'000'000;
constexpr auto max_ttl = 600s;
/// How long a nonce is observed if nobody knows better: 600 s, 2 % and 5 ms.
constexpr auto longest = 612s + 5ms;
/// How long rounds are waited for: 250 ms, 2 % and 5 ms.
constexpr auto rounds = 260ms;

admission_options options_of(uint8_t count) {
    return {.masters = count, .fingerprint = "cfg", .max_ttl = max_ttl, .round_timeout = 250ms};
}

/// A master that was admitted and has forgotten nothing.
handshake_facts facts(std::string run_id = "run1") {
    return {.run_id = run_id,
            .role = "master",
            .maxmemory = 0,
            .maxmemory_policy = "noeviction",
            .appendonly = "no",
            .appendfsync = "everysec",
            .incarnation = run_id,
            .fingerprint = "cfg",
            .durability = ""};
}

/// One that has nothing.
handshake_facts empty_facts(std::string run_id = "run1") {
    auto result = facts(run_id);
    result.incarnation.reset();
    result.fingerprint.reset();
    result.durability.reset();
    return result;
}

/// One whose data came back, with another process.
handshake_facts restarted_facts() {
    auto result = facts("run2");
    result.incarnation = "run1";
    return result;
}

/// The same of one that writes before it answers.
handshake_facts durable_facts() {
    auto kept = restarted_facts();
    kept.appendonly = "yes";
    kept.appendfsync = "always";
    kept.durability = "always";
    return kept;
}

other_master knows(std::chrono::nanoseconds horizon, uint64_t counter = 0) {
    return {.what = standing::admitted, .horizon = horizon, .counter = counter};
}
constexpr other_master forgot{.what = standing::forgot};
constexpr other_master silent{};

/// A master on its way to admission.
struct path {
    explicit path(admission_options how) : it(std::move(how)) {}

    void others(std::vector<other_master> them) { it.on_others(them, wall_clock, now); }
    kind next() { return it.next(now).what; }
    /// Waits for the next step as long as it says.
    kind step() {
        auto wanted = it.next(now);
        while (wanted.what == kind::wait && wanted.at != end_of_time) {
            now = wanted.at;
            wanted = it.next(now);
        }
        if (wanted.at != end_of_time) {
            now = std::max(now, wanted.at);
        }
        return wanted.what;
    }
    void pended(std::string nonce, std::optional<std::string> earlier = "run1") {
        it.on_pend({.nonce = std::move(nonce), .incarnation = std::move(earlier)}, now);
    }

    admission it;
    instant now = start;
};

}  // namespace

// ---- Who may vote at once, and who never

BOOST_AUTO_TEST_CASE(a_master_that_has_forgotten_nothing_votes_at_once) {
    path way(options_of(3));
    BOOST_TEST((way.step() == kind::shake_hands));
    BOOST_TEST(!way.it.may_vote());
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(way.it.may_vote());
    BOOST_TEST(way.it.reason().empty());
}

BOOST_AUTO_TEST_CASE(each_refusal_has_a_reason_and_is_looked_at_again) {
    struct bad {
        const char* expected;
        void (*spoil)(handshake_facts&);
    };
    const bad cases[] = {
        {"replica", [](handshake_facts& f) { f.role = "slave"; }},
        {"sentinel", [](handshake_facts& f) { f.role = "sentinel"; }},
        {"cluster", [](handshake_facts& f) { f.cluster = true; }},
        {"loading", [](handshake_facts& f) { f.loading = true; }},
        {"refuses writes", [](handshake_facts& f) { f.refuses_writes = "OOM"; }},
        {"same server", [](handshake_facts& f) { f.same_as_another = true; }},
        {"run_id", [](handshake_facts& f) { f.run_id.clear(); }},
        {"volatile-lru",
         [](handshake_facts& f) {
             f.maxmemory = 1;
             f.maxmemory_policy = "volatile-lru";
         }},
        {"configured otherwise", [](handshake_facts& f) { f.fingerprint = "other"; }},
    };
    for (const auto& [expected, spoil] : cases) {
        path way(options_of(3));
        auto spoilt = facts();
        spoil(spoilt);
        way.it.on_handshake(spoilt, way.now);
        BOOST_TEST((way.it.status() == state::refused), expected);
        BOOST_TEST(way.it.reason().find(expected) != std::string_view::npos, way.it.reason());
        BOOST_TEST((way.step() == kind::shake_hands));
        BOOST_TEST(way.now == after(1s));
        way.it.on_handshake(facts(), way.now);
        BOOST_TEST(way.it.may_vote());
    }
}

BOOST_AUTO_TEST_CASE(memory_that_is_bounded_but_never_evicts_is_good) {
    path way(options_of(3));
    auto bounded = facts();
    bounded.maxmemory = 100'000'000;
    way.it.on_handshake(bounded, way.now);
    BOOST_TEST(way.it.may_vote());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_asked_is_shown_as_unverified) {
    path way(options_of(3));
    auto hidden = facts();
    hidden.maxmemory.reset();
    hidden.appendonly.reset();
    way.it.on_handshake(hidden, way.now);
    BOOST_TEST(way.it.may_vote());
    BOOST_TEST(way.it.reason().starts_with("unverified"));
}

BOOST_AUTO_TEST_CASE(a_vote_that_another_incarnation_answered_ends_the_admission_at_once) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    way.it.on_vote_refused();
    BOOST_TEST(!way.it.may_vote());
    BOOST_TEST((way.step() == kind::shake_hands));
    way.it.on_connection_lost();
    BOOST_TEST((way.it.status() == state::disconnected));
}

// ---- The whole way

BOOST_AUTO_TEST_CASE(a_master_that_forgot_waits_for_the_longest_lease_that_the_others_know_of) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts("run2"), way.now);
    BOOST_TEST((way.step() == kind::pend));
    way.pended("nonce");
    BOOST_TEST(*way.it.until() == after(longest));

    // Rounds that may count on what it forgot come to an end first.
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds));
    way.others({knows(7s), knows(2s)});
    BOOST_TEST(*way.it.until() == after(rounds + 7s + 140ms + 5ms));

    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds + 7'145ms));
    way.others({knows(7s), knows(2s)});
    BOOST_TEST((way.step() == kind::read_counters));
    way.others({knows(7s, 5), knows(2s, fence_floor(wall_clock) + 77)});

    BOOST_TEST((way.step() == kind::admit));
    const auto step = way.it.next(way.now);
    BOOST_TEST(step.nonce == "nonce");
    BOOST_TEST(step.base == fence_floor(wall_clock) + 77);
    BOOST_TEST(!way.it.may_vote());
    way.it.on_admit(true, way.now);
    BOOST_TEST(way.it.may_vote());
    BOOST_TEST(way.it.epoch_bumps() == 0);
}

BOOST_AUTO_TEST_CASE(counting_never_begins_below_the_clock_floor) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    way.step();
    way.others({knows(0s), knows(0s)});
    way.step();
    way.others({knows(0s), knows(0s)});
    way.step();
    way.others({knows(0s, 3), knows(0s, 9)});
    BOOST_TEST(way.it.next(way.now).base == fence_floor(wall_clock));
}

BOOST_AUTO_TEST_CASE(a_quarantine_is_never_longer_than_the_longest_lease_allowed) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    way.step();
    way.others({knows(24h), knows(24h)});
    BOOST_TEST(*way.it.until() == after(longest));
}

BOOST_AUTO_TEST_CASE(of_five_masters_three_others_must_tell) {
    path way(options_of(5));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    way.step();
    way.others({knows(1s), knows(1s), silent, silent});
    BOOST_TEST(*way.it.until() == after(longest));
    BOOST_TEST((way.step() == kind::read_horizons));  // again, a little later
    way.others({knows(1s), knows(1s), knows(3s), silent});
    BOOST_TEST(*way.it.until() == way.now + 3s + 60ms + 5ms);
}

BOOST_AUTO_TEST_CASE(if_too_few_can_be_asked_the_longest_lease_allowed_is_waited_for) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.now < after(longest)) {
        BOOST_REQUIRE((way.step() == kind::read_horizons));
        BOOST_REQUIRE(way.now <= after(longest));
        way.others({knows(1s), silent});
    }
    // Then the counters: the silent one may come back and tell.
    BOOST_TEST((way.step() == kind::read_horizons));
    way.others({knows(1s), silent});
    BOOST_TEST((way.next() == kind::read_horizons));
    BOOST_TEST(!way.it.may_vote());
    way.now = way.now + 1s;
    way.others({knows(1s), knows(1s)});
    BOOST_TEST((way.step() == kind::read_counters));
}

// ---- The nonce

BOOST_AUTO_TEST_CASE(a_second_forgetting_begins_everything_again) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("first");
    way.step();
    way.others({knows(0s), knows(0s)});
    way.step();
    way.others({knows(0s), knows(0s)});
    way.step();
    way.others({knows(0s), knows(0s)});
    BOOST_TEST((way.step() == kind::admit));
    way.it.on_admit(false, way.now);  // the nonce is gone
    BOOST_TEST((way.step() == kind::shake_hands));
    const instant again = way.now;
    way.it.on_handshake(empty_facts(), way.now);
    BOOST_TEST((way.step() == kind::pend));
    way.pended("second");
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == again + rounds);
}

BOOST_AUTO_TEST_CASE(a_reconnect_to_the_same_incarnation_and_nonce_does_not_begin_again) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    way.now = after(100ms);
    way.it.on_connection_lost();
    way.it.on_handshake(empty_facts(), way.now);
    BOOST_TEST((way.step() == kind::pend));
    way.pended("nonce");
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds));
}

BOOST_AUTO_TEST_CASE(the_same_nonce_in_another_process_begins_again) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts("run1"), way.now);
    way.step();
    way.pended("nonce");
    way.now = after(100ms);
    way.it.on_connection_lost();
    way.it.on_handshake(empty_facts("run2"), way.now);
    way.step();
    way.pended("nonce");
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(100ms + rounds));
}

BOOST_AUTO_TEST_CASE(somebody_else_may_be_faster) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.it.on_pend({.already_admitted = true}, way.now);
    BOOST_TEST((way.step() == kind::shake_hands));
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(way.it.may_vote());
}

// ---- Restarts that lost nothing

BOOST_AUTO_TEST_CASE(a_master_that_writes_before_it_answers_needs_no_quarantine) {
    path way(options_of(3));
    way.it.on_handshake(durable_facts(), way.now);
    BOOST_TEST((way.step() == kind::pend));
    way.pended("nonce");
    BOOST_TEST((way.step() == kind::read_horizons));
    way.others({knows(9s), knows(9s)});
    BOOST_TEST((way.step() == kind::read_counters));
    way.others({knows(9s, 5), knows(9s, 6)});
    const auto step = way.it.next(way.now);
    BOOST_TEST((step.what == kind::admit));
    BOOST_TEST(step.durability == "always");
    BOOST_TEST(way.now == start);
}

BOOST_AUTO_TEST_CASE(a_master_that_forgets_between_handshake_and_nonce_is_quarantined) {
    path way(options_of(3));
    way.it.on_handshake(durable_facts(), way.now);
    BOOST_TEST((way.step() == kind::pend));
    way.pended("nonce", std::nullopt);
    way.step();
    BOOST_TEST(way.now == after(rounds));
}

BOOST_AUTO_TEST_CASE(a_single_master_that_kept_everything_waits_until_the_clock_floor_has_moved) {
    path way(options_of(1));
    way.it.on_handshake(durable_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.step() == kind::read_horizons) {
        way.others({});
    }
    BOOST_TEST((way.next() == kind::read_counters));
    BOOST_TEST(way.now == after(1s + 20ms + 5ms));
}

BOOST_AUTO_TEST_CASE(one_that_kept_everything_does_not_wait_for_those_who_are_silent) {
    path way(options_of(3));
    way.it.on_handshake(durable_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.step() == kind::read_horizons) {
        way.others({knows(9s), silent});
    }
    BOOST_TEST((way.next() == kind::read_counters));
    BOOST_TEST(way.now == after(1s + 20ms + 5ms));
    way.others({knows(9s, 5), silent});
    BOOST_TEST((way.next() == kind::admit));
}

BOOST_AUTO_TEST_CASE(anything_weaker_takes_the_whole_way) {
    struct weaker {
        const char* how;
        void (*spoil)(handshake_facts&);
    };
    const weaker cases[] = {
        {"everysec", [](handshake_facts& f) { f.appendfsync = "everysec"; }},
        {"off", [](handshake_facts& f) { f.appendonly = "no"; }},
        {"not known", [](handshake_facts& f) { f.appendonly.reset(); }},
        {"weaker when it was admitted", [](handshake_facts& f) { f.durability = ""; }},
        {"promoted", [](handshake_facts& f) { f.promoted = true; }},
        {"flushed", [](handshake_facts& f) { f.incarnation.reset(); }},
    };
    for (const auto& [how, spoil] : cases) {
        path way(options_of(3));
        auto kept = restarted_facts();
        kept.appendonly = "yes";
        kept.appendfsync = "always";
        kept.durability = "always";
        spoil(kept);
        way.it.on_handshake(kept, way.now);
        way.step();
        way.pended("nonce");
        way.step();
        BOOST_TEST(way.now == after(rounds), how);
    }
}

BOOST_AUTO_TEST_CASE(a_promoted_replica_waits_once_and_speaks_for_none_that_comes_after_it) {
    path way(options_of(3));
    auto promoted = durable_facts();
    promoted.promoted = true;
    way.it.on_handshake(promoted, way.now);
    BOOST_TEST(way.it.reason().find("replica") != std::string_view::npos, way.it.reason());
    auto step = way.it.next(way.now);
    BOOST_TEST((step.what == kind::pend));
    BOOST_TEST(step.durability.empty());
    way.pended("nonce");
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds));
    way.others({knows(9s), knows(9s)});
    BOOST_TEST((way.step() == kind::read_horizons));
    way.others({knows(9s), knows(9s)});
    BOOST_TEST((way.step() == kind::read_counters));
    way.others({knows(9s, 5), knows(9s, 6)});
    BOOST_TEST(way.it.next(way.now).durability == "always");
    way.it.on_admit(true, way.now);
    BOOST_TEST(way.it.may_vote());
    // It stays promoted for the rest of its life, and needs no other quarantine.
    way.it.on_connection_lost();
    promoted.incarnation = promoted.run_id;
    way.it.on_handshake(promoted, way.now);
    BOOST_TEST(way.it.may_vote());
}

BOOST_AUTO_TEST_CASE(one_that_kept_everything_says_so_with_its_nonce) {
    path way(options_of(3));
    way.it.on_handshake(durable_facts(), way.now);
    BOOST_TEST(way.it.next(way.now).durability == "always");
}

// ---- First contact, and a majority that forgot

BOOST_AUTO_TEST_CASE(a_strict_first_contact_waits_once_for_the_longest_lease) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.step() == kind::read_horizons) {
        way.others({forgot, forgot});
    }
    BOOST_TEST((way.next() == kind::read_counters));
    BOOST_TEST(way.now == after(longest));
    way.others({forgot, forgot});
    const auto step = way.it.next(way.now);
    BOOST_TEST((step.what == kind::admit));
    BOOST_TEST(step.base == fence_floor(wall_clock));
    way.it.on_admit(true, way.now);
    BOOST_TEST(way.it.epoch_bumps() == 1);
}

BOOST_AUTO_TEST_CASE(a_quick_first_contact_waits_for_nothing) {
    auto options = options_of(3);
    options.first = admission_options::first_contact::quick;
    path way(options);
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    BOOST_TEST((way.step() == kind::read_horizons));
    // One of the others has just been admitted in the same way.
    way.others({forgot, knows(0s)});
    BOOST_TEST((way.step() == kind::read_counters));
    way.others({forgot, knows(0s, fence_floor(wall_clock))});
    BOOST_TEST((way.step() == kind::admit));
    BOOST_TEST(way.now == start);
}

BOOST_AUTO_TEST_CASE(quick_is_for_groups_that_are_not_in_use) {
    auto options = options_of(3);
    options.first = admission_options::first_contact::quick;
    path way(options);
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    way.step();
    way.others({knows(5s), knows(5s)});
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds));
}

BOOST_AUTO_TEST_CASE(a_master_that_was_admitted_before_is_no_first_contact) {
    auto options = options_of(1);
    options.first = admission_options::first_contact::quick;
    path way(options);
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(way.it.may_vote());
    way.it.on_connection_lost();
    way.it.on_handshake(empty_facts("run2"), way.now);
    way.step();
    way.pended("nonce");
    way.step();
    BOOST_TEST(way.now == after(rounds));
}

BOOST_AUTO_TEST_CASE(one_master_that_forgot_counts_on_from_the_clock) {
    path way(options_of(1));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.step() == kind::read_horizons) {
        way.others({});
    }
    BOOST_TEST(way.now == after(longest));
    way.others({});
    BOOST_TEST(way.it.next(way.now).base == fence_floor(wall_clock));
}

BOOST_AUTO_TEST_CASE(silent_masters_are_waited_for_twice_as_long) {
    path way(options_of(3));
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.step() == kind::read_horizons) {
        way.others({knows(1s), silent});
    }
    BOOST_TEST((way.next() == kind::read_counters));
    BOOST_TEST(way.now >= start + 2 * longest);
    BOOST_TEST(way.now <= start + 2 * longest + 1s);
    way.others({knows(1s, 17), silent});
    way.it.on_admit(true, way.now);
    BOOST_TEST(way.it.epoch_bumps() == 1);
}

BOOST_AUTO_TEST_CASE(strict_recovery_stays_closed_until_an_operator_says_so) {
    auto options = options_of(3);
    options.recovery = admission_options::counter_recovery::strict;
    path way(options);
    way.it.on_handshake(empty_facts(), way.now);
    way.step();
    way.pended("nonce");
    while (way.now < start + 5 * longest) {
        BOOST_REQUIRE((way.step() == kind::read_horizons));
        way.others({forgot, forgot});
    }
    BOOST_TEST(way.it.reason().find("operator") != std::string_view::npos);
    way.it.allow_clock_floor();
    way.step();
    way.others({forgot, forgot});
    BOOST_TEST((way.step() == kind::read_counters));
}

// ---- Clocks that step

BOOST_AUTO_TEST_CASE(a_master_whose_clock_stepped_does_not_vote_for_the_longest_known_lease) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    way.it.on_clock_step(way.now);
    BOOST_TEST(!way.it.may_vote());
    BOOST_TEST(way.it.reason() == "its clock stepped");
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds));
    way.others({knows(4s), knows(1s)});
    // No nonce and no counters: it has forgotten nothing.
    way.step();
    BOOST_TEST(way.it.may_vote());
    BOOST_TEST(way.now == after(rounds + 4s + 80ms + 5ms));
}

BOOST_AUTO_TEST_CASE(a_clock_that_steps_again_begins_again_and_a_reconnect_does_not_help) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    way.it.on_clock_step(way.now);
    way.now = after(100ms);
    way.it.on_clock_step(way.now);
    way.it.on_connection_lost();
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(!way.it.may_vote());
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(100ms + rounds));
}

BOOST_AUTO_TEST_CASE(a_failed_step_after_a_clock_step_does_not_shake_hands_for_ever) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    way.it.on_clock_step(way.now);
    BOOST_TEST((way.step() == kind::read_horizons));
    way.it.on_failed_step("no answer", way.now);
    BOOST_TEST((way.step() == kind::shake_hands));
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(!way.it.may_vote());
    BOOST_TEST((way.step() == kind::read_horizons));
    way.others({knows(4s), knows(1s)});
    way.step();
    BOOST_TEST(way.it.may_vote());
}

BOOST_AUTO_TEST_CASE(a_clock_that_steps_before_the_next_handshake_is_not_forgotten) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    way.it.on_vote_refused();  // its scripts are gone
    way.it.on_clock_step(way.now);
    BOOST_TEST((way.step() == kind::shake_hands));
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(!way.it.may_vote());
    BOOST_TEST((way.step() == kind::read_horizons));
    BOOST_TEST(way.now == after(rounds));
}

BOOST_AUTO_TEST_CASE(a_refused_master_whose_clock_stepped_waits_when_it_is_taken_back) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    auto loading = facts();
    loading.loading = true;
    way.it.on_handshake(loading, way.now);
    way.it.on_clock_step(way.now);
    BOOST_TEST((way.it.status() == state::refused));
    BOOST_TEST((way.step() == kind::shake_hands));
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(!way.it.may_vote());
    BOOST_TEST((way.step() == kind::read_horizons));
}

BOOST_AUTO_TEST_CASE(a_master_that_kept_everything_waits_if_its_clock_stepped) {
    for (const bool before_it_pended : {true, false}) {
        path way(options_of(3));
        way.it.on_handshake(durable_facts(), way.now);
        BOOST_TEST((way.step() == kind::pend));
        if (before_it_pended) {
            way.it.on_clock_step(way.now);
        }
        way.pended("nonce");
        if (!before_it_pended) {
            way.it.on_clock_step(way.now);
        }
        const auto seen = way.now;
        BOOST_TEST((way.step() == kind::read_horizons));
        BOOST_TEST(way.now == seen + rounds);
        way.others({knows(4s), knows(1s)});
        BOOST_TEST((way.step() == kind::read_horizons));
        BOOST_TEST(way.now == seen + rounds + 4s + 80ms + 5ms);
    }
}

BOOST_AUTO_TEST_CASE(why_a_step_failed_is_told) {
    path way(options_of(3));
    way.it.on_failed_step("NOPERM", way.now);
    BOOST_TEST((way.it.status() == state::refused));
    BOOST_TEST(way.it.reason() == "NOPERM");
    way.it.on_handshake(restarted_facts(), way.now);
    way.it.on_failed_step("BUSY", way.now);
    BOOST_TEST((way.it.status() == state::pending));
    BOOST_TEST(way.it.reason() == "BUSY");
    way.it.on_handshake(facts(), way.now);
    way.it.on_failed_step("too late", way.now);
    BOOST_TEST(way.it.may_vote());
    BOOST_TEST(way.it.reason() == "");
}

BOOST_AUTO_TEST_CASE(one_that_begins_to_evict_or_to_follow_does_not_vote_any_more) {
    for (const bool evicts : {true, false}) {
        path way(options_of(3));
        way.it.on_handshake(facts(), way.now);
        way.it.on_another_look(facts(), way.now);
        BOOST_TEST(way.it.may_vote());
        auto other = facts();
        if (evicts) {
            other.maxmemory = 1;
            other.maxmemory_policy = "allkeys-lru";
        } else {
            other.role = "slave";
        }
        way.it.on_another_look(other, way.now);
        BOOST_TEST((way.it.status() == state::refused));
        BOOST_TEST(way.it.reason().find(evicts ? "evict" : "replica") != std::string_view::npos);
        BOOST_TEST((way.step() == kind::shake_hands));
        BOOST_TEST(way.now == after(1s));
    }
}

BOOST_AUTO_TEST_CASE(one_that_refuses_what_votes_need_is_asked_again_in_a_moment) {
    path way(options_of(3));
    way.it.on_handshake(facts(), way.now);
    way.it.on_refusal("OOM", way.now);
    BOOST_TEST((way.it.status() == state::refused));
    BOOST_TEST(way.it.reason() == "OOM");
    BOOST_TEST((way.step() == kind::shake_hands));
    BOOST_TEST(way.now == after(1s));
    way.it.on_handshake(facts(), way.now);
    BOOST_TEST(way.it.may_vote());
}

BOOST_AUTO_TEST_CASE(a_handshake_that_fails_is_not_tried_again_at_once) {
    path way(options_of(3));
    const auto failed = way.now;
    way.it.on_failed_step("no answer", failed);
    BOOST_TEST((way.step() == kind::shake_hands));
    BOOST_TEST(way.now > failed);
}
