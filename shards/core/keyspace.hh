#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/entry_map.hh"
#include "shards/core/expiry_heap.hh"
#include "shards/core/fence_counter.hh"
#include "shards/core/lease_source.hh"
#include "shards/core/lock_entry.hh"
#include "shards/core/lock_types.hh"
#include "shards/core/slow_log.hh"
#include "shards/core/time_histogram.hh"

namespace lockkeeper::shards {

struct lock_table_options {
    /// As many as Redis has by default.
    uint32_t databases = 16;
    /// Bytes of one key. Names of locks are short; a key that long is a mistake of the caller.
    size_t key_bytes_max = 8 * 1024;
    /// Keys of all databases of one core.
    size_t keys_max = 4'000'000;
    /// Fields of one hash, elements of one list, owners of one lock: they are searched one after
    /// the other, and the fields of a hash lie in one block that should stay within 128 KiB.
    size_t members_max = 2'048;
    /// Fences begin above `fence_floor` and stop at `fence_ceiling` until that is raised.
    uint64_t fence_floor = 0;
    uint64_t fence_ceiling = fence_limit;
    /// Until then no lock is given to anybody: after a restart that forgot who holds what.
    instant grants_from = start_of_time;
    slow_log_options slow{};
};

/// Told of entries that bear a mark when they go.
class entry_watcher {
public:
    enum class reason : uint8_t {
        released,  ///< by its owner
        removed,   ///< by anybody: DEL, FLUSHDB, SET of another value
        expired,
    };

    /// The entry is whole; it is gone when this returns. Must not change the keyspace.
    virtual void leaving(lock_entry& entry, reason why, instant now) = 0;
    /// One of several holders has gone without a release, and the entry bears the mark `delays`.
    virtual void holder_expired(lock_entry& entry, instant now) = 0;
    /// The end of an entry that somebody is in line for has changed.
    virtual void rescheduled(lock_entry& entry, instant now) = 0;
    /// All entries of a database are about to go at once. Those that bear a mark are told of one by
    /// one when their memory is freed.
    virtual void flushing(uint32_t database) = 0;
    /// An entry is about to go that was there for longer than slow_log_options::hold.
    virtual void held_long(lock_entry& entry, reason why, instant end) = 0;

protected:
    ~entry_watcher() = default;
};

/// How long locks were held, by the way in which that ended.
struct hold_times {
    std::array<time_histogram, 3> by_reason{};  ///< in the order of entry_watcher::reason

    time_histogram& operator[](entry_watcher::reason why) {
        return by_reason[static_cast<size_t>(why)];
    }
};

/// For how long masters must hold the key of a new grant.
enum class lease_need : uint8_t {
    to_its_end,   ///< its owner is told that end
    on_renewals,  ///< it lives by a connection: a lease that is renewed is enough
};

using scan_visitor = std::function<void(const scanned_entry&)>;

/// The entries of one core and their life: creation, expiry, versions, limits, the count of their
/// bytes. What they hold and who may change it is lock_table's. Belongs to a lock_table.
///
/// Invariants:
/// - An entry is in the map of its database, and in that database's heap if and only if it has an
/// expiry.
/// - find() never returns an entry that has expired.
/// - Versions only grow, over all entries. An absent key leaves no memory behind but a mark that it
/// shares with
///   others (see watch()).
class keyspace {
public:
    explicit keyspace(lock_table_options options);
    ~keyspace();

    const lock_table_options& options() const { return _options; }
    fence_counter& fences() { return _fences; }
    void watch_with(entry_watcher& who) { _watcher = &who; }
    entry_watcher* watcher() { return _watcher; }
    /// From now on keys need leases, but for signal lists.
    void lease_from(lease_source& source) { _leases = &source; }
    lease_source* leases() const { return _leases; }
    /// While a script runs: its locks. All other keys that it makes live here only, beside them.
    void lease_only(std::optional<std::span<const std::string_view>> names) {
        _leased_only = names;
    }

