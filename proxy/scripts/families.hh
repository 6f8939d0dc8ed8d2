#pragma once

#include "proxy/scripts/call.hh"

/// One function for each operation of proxy/idioms/operation.hh, which says what they do. Each of
/// them looks first and changes then: after a failure nothing has changed, unless Redis itself
/// would have stopped half way.
namespace lockkeeper::proxy::scripts {

// strings.cc: one string key
answer acquire_if_absent(const call& c);
answer acquire_or_renew(const call& c);
answer release_if_owner(const call& c);
answer extend_if_owner(const call& c);
answer extend_or_create(const call& c);
answer take_over(const call& c);
answer ttl_if_owner(const call& c);
answer value_and_ttl(const call& c);

// several_keys.cc: several string keys, one token
answer acquire_all(const call& c);
answer acquire_or_renew_all(const call& c);
answer extend_all(const call& c);
answer release_matching(const call& c);
answer release_all(const call& c);
answer ttl_all(const call& c);

// any_keys.cc: keys of any type
answer force_release(const call& c);
answer expire_keys(const call& c);
answer persist_keys(const call& c);

// reentrant.cc: a hash of hold counts
answer reentrant_acquire(const call& c);
answer reentrant_release(const call& c);
answer reentrant_renew(const call& c);

// read_write.cc: readers and a writer
answer read_acquire(const call& c);
answer read_release(const call& c);
answer write_acquire(const call& c);
answer write_release(const call& c);
answer read_renew(const call& c);
answer read_force_release(const call& c);
answer write_force_release(const call& c);
answer read_is_locked(const call& c);

// fair.cc: a lock with a queue
answer fair_try(const call& c);
answer fair_acquire(const call& c);
answer fair_leave(const call& c);
answer fair_release(const call& c);
/// force_release of a fair lock.
answer fair_force_release(const call& c);

// permits.cc: counting semaphores
answer permits_acquire(const call& c);
answer permits_release(const call& c);
answer permits_drain(const call& c);
answer permits_set_if_absent(const call& c);
answer permits_add(const call& c);

// leases.cc: permits that expire
answer leases_acquire(const call& c);
answer leases_release(const call& c);
answer leases_extend(const call& c);
answer leases_available(const call& c);
answer leases_total(const call& c);
answer leases_out(const call& c);
answer leases_ttl(const call& c);
answer leases_set_total(const call& c);

// slots.cc: semaphores of holders that expire
answer slots_acquire(const call& c);
answer slots_renew(const call& c);
answer slots_release(const call& c);

// Shared by several families.

/// Signals a release on the script's `signal` list: one element for `signal_ms`.
attempt<std::chrono::milliseconds> signal_lifetime(const call& c);
answer signal(const call& c, std::chrono::milliseconds lifetime);

/// Runs a release whose script may have a `latch` key: a repeated request is answered from there,
/// and the number that a first one is answered is remembered there.
answer with_latch(const call& c, answer (*release)(const call&));

}  // namespace lockkeeper::proxy::scripts
