#pragma once

#include <optional>
#include <string_view>

#include "shards/core/planted.hh"

namespace lockkeeper::sim {

struct named_fault {
    shards::fault what;
    std::string_view name;
};

/// Faults that concern the fleet, by the names that planted.hh gives them.
#define LOCKKEEPER_FAULT(name)     \
    named_fault {                  \
        shards::fault::name, #name \
    }
inline constexpr named_fault fleet_faults[] = {
    LOCKKEEPER_FAULT(max_without_write_back),
    LOCKKEEPER_FAULT(median_of_votes),
    LOCKKEEPER_FAULT(fence_of_one_voter),
    LOCKKEEPER_FAULT(raise_without_owner_check),
    LOCKKEEPER_FAULT(block_of_one_voter),
    LOCKKEEPER_FAULT(fences_beyond_block),
    LOCKKEEPER_FAULT(quorum_off_by_one),
    LOCKKEEPER_FAULT(votes_of_old_attempts),
    LOCKKEEPER_FAULT(votes_of_lost_links),
    LOCKKEEPER_FAULT(votes_after_the_deadline),
    LOCKKEEPER_FAULT(attempt_reused),
    LOCKKEEPER_FAULT(wait_outlives_quorum),
    LOCKKEEPER_FAULT(validity_from_end_of_round),
    LOCKKEEPER_FAULT(no_drift_allowance),
    LOCKKEEPER_FAULT(no_incarnation_check),
    LOCKKEEPER_FAULT(blind_release),
    LOCKKEEPER_FAULT(grant_without_validity_check),
    LOCKKEEPER_FAULT(promise_beyond_lease),
    LOCKKEEPER_FAULT(grant_after_release),
    LOCKKEEPER_FAULT(renewal_by_minority),
    LOCKKEEPER_FAULT(renewal_resurrects),
    LOCKKEEPER_FAULT(hand_off_on_disconnect),
    LOCKKEEPER_FAULT(stale_clock),
    LOCKKEEPER_FAULT(no_quarantine),
    LOCKKEEPER_FAULT(short_quarantine),
    LOCKKEEPER_FAULT(no_counter_reseed),
    LOCKKEEPER_FAULT(admission_without_nonce),
    LOCKKEEPER_FAULT(horizon_not_marked),
    LOCKKEEPER_FAULT(horizon_read_at_once),
    LOCKKEEPER_FAULT(horizon_of_one_master),
    LOCKKEEPER_FAULT(promotion_trusted),
    LOCKKEEPER_FAULT(late_renewals),
    LOCKKEEPER_FAULT(memory_not_checked_again),
    LOCKKEEPER_FAULT(clock_floor_at_once),
    LOCKKEEPER_FAULT(forwarded_twice),
    LOCKKEEPER_FAULT(home_without_lease),
    LOCKKEEPER_FAULT(unknown_asked_again),
    LOCKKEEPER_FAULT(journey_without_end),
    LOCKKEEPER_FAULT(hint_outlives_lease),
    LOCKKEEPER_FAULT(hint_kept_when_wrong),
    LOCKKEEPER_FAULT(lost_vote_names_home),
    LOCKKEEPER_FAULT(old_search_counts),
    LOCKKEEPER_FAULT(release_without_asking),
    LOCKKEEPER_FAULT(retry_not_known_again),
    LOCKKEEPER_FAULT(late_first_order),
    LOCKKEEPER_FAULT(old_order_goes_on),
    LOCKKEEPER_FAULT(dead_link_keeps_place),
    LOCKKEEPER_FAULT(short_grace_of_links),
    LOCKKEEPER_FAULT(lost_link_untold),
    LOCKKEEPER_FAULT(silence_ignored),
};
#undef LOCKKEEPER_FAULT

constexpr std::optional<shards::fault> fault_named(std::string_view name) {
    for (const auto& one : fleet_faults) {
        if (one.name == name) {
            return one.what;
        }
    }
    return std::nullopt;
}

constexpr std::string_view name_of(shards::fault what) {
    for (const auto& one : fleet_faults) {
        if (one.what == what) {
            return one.name;
        }
    }
    return "none";
}

}  // namespace lockkeeper::sim
