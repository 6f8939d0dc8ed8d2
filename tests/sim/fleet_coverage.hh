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
    mark_refused,
    release_sent_again,
    master_quarantined,
    master_admitted,
    quarantine_shorter_than_the_longest_lease,
    fences_from_the_clock,
    unlinked,

    // Of proxies that have links.
    request_forwarded = unlinked,
    not_home,
    answer_lost,
    order_repeated,
    order_known_again,
    order_repeated_before_its_end,
    order_came_after_its_repeat,
    forwarding_given_up,
    granted_over_a_link,
    line_sent_home,
    lock_lost_with_its_link,
    lock_given_up_for_a_link,
    silent_link_cut,
    wire_broke,
    message_lost,
    message_waited_for_a_gap,
    proxy_drained,
    place_refused,
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
    "a master could not be marked",
    "a release was sent again",
    "a master was quarantined",
    "a master was admitted",
    "a quarantine was shorter than the longest lease",
    "fences began from the clock",
    "a request was sent to the home of its key",
    "a proxy was not the home any more",
    "a link broke before the answer",
    "an order was sent once more",
    "an order was known again",
    "an order came once more before its first link was seen to break",
    "an order came over its first link after it had come over the second",
    "a request that no home would take was done by the proxy itself",
    "a lock was granted over a link",
    "a line moved to another proxy",
    "a client was told that its lock ends with a link",
    "a lock was handed on because its link broke",
    "a silent link was cut",
    "a link between proxies broke",
    "a message was lost with its link",
    "a message waited for proxies that could not hear each other",
    "a proxy was drained",
    "a client of another proxy found no place",
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
