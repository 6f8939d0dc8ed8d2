#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "shards/core/clock.hh"
#include "shards/core/key_hash.hh"

/// What is asked of a lock table and what it answers. Inputs are views: the table copies what it
/// keeps. An output that is a view points into the table and ends with the next call that is not a
/// read.
namespace lockkeeper::shards {

/// Which lock. `hash` is key_place::bucket of `name`.
struct lock_key {
    uint32_t database = 0;
    std::string_view name;
    key_hash hash;
};

/// What Redis' TYPE tells. A counter is a string that holds an integer. A lock with one owner is a
/// string too, however it was taken; one with several (`holders`) is known to native verbs only.
enum class entry_kind : uint8_t { string, hash, list, holders };

enum class lock_error : uint8_t {
    wrong_type,        ///< the key holds another kind than the request is for
    key_too_long,      ///< a new key would exceed lock_table_options::key_bytes_max
    too_many_locks,    ///< a new key would exceed lock_table_options::keys_max
    too_many_members,  ///< a new field or element would exceed lock_table_options::members_max
    not_an_integer,    ///< an increment of something that is not a decimal 64-bit integer
    overflow,          ///< an increment beyond 64 bits
    too_many_holds,    ///< one more hold of the same owner than can be counted
    too_many_holders,  ///< as many owners as members_max share the lock; one may go
    too_many_waiters,  ///< in the queue of this key, or of this core
    other_lock_type,   ///< exclusive or shared asked of a semaphore, or the reverse
    other_permits,     ///< another number of permits than those of the lock or of the owner's holds
    upgrade,           ///< a shared owner asks for the exclusive lock
    deadlock,          ///< this wait would close a circle, and the policy refuses that
    no_fence,          ///< no number could be given; see fence_counter
    no_lease,          ///< the masters do not hold the key for us (yet)
    moved,             ///< another proxy has the key, and can be asked
    starting,          ///< grants are not made yet; see lock_table_options::grants_from
};

/// After an error the table is as it was before.
template <typename T>
using lock_result = std::expected<T, lock_error>;

/// What a request does to the lifetime of its entry.
struct expiry_change {
    enum class rule : uint8_t { never, keep, at };

    rule what = rule::never;
    instant when{};

    static constexpr expiry_change never() { return {rule::never, {}}; }
    static constexpr expiry_change keep() { return {rule::keep, {}}; }
    /// An instant that has passed ends the entry at once, as in Redis.
    static constexpr expiry_change at(instant when) { return {rule::at, when}; }
};

enum class set_condition : uint8_t {
    always,
    if_absent,     ///< NX
    if_present,    ///< XX
    if_equal,      ///< IFEQ: never creates
    if_not_equal,  ///< IFNE: creates what is absent
};

struct set_request {
    lock_key key;
    std::string_view value;
    set_condition condition = set_condition::always;
    std::string_view comparand{};  ///< for if_equal and if_not_equal
    expiry_change expiry = expiry_change::never();
    bool want_previous = false;  ///< GET
    uint64_t client = 0;         ///< the connection that asks; 0: does not matter
};

struct set_outcome {
    bool stored = false;
    /// The value before, whether or not stored; only if wanted.
    std::optional<std::string> previous{};
};

/// Compare-and-act on a string.
enum class compare_outcome : uint8_t {
    absent,
    refused,    ///< the comparison failed
    no_expiry,  ///< equal, but there is no TTL to extend or to drop
    done,
};

enum class comparison : uint8_t { equal, not_equal };

struct remove_if_request {
    lock_key key;
    std::string_view comparand;
    comparison compare = comparison::equal;
    uint64_t client = 0;  ///< the connection that asks; 0: does not matter
};

struct expire_if_equal_request {
    enum class change : uint8_t {
        until,    ///< ends at `when`
        extend,   ///< ends `by` later than now planned; refused with no_expiry without a TTL
        persist,  ///< ends never; no_expiry if that was so before
    };

    lock_key key;
    std::string_view comparand;
    change what = change::until;
    instant when{};
    std::chrono::nanoseconds by{};
};

/// Acquire if absent; if the holder asks again, renew. The stored value is replaced by `value` in
/// both cases.
struct acquire_or_renew_request {
    lock_key key;
    std::string_view value;
    /// The holder is recognised by this many first bytes of `value`: the rest may be its free text.
    /// 0 recognises nobody.
    size_t token_bytes = std::string_view::npos;
    expiry_change expiry = expiry_change::never();
    bool may_create = true;  ///< false: only renew
    uint64_t client = 0;
};

struct acquire_or_renew_outcome {
    enum class result : uint8_t { acquired, renewed, refused };

    result what = result::refused;
    /// Of the holder that refused us; empty if there is none, or if it never ends.
    std::optional<instant> held_until{};
};

/// EXPIRE and its kin; the conditions are all to hold. An entry without a TTL counts as one that
/// ends never.
struct expire_request {
    lock_key key;
    instant when;
    bool if_none = false;     ///< NX
    bool if_some = false;     ///< XX
    bool if_later = false;    ///< GT
    bool if_earlier = false;  ///< LT
};

struct lifetime {
    bool present = false;
    std::optional<instant> until{};  ///< empty: for ever
};

/// Reentrant locks are hashes: a field per owner, its value the number of holds.
struct reentrant_request {
    lock_key key;
    std::string_view owner;
    expiry_change expiry = expiry_change::keep();
};

struct acquire_outcome {
    bool won = false;
    int64_t holds = 0;                    ///< of this owner, if won
    std::optional<instant> held_until{};  ///< if not won; empty: for ever
};

struct release_outcome {
    enum class result : uint8_t { absent, not_owner, still_held, freed };

    result what = result::absent;
    int64_t holds = 0;  ///< left, if still held
};

struct hash_field {
    std::string_view name;
    std::string_view value;
};

enum class list_end : uint8_t { front, back };

/// What a key looked like when it was watched.
struct watch_mark {
    bool present = false;
    uint64_t version = 0;
};

struct scan_request {
    uint32_t database = 0;
    uint64_t cursor = 0;  ///< 0 to begin; afterwards what the last call returned
    size_t count = 10;    ///< about how many keys to visit
};

struct scanned_entry {
    std::string_view name;
    entry_kind kind;
    std::optional<instant> until{};
};

struct expire_progress {
    size_t removed = 0;
    bool more = false;  ///< the budget ended before the work did
};

/// Keys of a database that end by themselves.
struct endings {
    size_t keys = 0;
    /// What is left to them, on average over some of them.
    std::chrono::nanoseconds mean_left{0};
};

struct table_stats {
    uint64_t keys = 0;
    uint64_t keys_with_expiry = 0;
    uint64_t bytes = 0;    ///< estimate: entries, values, buckets and expiry heap
    uint64_t expired = 0;  ///< entries that time removed, since the start
};

}  // namespace lockkeeper::shards
