#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::proxy::idioms {

/// What the scripts of lock libraries do, without Lua. The command layer carries an operation out
/// on the lock table and gets an `outcome`; `reply_to` (reply_map.hh) makes of that the reply which
/// the very script would have given.
///
/// Each comment begins with the roles of KEYS, a semicolon, and the roles of ARGV; what stands in
/// brackets only some scripts have. Their order differs from script to script: known_script.hh.
/// Then come the states of the key, what happens to it, and the outcome.
///
/// **Words.** *absent*: no such key. *mine*: the key holds the caller's token (strings) or has the
/// caller's owner field (hashes). *other*: the key exists and is not mine. A key of the wrong type
/// is the error `WRONGTYPE ...`, unless an operation takes any type.
///
/// **Times.** A lease goes to a key as PEXPIRE does it: 0 or less ends the key at once and still
/// counts as done. With trait `rewrites`, and wherever a string key is created, it goes as SET ...
/// PX does it: 0 or less is the error `ERR invalid expire time in 'set' command`, and nothing
/// happens (some scripts say so even to those whom they would refuse). A text that is no integer is
/// the error `ERR value is not an integer or out of range`.
///
/// **Publishing.** `channel` names the channel (a key or an argument), `message` the payload;
/// without a `message` role the payload is the lock's key. `publish_command` is PUBLISH or
/// SPUBLISH; without that role it is PUBLISH. Without a `channel` role nothing is published.
///
/// **Latch.** An operation with a `latch` key may be repeated: if that key exists, its number is
/// the answer (outcome `latched_kept` for 0, `latched_released` for 1) and nothing else happens. If
/// not, the number answered, 0 or 1 but not nil, stays under that key for `latch_ms`. The client
/// itself deletes it with DEL when it has the answer.
enum class operation : uint8_t {
    // ----------------------------------------------------------------------------------------
    // One string key: the value is the owner's token
    // ----------------------------------------------------------------------------------------

    /// lock; token [ttl_ms | ttl_s | at_ms]. Any type of key. Who holds it is refused too.
    ///   absent: set, with expiry         -> granted
    ///   mine, other: nothing             -> refused
    /// `empty_ttl_is_none`: a ttl_ms of "" means no expiry. `reads_back`: who is refused reads the
    /// key, so that a wrong type is an error.
    acquire_if_absent,

    /// lock; token ttl_ms [allow_new]  or  lock; value token_length ttl_ms.
    ///   absent: set, with expiry         -> granted
    ///   absent, allow_new not "yes"      -> absent
    ///   mine: new expiry                 -> renewed
    ///   other: nothing                   -> refused
    /// `value` is a token of `token_length` bytes and then data of the client: mine is what begins
    /// with the same token. `rewrites`: mine gets the new value too.
    acquire_or_renew,

    /// lock [channel | signal]; token [channel] [signal_ms].
    ///   absent: nothing                  -> absent
    ///   mine: delete, then notify        -> released
    ///   other: nothing                   -> refused
    /// Notify: publish. With `signal`: that list becomes one element, "1", for `signal_ms` (1 s
    /// without that role), and wakes one client that waits in BLPOP.
    release_if_owner,

    /// lock; token (ttl_ms | ttl_s | at_ms | add_ms [replace]).
    ///   absent: nothing                  -> absent
    ///   mine: new expiry                 -> renewed
    ///   mine, no expiry, `ttl_required`  -> untimed
    ///   other: nothing                   -> refused
    /// `add_ms` is added to what remains, unless `replace` is there and is not "0": then it is the
    /// new expiry. `persists`: a ttl_s of 0 or less removes the expiry.
    extend_if_owner,

    /// lock; token ttl_ms. An extension that does not mind having come too late.
    ///   absent: set, with expiry         -> granted
    ///   mine: new expiry                 -> renewed
    ///   other: nothing                   -> refused
    extend_or_create,

    /// lock; token (ttl_ms | at_ms). Any type of key. Takes it from whoever has it.
    ///   set, with expiry                 -> granted
    take_over,

    /// lock; token. Reads. `number` is PTTL, -1 for no expiry.
    ///   absent -> absent    mine -> found    other -> refused
    ttl_if_owner,

    /// lock;. Reads. `text` is the value, `number` PTTL.
    ///   absent -> absent    else -> found
    value_and_ttl,

