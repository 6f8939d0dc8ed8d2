#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockkeeper::sim {

/// What a schedule has been through: faults that took effect, and paths of the core that were
/// taken. A run that has not seen each of these shows nothing about it, and fails.
enum class seen : uint8_t {
    // Faults, when they did something.
    master_lost_everything,
    master_lost_a_second,
    master_kept_everything,
    master_got_an_old_dump,
    master_flushed,
    master_failed_over,
    master_was_a_replica,
    fence_table_evicted,
    request_waited_for_a_frozen_master,
    vote_refused_by_a_full_master,
    request_answered_with_an_error,
    event_waited_for_a_paused_proxy,
    proxy_crashed,
    request_waited_for_a_cut_link,
    reply_waited_for_a_cut_link,
    link_reset,
    request_outlived_its_link,
    proxy_configured_otherwise,
    // What the core did about it.
    round_won,
    round_lost_to_another,
    round_unreachable,
    round_raised,
    lease_repaired,
    lease_renewed,
    lease_lost,
    fences_renewed,
    hand_off,
    vote_of_another_incarnation,
    release_sent_again,
    master_quarantined,
    master_admitted,
    quarantine_shorter_than_the_longest_lease,
    fences_from_the_clock,
    in_model,

    // Beyond the model only.
    key_evicted = in_model,
    clock_stepped,
    clock_ran_wild,
    step_noticed,
    count_,
};

inline constexpr std::array<std::string_view, static_cast<size_t>(seen::count_)> seen_names = {
    "a master lost everything",
    "a master lost its last second",
    "a master restarted and kept everything",
    "a master got an old dump",
    "a master was flushed",
    "a replica took a master's place",
    "a master was a replica for a while",
    "a fence table was evicted",
    "a request waited for a frozen master",
    "a full master refused a vote",
    "a request was answered with an error",
    "something waited for a paused proxy",
    "a proxy crashed",
    "a request waited for a cut link",
    "a reply waited for a cut link",
    "a link was reset",
    "a request was carried out after its link had broken",
    "a proxy was configured otherwise",
    "a round was won",
    "a round was lost to another proxy",
    "a round did not reach a majority",
    "a vote was raised",
    "a lease was completed",
    "a lease was renewed",
    "a lease was lost",
    "fences came with a renewal",
    "a lock was handed on in memory",
    "another incarnation was found by a vote",
    "a release was sent again",
    "a master was quarantined",
    "a master was admitted",
    "a quarantine was shorter than the longest lease",
    "fences began from the clock",
    "a key was evicted",
    "a clock stepped",
    "a clock ran wild",
    "a step of a clock was noticed",
};

class coverage {
public:
    void add(seen what, uint64_t times = 1) { _counts[static_cast<size_t>(what)] += times; }
    void add(const coverage& other) {
        for (size_t i = 0; i < _counts.size(); ++i) {
            _counts[i] += other._counts[i];
        }
    }
    uint64_t of(seen what) const { return _counts[static_cast<size_t>(what)]; }

private:
    std::array<uint64_t, static_cast<size_t>(seen::count_)> _counts{};
};

}  // namespace lockkeeper::sim
