#pragma once

#include <cstdint>

/// Mistakes that somebody could make, planted on purpose: a test demands that each of them is
/// caught. A checker that never caught anything proves nothing.
///
/// The product has none of this: `planted()` is a constant there and the branches behind it vanish.
/// The library lockkeeper_core_planted is the same code compiled with LOCKKEEPER_PLANTED_FAULTS; in
/// it, at most one fault at a time is switched on.
namespace lockkeeper::shards {

enum class fault : uint8_t {
    none,

    // Fences over a quorum.
    max_without_write_back,     ///< the highest vote is the fence, nobody is raised to it
    median_of_votes,            ///< looks right, and is right as long as keys vanish on time only
    fence_of_one_voter,         ///< the lowest vote of the quorum is the fence
    raise_without_owner_check,  ///< a master raises its counter for somebody who lost the key there
    block_of_one_voter,         ///< a renewal's fences come from one master
    fences_beyond_block,        ///< goes on counting when the block has ended

    // Votes and validity.
    quorum_off_by_one,
    votes_of_old_attempts,       ///< late votes count for the attempt of now
    votes_of_lost_links,         ///< votes count although their connection has broken since
    votes_after_the_deadline,    ///< a round never ends, however late its votes are
    attempt_reused,              ///< all attempts of a proxy for a key share one value
    wait_outlives_quorum,        ///< an alarm for votes of which one has gone rings for ever
    validity_from_end_of_round,  ///< counts from the last answer, not from before the first
                                 ///< question
    no_drift_allowance,
    no_incarnation_check,  ///< votes count whatever the master has forgotten
    blind_release,         ///< a release deletes the key, whoever owns it

    // Leases and grants.
    grant_without_validity_check,
    promise_beyond_lease,  ///< a client is told a longer time than the lease covers
    grant_after_release,
    renewal_by_minority,
    late_renewals,       ///< answers to an earlier renewal count for the one of now
    renewal_resurrects,  ///< a renewal that comes back too late makes the lease valid again
    hand_off_on_disconnect,
    stale_clock,  ///< decisions read a clock that stood still while the process did

    // Admission of masters.
    promotion_trusted,  ///< a promoted replica has what its master had
    no_quarantine,
    short_quarantine,
    no_counter_reseed,
    admission_without_nonce,
    memory_not_checked_again,  ///< a flush between the handshake and the nonce goes unnoticed
    clock_floor_at_once,       ///< counting begins anew in the second in which it had begun
    horizon_not_marked,        ///< leases longer than what the masters have been told
    horizon_read_at_once,      ///< before the rounds under way have ended
    horizon_of_one_master,

    // Queues of the lock table.
    lifo_queue,
    place_lost,  ///< who was held back and sent away begins anew
    priority_ignored,
    hand_off_without_a_look,  ///< the first in line gets the lock whoever holds it
    reader_overtakes_writer,
    dead_waiter_stays,  ///< in line, although its client has left
    late_waiter_granted,
    deadline_ignored,
    freed_line_not_stirred,
    moved_end_not_noticed,  ///< EXPIRE while somebody waits
    flush_forgets_waiters,
    reservation_ignored,
    reservation_never_ends,

    // Owners of the lock table.
    release_without_owner_check,
    extend_without_owner_check,
    one_permit_too_many,
    upgrade_allowed,
    holds_not_counted,
    fence_not_raised,  ///< at a hand-off
    bound_outlives_connection,
    max_hold_ignored,
    lock_delay_ignored,
    loss_untold,
    resend_without_orphan,  ///< a SET NX of the holder is won, whether or not it knows that it
                            ///< holds

    // Requests between proxies.
    forwarded_twice,      ///< what came over a link goes on to whom a hint names
    home_without_lease,   ///< what came over a link is taken in without a lease
    unknown_asked_again,  ///< a release whose answer was lost is sent once more
    journey_without_end,  ///< a request is sent to homes for ever
    hint_outlives_lease,
    hint_kept_when_wrong,    ///< a proxy that is not the home is asked again at once
    lost_vote_names_home,    ///< ... since a master has a vote of its that was not enough
    old_search_counts,       ///< what masters said before a request came counts for it
    release_without_asking,  ///< a proxy that knows nothing of a key says that nobody holds it
    retry_not_known_again,   ///< an order that is repeated gets a second hold
    late_first_order,        ///< ... and so does one that comes after its repeat
    old_order_goes_on,       ///< the first of two equal orders waits on, though nobody hears of it
    dead_link_keeps_place,   ///< in line, although the link of its client broke
    short_grace_of_links,    ///< a lock is handed on before its client's proxy knows of the break
    lost_link_untold,        ///< its client is not told
    silence_ignored,         ///< a link that is silent stays

    count_,
};

#ifdef LOCKKEEPER_PLANTED_FAULTS
inline fault planted_fault = fault::none;
inline bool planted(fault which) {
    return planted_fault == which;
}
#else
constexpr bool planted(fault) {
    return false;
}
#endif

}  // namespace lockkeeper::shards