    /// lock [queue] [waits] [channel | channel_prefix | signal]; [channel] [message] [now_ms]
    /// [publish_command] [signal_ms]. Any type of key.
    ///   absent: nothing                  -> absent
    ///   else: delete, then publish       -> released
    /// With `signal` the list is filled in both cases. With `channel_prefix` as in fair_release.
    force_release,

    /// No keys, no arguments. force_release of every key `lock:*`, with a signal of 1 s on
    /// `lock-signal:*`.                   -> released, `number` of them
    /// A tool of administrators, which a deployment may well refuse.
    force_release_all,

    // ----------------------------------------------------------------------------------------
    // Several string keys, one token, one step
    // ----------------------------------------------------------------------------------------

    /// lock...; token ttl_ms. Any type of key.
    ///   all absent: set all              -> granted, `number` of keys
    ///   else: nothing                    -> refused
    acquire_all,

    /// lock...; value token_length ttl_ms. mine as in acquire_or_renew.
    ///   all absent: set all              -> granted
    ///   all mine: new value and expiry   -> renewed
    ///   else, also part mine, part absent: nothing -> refused
    acquire_or_renew_all,

    /// lock...; token ttl_ms.
    ///   all mine: new expiry             -> renewed, `number` of keys
    ///   else: nothing                    -> refused
    extend_all,

    /// lock...; token. Each key that is mine is deleted; a key named twice counts once.
    ///                                    -> released, `number` of keys, maybe 0
    release_matching,

    /// lock...; token.
    ///   all mine: delete all             -> released
    ///   else: nothing                    -> refused
    release_all,

    /// lock...; token. Reads.
    ///   all mine                         -> found, `number` = the least PTTL above 0, or 0
    ///   else                             -> refused
    ttl_all,

    // ----------------------------------------------------------------------------------------
    // The expiry of keys, whoever owns them
    // ----------------------------------------------------------------------------------------

    /// lock... [queue] [waits] [leases]; (ttl_ms | at_ms) [condition]. PEXPIRE or PEXPIREAT on each
    /// key; `condition` is "", NX, XX, GT or LT. Any type of key.
    ///   set on one key at least          -> renewed
    ///   on none                          -> absent
    /// `last_counts`: only whether it was set on the last key counts.
    expire_keys,

    /// lock... [queue] [waits] [leases];. PERSIST on each key. Outcomes as above.
    persist_keys,

    // ----------------------------------------------------------------------------------------
    // One hash key: field = owner, value = hold count
    // ----------------------------------------------------------------------------------------

    /// lock [fence]; lease_ms owner [reentry_error].
    ///   absent: count 1, expiry          -> granted
    ///   mine: count + 1, new expiry      -> renewed
    ///   mine, with `reentry_error`       -> forbidden, `text` = that argument
    ///   other: nothing                   -> refused, `number` = PTTL, -1 for no expiry
    /// With `fence`, granted and renewed add 1 to that counter; `fence` of the result = its value.
    reentrant_acquire,

    /// lock [channel] [latch]; [message] lease_ms owner [publish_command] [latch_ms].
    ///   absent: nothing                  -> absent      (`absent_notifies`: publish)
    ///   mine, count > 1: count - 1, new expiry -> kept
    ///   mine, count = 1: delete, publish -> released
    ///   other: nothing                   -> refused
    reentrant_release,

    /// lock...; lease_ms owner... An owner for each key; write holds (`<owner>:write`) are renewed
    /// by this too. For each key:
    ///   mine: new expiry                 -> renewed
    ///   absent -> absent    other -> refused
    reentrant_renew,

    // ----------------------------------------------------------------------------------------
    // Readers and a writer: a hash of hold counts, and the field `mode`, read or write
    // ----------------------------------------------------------------------------------------
    // Each read hold has a lease of its own, in a key `<hold_prefix>:<n>`, which is the same as
    // `<holds_prefix>:<owner>:rwlock_timeout:<n>`, n = the number of the hold. A table that knows
    // each hold's lease needs neither name. A hold whose lease is over does not keep the lock: when
    // only such holds are left, it is free.
    //
    // Old texts get some of this wrong (leases mixed up between owners; a write hold lost with the
    // read hold of its owner; a batch that fails on an owner with two holds). They are carried out
    // as they are meant.

    /// lock [hold_prefix]; lease_ms owner [write_owner].
    ///   absent: mode read, count 1, expiry                 -> granted
    ///   mode read, mine or not: count + 1, expiry          -> granted
    ///   mode write, held by `write_owner`: the same        -> granted
    ///   mode write: nothing                                -> refused, `number` = PTTL
    /// The hash gets lease_ms as expiry; `keeps_longer`: if that is more than what remains.
    read_acquire,