    /// Asks for the memory that find() will read: first for all buckets, then for all entries.
    enum class fetched : uint8_t { bucket, entry };
    void fetch(const lock_key& key, fetched what) const {
        const auto& held = _databases[key.database].held;
        if (held) {
            what == fetched::bucket ? held->map.fetch_bucket(key.hash.value)
                                    : held->map.fetch_node(key.hash.value);
        }
    }
    /// As it lies there, expired or not; for those who only tell of it.
    lock_entry* peek(const lock_key& key) const {
        const auto& held = _databases[key.database].held;
        return held ? held->map.find(key.hash.value, key.name) : nullptr;
    }
    /// Null if absent. Removes the entry if it has expired.
    lock_entry* find(const lock_key& key, instant now);
    /// The key must be absent. Null if its expiry has passed already: then it came and went.
    /// Refuses with too_many_locks, key_too_long, no_fence or starting.
    lock_result<lock_entry*> create(const lock_key& key, lock_entry::payload value,
                                    expiry_change expiry, instant now,
                                    lease_need need = lease_need::to_its_end);
    void remove(lock_entry& entry, instant now,
                entry_watcher::reason why = entry_watcher::reason::removed);
    /// The fence of a new grant of an entry that stays, which ends at `until` and is for `token`.
    /// Refuses with no_fence or no_lease; changes nothing yet.
    lock_result<uint64_t> next_fence(const lock_entry& entry, instant until, std::string_view token,
                                     instant now);
    void give_fence(lock_entry& entry, uint64_t fence, instant now);
    /// To be called after each change of an entry's value.
    void changed(lock_entry& entry);
    /// After it change_expiry() cannot throw, so a caller may change the value between the two.
    void reserve_expiry(const lock_entry& entry, expiry_change change);
    /// Counts as a change. Removes the entry if its expiry has passed.
    void change_expiry(lock_entry& entry, expiry_change change, instant now);

    watch_mark watch(const lock_key& key, instant now);
    bool changed_since(const lock_key& key, watch_mark mark, instant now);

    void for_each(const std::function<void(lock_entry&)>& visit) const;
    uint64_t scan(const scan_request& request, instant now, const scan_visitor& visit) const;
    size_t size(uint32_t database) const;
    endings ends(uint32_t database, instant now) const;
    size_t flush(uint32_t database);

    std::optional<instant> next_expiry() const;
    expire_progress expire_due(instant now, size_t budget);

    table_stats stats() const;
    /// Locks with several holders are counted holder by holder, by whoever knows them.
    hold_times holds{};
    std::optional<std::string> verify() const;

private:
    struct content {
        entry_map map;
        expiry_heap heap;
    };
    struct database {
        std::unique_ptr<content> held;  ///< null until the first key
        uint64_t newest_change = 0;
        uint64_t newest_flushed = 0;  ///< newest_change at the last flush
    };

    content& content_of(const lock_entry& entry) { return *_databases[entry.database()].held; }
    bool needs_lease(const lock_key& key, const lock_entry::payload& value) const;
    void tell_needed(lock_entry& entry, instant now);
    void note_removal(uint64_t hash, uint64_t version);
    void expire(lock_entry& entry, instant now);
    void note_hold(lock_entry& entry, entry_watcher::reason why, instant end);
    void take_out(lock_entry& entry);
    size_t free_flushed(instant now, size_t budget);

    lock_table_options _options;
    std::vector<database> _databases;
    /// Flushed at once, freed bit by bit.
    std::vector<std::unique_ptr<content>> _flushed;
    /// By hash: the last version of the newest entry that was removed there. Empty until somebody
    /// watches an absent key.
    std::vector<uint64_t> _removals;
    fence_counter _fences;
    entry_watcher* _watcher = nullptr;
    lease_source* _leases = nullptr;
    std::optional<std::span<const std::string_view>> _leased_only;
    uint64_t _version = 0;
    size_t _keys = 0;
    size_t _entry_bytes = 0;
    uint64_t _expired = 0;
};

}  // namespace lockkeeper::shards
