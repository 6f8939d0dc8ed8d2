#include <algorithm>
#include <new>

#include "shards/core/lock_table.hh"
#include "shards/core/planted.hh"

/// Locks with owners and queues, and clients of Redis that come to the same locks.
namespace lockkeeper::shards {

bool lock_table::may_take(const lock_key& key, uint64_t client, std::string_view token,
                          instant now) {
    return (_room.lines() == 0 && _keys.leases() == nullptr) ||
           _room.may_take(key, caller::of(key, client, token), now);
}

void lock_table::was_refused(const lock_key& key, uint64_t client, std::string_view token,
                             instant now) {
    _room.refused(key, _keys.find(key, now), caller::of(key, client, token), now);
}

void lock_table::refuse_line(const lock_key& key, lock_error error, instant now) {
    for (lock_line* line = _room.find(key); line != nullptr && !line->queue.empty();
         line = _room.find(key)) {
        _room.leave(line->queue.front(), waiter::state::refused, error, now);
    }
}

instant lock_table::open_again(const lock_key& key, instant now) {
    instant when = now;
    if (const lock_line* const line = _room.find(key)) {
        when = std::max(when, line->closed_until);
        if (line->kept) {
            when = std::max(when, line->kept->until);
        }
    }
    if (_keys.leases() != nullptr) {
        when = std::max(when, _keys.leases()->elsewhere_until(key).value_or(now));
    }
    return when;
}

lock_result<grant_outcome> lock_table::take(const grant_request& request, if_refused then,
                                            instant now) {
    lock_entry* entry = _keys.find(request.key, now);
    if (entry != nullptr && entry->holders() != nullptr && _grants.prune(*entry, now)) {
        entry = nullptr;
    }
    const bool must_queue =
        entry == nullptr
            ? !may_take(request.key, request.client, request.owner, now)
            : _room.lines() > 0 &&
                  ((_room.has_queue(request.key) && !(request.mode == lock_mode::shared &&
                                                      planted(fault::reader_overtakes_writer))) ||
                   (entry->holders() != nullptr && _room.is_closed(request.key, now))) &&
                  (request.is_parked || !_grants.holds(request.key, request.owner, now));
    grant_outcome outcome;
    if (must_queue) {
        entry = _keys.find(request.key, now);
        outcome.held_until = entry != nullptr ? entry->until() : _room.opens_at(request.key);
    } else {
        const auto tried = _grants.take(request, now);
        if (!tried) {
            return tried;
        }
        outcome = *tried;
    }
    if (outcome.granted && _room.lines() > 0) {
        _room.took(request.key, caller::of(request.key, request.client, request.owner),
                   *_keys.find(request.key, now));
    }
    if (!outcome.granted && then == if_refused::may_ask_again) {
        was_refused(request.key, request.client, request.owner, now);
    }
    return outcome;
}

lock_result<std::optional<int64_t>> lock_table::release_hold(const lock_key& key,
                                                             std::string_view owner, instant now,
                                                             uint64_t client) {
    auto left = _grants.release(key, owner, now);
    if (left && !*left && client != 0) {
        _grants.habits.note(habit::late_release, key, client, now);
    }
    if (left && !*left && _room.lines() > 0) {
        _room.gave_up(key, caller::of(key, 0, owner).token, now);
    }
    return left;
}

std::optional<uint64_t> lock_table::fence_of(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::nullopt;
    }
    const holder_list* const holders = entry->holders();
    if (holders == nullptr) {
        return entry->fence;
    }
    // The newest one may have left.
    uint64_t highest = 0;
    for (const holder_list::holder& each : holders->all()) {
        highest = std::max(highest, each.until > now ? each.fence : 0);
    }
    return highest;
}

void lock_table::note_delay(lock_entry& entry) {
    if (_policies.any_delays() &&
        _policies.of(entry.name()).lock_delay > std::chrono::milliseconds::zero()) {
        entry.set(lock_entry::delays);
    }
}

std::optional<instant> lock_table::next_expiry() const {
    const auto entry = _keys.next_expiry();
    const auto holder = _grants.next_pruning();
    return entry && holder ? std::min(entry, holder) : entry ? entry : holder;
}

expire_progress lock_table::expire_due(instant now, size_t budget) {
    auto progress = _keys.expire_due(now, budget);
    progress.more = _grants.prune_due(now, budget) == budget || progress.more;
    return progress;
}

void lock_table::taken(lock_entry& entry, const lock_key& key, std::string_view value,
                       uint64_t client, expiry_change expiry, instant now) {
    entry.client = client;
    note_delay(entry);
    try {
        keep_alive_by_policy(entry, expiry, now);
    } catch (...) {
        _keys.remove(entry, now, entry_watcher::reason::released);
        throw;
    }
    ++_grants.counted.grants;
    if (_room.lines() > 0) {
        _room.took(key, caller::of(key, client, value), entry);
    }
}

void lock_table::keep_alive_by_policy(lock_entry& entry, expiry_change expiry, instant now) {
    if (entry.client != 0 && expiry.what == expiry_change::rule::at && _policies.any_renews() &&
        _policies.of(entry.name()).renew) {
        _grants.keep_alive(entry, std::chrono::ceil<std::chrono::milliseconds>(expiry.when - now),
                           now);
    }
}

/// The same grant, told once more and over another connection. If there is no memory to keep it
/// alive by that one, it ends with its TTL, as its client was told.
void lock_table::taken_again(lock_entry& entry, const set_request& request, instant now) {
    const lock_key key = request.key;
    _keys.reserve_expiry(entry, request.expiry);
    _grants.move_to(entry, request.client);
    entry.clear(lock_entry::orphaned);
    entry.set_granted_at(now);  // this answer may get lost as well
    _keys.change_expiry(entry, request.expiry, now);
    lock_entry* const still = _keys.find(key, now);
    if (still == nullptr) {
        return;
    }
    try {
        keep_alive_by_policy(*still, request.expiry, now);
    } catch (const std::bad_alloc&) {
    }
}

bool lock_table::is_resent(const lock_entry& entry, const set_request& request) const {
    const auto* const text = std::get_if<std::string>(&entry.value);
    return (entry.has(lock_entry::orphaned) || planted(fault::resend_without_orphan)) &&
           text != nullptr && *text == request.value && request.client != entry.client;
}

void lock_table::orphan(const lock_key& key, uint64_t client, instant since, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry != nullptr && entry->text() != nullptr && entry->client == client &&
        entry->was_granted_since(since, now) && entry->held_for(now) < std::chrono::seconds(10)) {
        entry->set(lock_entry::orphaned);
    }
}

}  // namespace lockkeeper::shards