    /// lock channel [hold_prefix] [holds_prefix] [latch];
    /// message [lease_ms] owner [publish_command] [latch_ms].
    ///   absent: publish (the latch, if any, keeps a 1)     -> absent
    ///   not mine: nothing                                  -> refused
    ///   mine: count - 1, the lease of that hold ends; then
    ///     read holds of mine are left                      -> kept
    ///     other readers, or my own write hold, are left    -> left
    ///     nothing is left: delete, publish                 -> released
    /// kept and left: the hash gets the expiry of its longest hold, or `lease_ms`.
    read_release,

    /// lock; lease_ms owner (one that ends in `:write`).
    ///   absent: mode write, count 1, expiry                -> granted
    ///   mode write, mine: count + 1, new expiry            -> renewed
    ///   else, even if the caller is the only reader        -> refused, `number` = PTTL
    /// `adds_lease`: renewed makes the expiry what remains + lease_ms.
    write_acquire,

    /// lock channel [latch]; message lease_ms owner [publish_command] [latch_ms].
    ///   absent: publish (the latch, if any, keeps a 1)     -> absent
    ///   mode read; mode write, not mine: nothing           -> refused
    ///   mine, count > 1: count - 1, new expiry             -> kept
    ///   mine, count = 1, read holds exist: mode read       -> left
    ///   mine, count = 1: delete, publish                   -> released
    write_release,

    /// (lock holds_prefix)...; lease_ms (owner... | owner_groups). For each pair one owner, or a
    /// number n and n owners. For each pair:
    ///   one of them has a hold: expiry becomes lease_ms    -> renewed
    ///   else                                               -> absent
    /// The leases of the read holds with it: everybody's; with `owner_groups` those of the named.
    read_renew,

    /// lock channel; message [publish_command].
    ///   mode read: delete, publish                         -> released
    ///   else: nothing                                      -> absent
    read_force_release,

    /// The same for mode write.
    write_force_release,

    /// lock;. Reads.
    ///   mode read; mode write, and a read hold             -> found
    ///   else                                               -> absent
    read_is_locked,

    // ----------------------------------------------------------------------------------------
    // Fair locks: the hash, a list `queue` of owners who wait, and in `waits` when they give up
    // ----------------------------------------------------------------------------------------
    // First of all, heads of the queue whose time is over at `now_ms` leave it; that is a clock of
    // the client. `waiter` belongs to the oldest texts: a key with a TTL for each who waits, in
    // place of `waits` and `now_ms`.

    /// lock queue (waits | waiter); lease_ms owner [now_ms] [wait_ms] [reentry_error].
    ///   absent, the queue is empty or the caller its head: leave the queue, count 1 -> granted
    ///   mine: count + 1, new expiry                        -> renewed
    ///   mine, with `reentry_error`                         -> forbidden, `text`
    ///   else: nothing                                      -> refused
    fair_try,

    /// lock queue (waits | waiter);
    /// lease_ms owner (wait_ms | wait_until_ms) [now_ms] [reentry_error].
    /// As fair_try; but who is refused is in the queue afterwards, at its end if he was not in it.
    /// `number` = ms until it is worth trying again: PTTL of the lock, or the time at which his
    /// predecessor gives up; below 0 if unknown. Any number that is not too late will do. When that
    /// time and then `wait_ms` (as a rule 300 s) have passed, he has given up.
    fair_acquire,

    /// queue waits; owner [wait_ms]. The caller leaves the queue.   -> released
    /// The lock is not named: of a queue `<prefix>:{<x>}` it is <x>, or else `{<x>}`; of any other
    /// queue `<prefix>:<y>` it is <y>. The prefix is `redisson_lock_queue`.
    fair_leave,

    /// lock queue [waits] channel_prefix [latch];
    /// message lease_ms owner [now_ms] [publish_command] [latch_ms].
    ///   absent: notify (the latch, if any, keeps a 1)      -> absent
    ///   mine, count > 1: count - 1, new expiry             -> kept
    ///   mine, count = 1: delete, notify                    -> released
    ///   other: nothing                                     -> refused
    /// Notify: publish to `<channel_prefix>:<head of the queue>`, if there is one.
    fair_release,

    // ----------------------------------------------------------------------------------------
    // Semaphores: a string key with the number n of free permits
    // ----------------------------------------------------------------------------------------

