#include "shards/core/keyspace.hh"

#include <algorithm>
#include <cassert>
#include <utility>

#include "shards/core/planted.hh"

namespace lockkeeper::shards {
namespace {

/// Keys share these marks, so an absent watched key is taken for changed if one of its many
/// neighbours was changed and removed meanwhile. 64 KiB.
constexpr size_t removal_marks = 8'192;

/// Keeps one call of scan() well under a millisecond, whatever a client asks for.
constexpr size_t scan_count_max = 1'000;

/// Empty buckets visited per key asked for, before a scan returns with less.
constexpr size_t scan_buckets_per_key = 10;

/// Entries that a full table looks for to make room.
constexpr size_t expire_when_full = 16;

}  // namespace

keyspace::keyspace(lock_table_options options)
    : _options(options),
      _databases(options.databases),
      _fences(options.fence_floor, options.fence_ceiling) {}

keyspace::~keyspace() = default;

lock_entry* keyspace::find(const lock_key& key, instant now) {
    assert(key.database < _databases.size());
    const auto& held = _databases[key.database].held;
    lock_entry* const entry = held ? held->map.find(key.hash.value, key.name) : nullptr;
    if (entry == nullptr ||
        (!entry->expired(now) && (!entry->has(lock_entry::leased) || _leases->is_valid(key, now))))
        [[likely]] {
        return entry;
    }
    expire(*entry, now);
    return nullptr;
}

lock_result<lock_entry*> keyspace::create(const lock_key& key, lock_entry::payload value,
                                          expiry_change expiry, instant now, lease_need need) {
    database& into = _databases[key.database];
    const bool ends = expiry.what == expiry_change::rule::at;
    if (ends && expiry.when <= now) {
        into.newest_change = ++_version;
        note_removal(key.hash.value, _version);
        return nullptr;
    }
    if (key.name.size() > _options.key_bytes_max) {
        return std::unexpected(lock_error::key_too_long);
    }
    if (_keys >= _options.keys_max) {
        expire_due(now, expire_when_full);
        if (_keys >= _options.keys_max) {
            return std::unexpected(lock_error::too_many_locks);
        }
    }
    if (now < _options.grants_from) {
        return std::unexpected(lock_error::starting);
    }
    const bool leased = _leases != nullptr && needs_lease(key, value);
    if (!leased && _fences.left() == 0) {
        return std::unexpected(lock_error::no_fence);
    }
    // What can throw comes first: a lock must not stay behind without its expiry.
    if (!into.held) {
        into.held = std::make_unique<content>();
    }
    if (ends) {
        into.held->heap.reserve_one();
    }
    auto fresh = lock_entry::make(key, std::move(value));
    if (leased) {
        const bool to_its_end = ends && need == lease_need::to_its_end;
        const auto fence = _leases->fence(key, to_its_end ? expiry.when : end_of_time,
                                          fresh->token_of_owner(), now);
        if (!fence) {
            return std::unexpected(lock_error::no_lease);
        }
        fresh->fence = *fence;
        fresh->set(lock_entry::leased);
        fresh->set_granted_at(now);
    }
    lock_entry& entry = into.held->map.insert(std::move(fresh));
    if (ends) {
        into.held->heap.set(entry, expiry.when);
    }
    ++_keys;
    if (!leased) {
        give_fence(entry, *next_fence(entry, end_of_time, {}, now), now);
    }
    changed(entry);
    return &entry;
}

/// Signal lists wake clients of this proxy, and the keys beside a lock live and die with it.
bool keyspace::needs_lease(const lock_key& key, const lock_entry::payload& value) const {
    return !std::holds_alternative<std::unique_ptr<signal_list>>(value) &&
           (!_leased_only || std::ranges::find(*_leased_only, key.name) != _leased_only->end());
}

lock_result<uint64_t> keyspace::next_fence(const lock_entry& entry, instant until,
                                           std::string_view token, instant now) {
    if (entry.has(lock_entry::leased)) {
        const lock_key key{entry.database(), entry.name(), key_hash{entry.hash()}};
        const auto fence = _leases->fence(key, until, token, now);
        return fence ? lock_result<uint64_t>(*fence) : std::unexpected(lock_error::no_lease);
    }
    const auto fence = planted(fault::fence_not_raised) && _fences.last() > 0
                           ? std::optional(_fences.last())
                           : _fences.next();
    return fence ? lock_result<uint64_t>(*fence) : std::unexpected(lock_error::no_fence);
}

void keyspace::give_fence(lock_entry& entry, uint64_t fence, instant now) {
    // P2; without fences all of them are 0.
    assert(fence > entry.fence || fence == 0 || planted(fault::fence_not_raised));
    entry.fence = fence;
    entry.set_granted_at(now);
}

void keyspace::take_out(lock_entry& entry) {
    content& from = content_of(entry);
    if (entry.has_expiry()) {
        from.heap.remove(entry);
    }
    note_removal(entry.hash(), entry.version);
    _entry_bytes -= entry.counted_bytes;
    --_keys;
    from.map.take(entry).reset();
}

void keyspace::note_hold(lock_entry& entry, entry_watcher::reason why, instant end) {
    if (entry.kind() > entry_kind::hash) [[unlikely]] {
        return;
    }
    const auto time = entry.held_for(end);
    holds[why].record(time);
    if (time >= _options.slow.hold && _watcher != nullptr) [[unlikely]] {
        _watcher->held_long(entry, why, end);
    }
}

void keyspace::remove(lock_entry& entry, instant now, entry_watcher::reason why) {
    note_hold(entry, why, now);
    if (entry.marks != 0) {
        _watcher->leaving(entry, why, now);
    }
    take_out(entry);
}

void keyspace::expire(lock_entry& entry, instant now) {
    ++_expired;
    note_hold(entry, entry_watcher::reason::expired, entry.expired(now) ? entry.expiry : now);
    if (entry.marks != 0) {
        _watcher->leaving(entry, entry_watcher::reason::expired, now);
    }
    take_out(entry);
}

void keyspace::changed(lock_entry& entry) {
    entry.version = ++_version;
    _databases[entry.database()].newest_change = _version;
    _entry_bytes -= entry.counted_bytes;
    entry.counted_bytes = static_cast<uint32_t>(entry.footprint());
    _entry_bytes += entry.counted_bytes;
}

void keyspace::reserve_expiry(const lock_entry& entry, expiry_change change) {
    if (change.what == expiry_change::rule::at && !entry.has_expiry()) {
        content_of(entry).heap.reserve_one();
    }
}

void keyspace::change_expiry(lock_entry& entry, expiry_change change, instant now) {
    switch (change.what) {
        case expiry_change::rule::keep:
            break;
        case expiry_change::rule::never:
            if (entry.has_expiry()) {
                content_of(entry).heap.remove(entry);
            }
            break;
        case expiry_change::rule::at:
            if (change.when <= now) {
                changed(entry);
                remove(entry, now);
                return;
            }
            content_of(entry).heap.set(entry, change.when);
            break;
    }
    changed(entry);
    if (entry.has(lock_entry::leased)) {
        tell_needed(entry, now);
    }
    if (entry.has(lock_entry::awaited)) {
        _watcher->rescheduled(entry, now);
    }
}

/// Owners who live by their connections need a lease that is renewed; the others one to their ends.
void keyspace::tell_needed(lock_entry& entry, instant now) {
    const lock_key key{entry.database(), entry.name(), key_hash{entry.hash()}};
    const holder_list* const several = entry.holders();
    if (several == nullptr) {
        const bool is_bound = entry.has(lock_entry::bound);
        return _leases->needed_until(
            key, is_bound ? end_of_time : entry.until().value_or(end_of_time), now);
    }
    instant told = start_of_time;
    bool is_bound = false;
    for (const holder_list::holder& each : several->all()) {
        is_bound |= each.bound;
        told = std::max(told, each.bound ? start_of_time : each.until);
    }
    if (told != start_of_time) {
        _leases->needed_until(key, told, now);
    }
    if (is_bound) {
        _leases->needed_until(key, end_of_time, now);
    }
}

void keyspace::note_removal(uint64_t hash, uint64_t version) {
    if (!_removals.empty()) {
        uint64_t& mark = _removals[hash % removal_marks];
        mark = std::max(mark, version);
    }
}

watch_mark keyspace::watch(const lock_key& key, instant now) {
    if (const lock_entry* const entry = find(key, now)) {
        return {.present = true, .version = entry->version};
    }
    if (_removals.empty()) {
        _removals.resize(removal_marks);
    }
    return {.present = false, .version = _version};
}

bool keyspace::changed_since(const lock_key& key, watch_mark mark, instant now) {
    if (const lock_entry* const entry = find(key, now)) {
        return !mark.present || entry->version != mark.version;
    }
    if (mark.present) {
        return true;
    }
    assert(!_removals.empty());  // watch() has seen to it
    // It was absent and is absent. Had it come and gone, then its last version was newer than the
    // mark.
    return _removals[key.hash.value % removal_marks] > mark.version ||
           _databases[key.database].newest_flushed > mark.version;
}

void keyspace::for_each(const std::function<void(lock_entry&)>& visit) const {
    for (const database& each : _databases) {
        for (uint64_t at = 0; each.held && at != entry_map::end_of_positions;) {
            at = each.held->map.visit_bucket(at, visit);
        }
    }
}

uint64_t keyspace::scan(const scan_request& request, instant now, const scan_visitor& visit) const {
    const auto& held = _databases[request.database].held;
    if (!held || request.cursor >= entry_map::end_of_positions) {
        return 0;
    }
    const size_t wanted = std::clamp<size_t>(request.count, 1, scan_count_max);
    size_t visited = 0;
    const auto visit_living = [&](lock_entry& entry) {
        ++visited;
        if (!entry.expired(now)) {
            visit({.name = entry.name(), .kind = entry.kind(), .until = entry.until()});
        }
    };
    uint64_t position = request.cursor;
    for (size_t buckets = 0; visited < wanted && buckets < wanted * scan_buckets_per_key;
         ++buckets) {
        position = held->map.visit_bucket(position, visit_living);
        if (position == entry_map::end_of_positions) {
            return 0;
        }
    }
    return position;
}

size_t keyspace::size(uint32_t database) const {
    const auto& held = _databases[database].held;
    return held ? held->map.size() : 0;
}

endings keyspace::ends(uint32_t database, instant now) const {
    constexpr size_t looked_at = 256;
    const auto& held = _databases[database].held;
    const size_t keys = held ? held->heap.size() : 0;
    endings all{.keys = keys};
    const size_t samples = std::min(keys, looked_at);
    for (size_t i = 0; i < samples; ++i) {
        // Spread over the heap: the next ones to end are in front.
        const auto left = held->heap.when(i * keys / samples) - now;
        all.mean_left += std::max(left, left.zero()) / static_cast<int64_t>(samples);
    }
    return all;
}

size_t keyspace::flush(uint32_t number) {
    database& flushed = _databases[number];
    const size_t keys = size(number);
    if (keys > 0) {
        _flushed.reserve(_flushed.size() + 1);  // may throw: before anybody is told
        if (_watcher != nullptr) {
            _watcher->flushing(number);
        }
        _flushed.push_back(std::move(flushed.held));
        flushed.newest_flushed = flushed.newest_change;
        _keys -= keys;
    }
    return keys;
}

size_t keyspace::free_flushed(instant now, size_t budget) {
    size_t freed = 0;
    while (!_flushed.empty() && freed < budget) {
        entry_map& map = _flushed.back()->map;
        if (map.size() == 0) {
            _flushed.pop_back();
            continue;
        }
        const lock_entry::owner entry = map.take_any();
        _entry_bytes -= entry->counted_bytes;
        if (entry->marks != 0) {
            _watcher->leaving(*entry, entry_watcher::reason::removed, now);
        }
        ++freed;
    }
    return freed;
}

std::optional<instant> keyspace::next_expiry() const {
    if (!_flushed.empty()) {
        return start_of_time;
    }
    std::optional<instant> next;
    for (const database& each : _databases) {
        if (each.held && !each.held->heap.empty()) {
            next = std::min(next.value_or(end_of_time), each.held->heap.top().expiry);
        }
    }
    return next;
}

expire_progress keyspace::expire_due(instant now, size_t budget) {
    expire_progress progress;
    for (database& each : _databases) {
        while (each.held && !each.held->heap.empty() && each.held->heap.top().expired(now)) {
            if (progress.removed == budget) {
                progress.more = true;
                return progress;
            }
            expire(each.held->heap.top(), now);
            ++progress.removed;
        }
    }
    progress.removed += free_flushed(now, budget - progress.removed);
    progress.more = !_flushed.empty();
    return progress;
}

table_stats keyspace::stats() const {
    table_stats stats{.keys = _keys, .bytes = _entry_bytes, .expired = _expired};
    stats.bytes += _removals.capacity() * sizeof(uint64_t);
    for (const database& each : _databases) {
        if (each.held) {
            stats.keys_with_expiry += each.held->heap.size();
            stats.bytes += each.held->map.bytes() + each.held->heap.bytes();
        }
    }
    for (const auto& each : _flushed) {
        stats.bytes += each->map.bytes() + each->heap.bytes();
    }
    return stats;
}

}  // namespace lockkeeper::shards
