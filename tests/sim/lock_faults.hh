#pragma once

#include <string_view>

#include "shards/core/planted.hh"

namespace lockkeeper::sim {

struct named_fault {
    shards::fault what;
    std::string_view name;
};

/// Faults of the lock table, by the names that planted.hh gives them.
#define LOCKKEEPER_FAULT(name)     \
    named_fault {                  \
        shards::fault::name, #name \
    }
inline constexpr named_fault lock_faults[] = {
    LOCKKEEPER_FAULT(lifo_queue),
    LOCKKEEPER_FAULT(place_lost),
    LOCKKEEPER_FAULT(priority_ignored),
    LOCKKEEPER_FAULT(hand_off_without_a_look),
    LOCKKEEPER_FAULT(reader_overtakes_writer),
    LOCKKEEPER_FAULT(dead_waiter_stays),
    LOCKKEEPER_FAULT(late_waiter_granted),
    LOCKKEEPER_FAULT(deadline_ignored),
    LOCKKEEPER_FAULT(freed_line_not_stirred),
    LOCKKEEPER_FAULT(moved_end_not_noticed),
    LOCKKEEPER_FAULT(flush_forgets_waiters),
    LOCKKEEPER_FAULT(release_without_owner_check),
    LOCKKEEPER_FAULT(extend_without_owner_check),
    LOCKKEEPER_FAULT(one_permit_too_many),
    LOCKKEEPER_FAULT(upgrade_allowed),
    LOCKKEEPER_FAULT(holds_not_counted),
    LOCKKEEPER_FAULT(fence_not_raised),
    LOCKKEEPER_FAULT(hand_off_on_disconnect),
    LOCKKEEPER_FAULT(bound_outlives_connection),
    LOCKKEEPER_FAULT(max_hold_ignored),
    LOCKKEEPER_FAULT(lock_delay_ignored),
    LOCKKEEPER_FAULT(loss_untold),
    LOCKKEEPER_FAULT(resend_without_orphan),
    LOCKKEEPER_FAULT(reservation_ignored),
    LOCKKEEPER_FAULT(reservation_never_ends),
};
#undef LOCKKEEPER_FAULT

}  // namespace lockkeeper::sim
