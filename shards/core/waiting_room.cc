#include "shards/core/waiting_room.hh"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

namespace lockkeeper::shards {
namespace {

using namespace std::chrono_literals;

/// How often the seats of a line are looked through for those who do not ask any more.
constexpr auto sweep_interval = 1s;

grant_request request_of(const waiter& who, const lock_key& key) {
    return {.key = key,
            .owner = who.owner,
            .client = who.client,
            .mode = who.mode,
            .permits = who.permits,
            .of = who.of,
            .ttl = who.ttl,
            .is_plain = who.is_parked};
}

}  // namespace

/// Databases are separate, but their lines share one map.
uint64_t waiting_room::hash_of(const lock_key& key) {
    return key.hash.value ^ (key.database * 0x9E37'79B9'7F4A'7C15U);
}

lock_line* waiting_room::find(const lock_key& key) {
    return _lines.size() == 0 ? nullptr : _lines.find(hash_of(key), key.name);
}

const lock_line* waiting_room::find(const lock_key& key) const {
    return _lines.size() == 0 ? nullptr : _lines.find(hash_of(key), key.name);
}

lock_line* waiting_room::open(const lock_key& key, instant now) {
    if (lock_line* const known = find(key)) {
        return known;
    }
    if (_lines.size() >= _options.lines_max) {
        return nullptr;
    }
    _due.reserve_one();
    lock_line& fresh =
        _lines.insert(std::make_unique<lock_line>(key, hash_of(key), _policies.of(key.name)));
    fresh.since = now;
    return &fresh;
}

void waiting_room::close_if_idle(lock_line& line, instant now) {
    if (!line.is_idle(now)) {
        return;
    }
    if (lock_entry* const entry = _keys.find(line.key(), now)) {
        entry->clear(lock_entry::awaited);
    }
    if (line.heap_index != not_in_heap) {
        _due.remove(line);
    }
    _lines.take(line).reset();  // leaves _stirred by itself
}

void waiting_room::look_again(lock_line& line, instant when) {
    if (when == end_of_time) {
        if (line.heap_index != not_in_heap) {
            _due.remove(line);
        }
        return;
    }
    _due.set(line, when);
}

void waiting_room::mark_awaited(const lock_line& line, instant now) {
    if (lock_entry* const entry = _keys.find(line.key(), now)) {
        entry->set(lock_entry::awaited);
    }
}

// ---- at the door --------------------------------------------------------------------------------

bool waiting_room::may_take(const lock_key& key, caller who, instant now) {
    lock_line* const line = find(key);
    if (line == nullptr) {
        return true;
    }
    if (line->is_linked()) {
        // It has come free in this very command: those in line are asked first.
        line->unlink();
        serve(*line, now);
        if (_keys.find(key, now) != nullptr) {
            return false;
        }
        if (find(key) == nullptr) {
            return true;
        }
    }
    if (line->closed_until > now || !line->queue.empty()) {
        return false;
    }
    return !line->kept || line->kept->until <= now ||
           line->polling.is_for(*line->kept, *line->policy, who, now);
}

void waiting_room::refused(const lock_key& key, lock_entry* entry, caller who, instant now) {
    ++_grants.counted.refusals;
    if (who.client == 0) {
        return;
    }
    lock_line* const line = open(key, now);
    if (line == nullptr) {
        return;
    }
    line->polling.asked(who, now);
    if (entry != nullptr) {
        entry->set(lock_entry::awaited);
    }
    if (line->heap_index == not_in_heap) {
        look_again(*line, now + sweep_interval);
    }
}

void waiting_room::took(const lock_key& key, caller who, lock_entry& entry) {
    lock_line* const line = find(key);
    if (line == nullptr) {
        return;
    }
    line->polling.took(who);
    line->kept.reset();
    entry.set(lock_entry::awaited);
}

void waiting_room::gave_up(const lock_key& key, uint64_t token, instant now) {
    lock_line* const line = find(key);
    if (line == nullptr) {
        return;
    }
    line->polling.gave_up(token);
    if (line->kept && line->kept->token == token) {
        line->kept.reset();
        if (!line->is_linked()) {
            _stirred.push_back(*line);
        }
        look_again(*line, now + sweep_interval);
    }
}

bool waiting_room::has_queue(const lock_key& key) const {
    const lock_line* const line = find(key);
    return line != nullptr && !line->queue.empty();
}

lock_result<void> waiting_room::enter(waiter& who, const lock_key& key, instant now) {
    assert(who.how == waiter::state::idle);
    if (_waiters >= _options.waiters_max) {
        return std::unexpected(lock_error::too_many_waiters);
    }
    lock_line* const line = open(key, now);
    if (line == nullptr || line->queue.size() >= line->policy->max_waiters) {
        return std::unexpected(lock_error::too_many_waiters);
    }
    if (!line->queue.empty()) {
        const waiter& first = line->queue.front();
        if (!same_family(first.mode, who.mode)) {
            return std::unexpected(lock_error::other_lock_type);
        }
        if (who.mode == lock_mode::permits && first.of != who.of) {
            return std::unexpected(lock_error::other_permits);
        }
    }
    if (who.deadline != end_of_time) {
        _deadlines.reserve_one();
    }
    who.line = line;
    who.since = now;
    who.how = waiter::state::waiting;
    auto place = line->queue.end();
    while (place != line->queue.begin() && std::prev(place)->priority < who.priority) {
        --place;
    }
    line->queue.insert(place, who);
    ++_waiters;
    if (who.deadline != end_of_time) {
        _deadlines.set(who, who.deadline);
    }
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        if (!line->is_linked()) {
            _stirred.push_back(*line);
        }
        return {};
    }
    entry->set(lock_entry::awaited);
    const instant end = grant_book::next_end(*entry).value_or(end_of_time);
    if (line->heap_index == not_in_heap || end < line->expiry) {
        look_again(*line, end);
    }
    return {};
}

void waiting_room::end(waiter& who, waiter::state how) {
    assert(who.how == waiter::state::waiting);
    lock_line& line = *std::exchange(who.line, nullptr);
    line.queue.erase(line.queue.iterator_to(who));
    if (who.heap_index != not_in_heap) {
        _deadlines.remove(who);
    }
    who.how = how;
    --_waiters;
    _ended.push_back(who);
}

void waiting_room::leave(waiter& who, waiter::state how, lock_error error, instant now) {
    lock_line& line = *who.line;
    const bool was_first = &line.queue.front() == &who;
    who.error = error;
    if (how == waiter::state::timed_out) {
        ++_grants.counted.timed_out;
    } else {
        ++_grants.counted.cancelled;
    }
    end(who, how);
    if (was_first && !line.queue.empty()) {
        // Who stood behind it may be content with less.
        if (!line.is_linked()) {
            _stirred.push_back(line);
        }
        return;
    }
    close_if_idle(line, now);
}

waiter* waiting_room::take_ended() {
    if (_ended.empty()) {
        return nullptr;
    }
    waiter& first = _ended.front();
    _ended.pop_front();
    return &first;
}

// ---- serving ------------------------------------------------------------------------------------

void waiting_room::leaving(lock_entry& entry, reason why, instant now) {
    _grants.leaving(entry, why, now);
    const bool delays = why == reason::expired && entry.has(lock_entry::delays);
    if (!entry.has(lock_entry::awaited) && !delays) {
        return;
    }
    const lock_key key{entry.database(), entry.name(), key_hash{entry.hash()}};
    lock_line* const line = delays ? open(key, now) : find(key);
    if (line == nullptr) {
        return;
    }
    if (delays) {
        line->closed_until = std::max(line->closed_until, now + line->policy->lock_delay);
    }
    if (!line->is_linked()) {
        _stirred.push_back(*line);
    }
}

void waiting_room::rescheduled(lock_entry& entry, instant) {
    lock_line* const line = find({entry.database(), entry.name(), key_hash{entry.hash()}});
    if (line != nullptr && !line->is_linked()) {
        _stirred.push_back(*line);
    }
}

void waiting_room::flushing(uint32_t database) {
    _grants.flushing(database);
    for_each([&](lock_line& line) {
        if (line.database == database && !line.is_linked()) {
            _stirred.push_back(line);
        }
    });
}

void waiting_room::for_each(const std::function<void(lock_line&)>& visit) {
    for (uint64_t at = 0; at != node_map<lock_line>::end_of_positions;) {
        at = _lines.visit_bucket(at, visit);
    }
}

void waiting_room::serve_stirred(instant now) {
    while (!_stirred.empty()) {
        lock_line& line = _stirred.front();
        line.unlink();
        serve(line, now);
    }
}

void waiting_room::serve(lock_line& line, instant now) {
    const bool lapsed = line.kept && line.kept->until <= now;
    if (lapsed) {
        line.kept.reset();
    }
    line.polling.sweep(now);
    lock_entry* entry = _keys.find(line.key(), now);
    if (line.is_linked()) {
        line.unlink();  // the look itself has found the entry expired
    }
    if (entry == nullptr && keep_free(line, now, lapsed)) {
        return;
    }
    while (!line.queue.empty()) {
        if (serve_first(line, now) == service::must_wait) {
            break;
        }
    }
    if (line.is_linked()) {
        line.unlink();
    }
    if (line.is_idle(now)) {
        close_if_idle(line, now);
        return;
    }
    entry = _keys.find(line.key(), now);
    instant again = line.polling.empty() ? end_of_time : now + sweep_interval;
    if (entry != nullptr) {
        entry->set(lock_entry::awaited);
        if (!line.queue.empty()) {
            again = std::min(again, grant_book::next_end(*entry).value_or(end_of_time));
        }
    } else if (!line.queue.empty()) {
        // Refused for another reason than a holder (just started, no memory, no fence): soon again.
        again = std::max(now + 10ms, _keys.options().grants_from);
    }
    look_again(line, again);
}

bool waiting_room::keep_free(lock_line& line, instant now, bool lapsed) {
    if (line.closed_until > now) {
        look_again(line, line.closed_until);
        return true;
    }
    if (line.kept) {
        look_again(line, line.kept->until);
        return true;
    }
    // Who waits has stood here longer, or somebody polls in vain and did not come when it was kept
    // for them: then it is the turn of those who wait.
    const bool waiter_first =
        !line.queue.empty() && (lapsed || line.queue.front().since <= line.polling.oldest());
    if (line.polling.empty() || waiter_first) {
        return false;
    }
    line.kept = line.polling.reserve(*line.policy, now);
    if (!line.kept) {
        return false;
    }
    ++_grants.counted.reservations;
    look_again(line, line.kept->until);
    return true;
}

waiting_room::service waiting_room::serve_first(lock_line& line, instant now) {
    waiter& first = line.queue.front();
    try {
        const auto outcome = _grants.take(request_of(first, line.key()), now);
        if (!outcome &&
            (outcome.error() == lock_error::starting || outcome.error() == lock_error::no_fence)) {
            return service::must_wait;
        }
        if (!outcome) {
            first.error = outcome.error();
            end(first, waiter::state::refused);
            return service::served;
        }
        if (!outcome->granted) {
            return service::must_wait;
        }
        first.given = outcome->given;
        assert(first.given.until > now);  // I3
    } catch (const std::bad_alloc&) {
        return service::must_wait;
    }
    ++_grants.counted.hand_offs;
    ++line.hand_offs;
    end(first, waiter::state::granted);
    return service::served;
}

// ---- time ---------------------------------------------------------------------------------------

std::optional<instant> waiting_room::next_due() const {
    std::optional<instant> next;
    if (!_due.empty()) {
        next = _due.top().expiry;
    }
    if (!_deadlines.empty()) {
        next = std::min(next.value_or(end_of_time), _deadlines.top().expiry);
    }
    return next;
}

void waiting_room::advance(instant now) {
    settle(now);
    // A deadline that has passed ends a wait even if the lock comes free at the same moment: the
    // client was told how long it would wait.
    while (!_deadlines.empty() && _deadlines.top().expiry <= now) {
        leave(_deadlines.top(), waiter::state::timed_out, {}, now);
    }
    while (!_due.empty() && _due.top().expiry <= now) {
        lock_line& line = _due.top();
        _due.remove(line);
        if (line.is_linked()) {
            line.unlink();
        }
        serve(line, now);
    }
    settle(now);
}

std::optional<std::string> waiting_room::verify(instant now) {
    if (!_stirred.empty()) {
        return "a line is stirred and not served";
    }
    if (auto broken = _lines.verify()) {
        return broken;
    }
    if (auto broken = _due.verify()) {
        return broken;
    }
    if (auto broken = _deadlines.verify()) {
        return broken;
    }
    std::optional<std::string> broken;
    size_t found = 0;
    size_t with_deadline = 0;
    for_each([&](lock_line& line) {
        found += line.queue.size();
        int32_t priority = line.queue.empty() ? 0 : line.queue.front().priority;
        instant since = start_of_time;
        for (const waiter& each : line.queue) {
            with_deadline += each.heap_index != not_in_heap ? 1 : 0;
            if (each.how != waiter::state::waiting || each.line != &line) {
                broken = "somebody in line does not wait there";
            }
            if (each.priority > priority || (each.priority == priority && each.since < since)) {
                broken = "a line is out of order";
            }
            priority = each.priority;
            since = each.since;
        }
        lock_entry* const entry = _keys.find(line.key(), now);
        if (entry != nullptr && !entry->has(lock_entry::awaited)) {
            broken = "an entry does not know that somebody is in line for it";
        }
        if (entry == nullptr && !line.queue.empty() && line.heap_index == not_in_heap) {
            broken = "a lock is free, somebody waits, and nobody will look";
        }
        if (entry != nullptr && !line.queue.empty() && grant_book::next_end(*entry) &&
            (line.heap_index == not_in_heap || line.expiry > *grant_book::next_end(*entry))) {
            broken = "the end of a holder would pass unnoticed";
        }
    });
    if (found != _waiters || with_deadline != _deadlines.size()) {
        broken = "waiters do not add up";
    }
    return broken;
}

}  // namespace lockkeeper::shards