    /// lock; permits.
    ///   n >= permits: n - permits        -> granted
    ///   less, or absent: nothing         -> refused
    permits_acquire,

    /// lock channel; permits [publish_command]. n + permits, publish n.   -> released
    /// absent counts as 0; `only_if_present`: absent -> absent.
    permits_release,

    /// lock;. n becomes 0 and loses its expiry.   -> found, `number` = the old n
    /// absent: nothing                    -> absent
    permits_drain,

    /// lock channel; permits [publish_command] [ttl_ms].
    ///   absent: set, publish permits     -> granted
    ///   else: nothing                    -> refused
    permits_set_if_absent,

    /// lock [channel]; permits [publish_command]. n + permits, no expiry; publish n.   -> released
    /// absent counts as 0. `subtracts`: n - permits. `publishes_amount`: publish the argument, and
    /// only if it is above 0.
    permits_add,

    // ----------------------------------------------------------------------------------------
    // Permits that expire: n as above, and in `leases` the instant when each permit ends
    // ----------------------------------------------------------------------------------------
    // First of all, permits whose instant is `now_ms` or before are taken back: n grows by them and
    // is published if above 0. Not so in the release of one permit and in leases_set_total. All
    // clocks are those of clients. `never_ms` is the instant that stands for no lease.

    /// lock leases channel;
    /// permits deadline_ms permit_id... now_ms never_ms [publish_command].
    ///   n >= permits: n - permits, each permit until deadline_ms -> granted, `text` = the first id
    ///   else: nothing                    -> refused, `number` = the earliest instant of a permit,
    ///                                       -1 if there is none or it is never_ms
    /// At most `permits` permits are taken back. The set gets the expiry of n, if that has one.
    leases_acquire,

    /// lock channel leases; permit_id [permits] [now_ms] [publish_command].
    ///   in the set: remove, n + permits, publish n -> released; lapsed, if its instant is over
    ///   else: nothing                    -> absent
    /// With permit_id... : those in the set are removed, n grows by them; publish how many.
    ///   one at least                     -> released, `number` of them
    ///   none                             -> absent
    /// `all_or_none`: if one is missing or over, nothing at all -> absent.
    leases_release,

    /// lock leases channel; permit_id deadline_ms now_ms [publish_command].
    ///   in the set: new instant          -> renewed
    ///   else: nothing                    -> absent
    leases_extend,

    /// lock leases channel; now_ms [publish_command]. Reads n.
    ///   permits were taken back just now -> lapsed, `number` = n
    ///   else                             -> found, `number` = n
    ///   no n                             -> absent
    leases_available,

    /// The same keys and arguments.        -> found, `number` = n + permits out, 0 if there is no n
    leases_total,

    /// The same keys and arguments.        -> found, `number` = permits out
    leases_out,

    /// lock leases channel; permit_id never_ms now_ms publish_command. Reads.
    ///   in the set                       -> found, `number` = ms left, -1 for never
    ///   else                             -> absent
    leases_ttl,

    /// lock channel leases; permits [publish_command].            -> released
    ///   absent: n = permits; publish permits
    ///   else: n changes so that n + permits out = permits; publish permits, if there is a change
    ///   (old texts: always)
    leases_set_total,

    // ----------------------------------------------------------------------------------------
    // Slots: a sorted set, member = holder, score = when he came (a clock of the client)
    // ----------------------------------------------------------------------------------------
    // With `permits` n a holder has the members `<owner>_0` to `<owner>_<n-1>`, else just `owner`.
    // Members of `now_ms` - `lease_ms` or before are dropped first, but not in slots_release.

    /// lock; limit [permits] owner lease_ms now_ms.
    ///   members + permits <= limit: add, expiry of the set = lease_ms   -> granted
    ///   else: nothing                                                   -> refused
    /// Who is in the set already counts again; `readmits`: he is granted even if it is full.
    slots_acquire,

    /// lock; limit [permits] owner lease_ms now_ms.
    ///   the (first) member is in the set: new scores, expiry            -> renewed
    ///   else: nothing                                                   -> absent
    slots_renew,

    /// lock; permits owner. Remove.         -> released, `number` of members, maybe 0
    slots_release,

    // ----------------------------------------------------------------------------------------

    /// Two keys of no interest: a client wants to know whether this is a cluster.   -> released
    probe,
};

std::string_view name_of(operation op);

}  // namespace lockkeeper::proxy::idioms
