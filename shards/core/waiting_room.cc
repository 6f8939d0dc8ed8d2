#include "shards/core/waiting_room.hh"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <utility>

#include "shards/core/planted.hh"

namespace lockkeeper::shards {
namespace {

using namespace std::chrono_literals;

/// How often the seats of a line are looked through for those who do not ask any more.
constexpr auto sweep_interval = 3s;

/// When the first in line was refused for another reason than a holder (just started, no fence, no
/// memory).
constexpr auto retry_interval = 10ms;

/// Who asks again after less than this, on average, hurries for nothing: libraries pause for 10 ms
/// at least.
constexpr auto storm_pause = 5ms;

/// A lock that was held this often while somebody was in line is one that people will look at.
constexpr uint64_t ends_before_history = 3;
constexpr auto lease_interval = 1s;

grant_request request_of(const waiter& who, const lock_key& key) {
    return {.key = key,
            .owner = who.owner,
            .client = who.client,
            .mode = who.mode,
            .permits = who.permits,
            .of = who.of,
            .ttl = who.ttl,
            .is_parked = who.is_parked,
            .is_collected = who.is_collected};
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
    _due.reserve(_lines.size() + 1);  // each line can be looked at again, whatever happens
    lock_line& fresh = _lines.insert(lock_line::make(key, hash_of(key), _policies));
    fresh.since = now;
    return &fresh;
}

bool waiting_room::close_if_idle(lock_line& line, instant now) {
    // First the look, which may find the entry expired and close the line for a while.
    lock_entry* const entry = _keys.find(line.key(), now);
    if (!line.is_idle(now)) {
        return false;
    }
    if (entry != nullptr) {
        entry->clear(lock_entry::awaited);
    } else if (_keys.leases() != nullptr) {
        _keys.leases()->gone(line.key(), false, now);
    }
    if (line.heap_index != not_in_heap) {
        _due.remove(line);
    }
    _lines.take(line).reset();  // leaves _stirred by itself
    _due.reserve(_lines.size());
    return true;
}

void waiting_room::stir(lock_line& line) {
    if (!line.is_linked()) {
        _stirred.push_back(line);
    }
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

// ---- at the door --------------------------------------------------------------------------------

bool waiting_room::may_take(const lock_key& key, caller who, instant now) {
    if (_keys.leases() != nullptr && _keys.leases()->is_elsewhere(key, now)) {
        return false;
    }
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
    if (line->closed_until > now) {
        return false;
    }
    // Whoever it is kept for has asked for longer than those who wait.
    return line->kept && line->kept->until > now && !planted(fault::reservation_ignored)
               ? line->polling.is_for(*line->kept, line->policy(), who, now)
               : line->queue.empty();
}

std::optional<instant> waiting_room::opens_at(const lock_key& key) const {
    const lock_line* const line = find(key);
    return line != nullptr && line->heap_index != not_in_heap ? std::optional(line->expiry)
                                                              : std::nullopt;
}

void waiting_room::refused(const lock_key& key, lock_entry* entry, caller who, instant now) {
    ++_grants.counted.refusals;
    if (who.client == 0) {
        return;
    }
    try {
        lock_line* const line = open(key, now);
        if (line == nullptr) {
            return;
        }
        if (entry != nullptr) {
            entry->set(lock_entry::awaited);
        }
        if (line->heap_index == not_in_heap) {
            look_again(*line, now + sweep_interval);
        }
        const auto pause = line->polling.asked(who, now);
        if (pause.count() > 0 && line->policy().pollers == poller_rule::adaptive &&
            !line->is_announced) {
            _polled = {.token = who.token, .pause = pause};
        }
        if (pause.count() > 0 && pause < storm_pause) [[unlikely]] {
            _grants.habits.note(habit::retry_storm, key, who.client, now);
        }
    } catch (const std::bad_alloc&) {
        // A seat is a courtesy: the answer is the same without it.
    }
}

std::optional<instant> waiting_room::stand_up(const lock_key& key, caller who) {
    lock_line* const line = find(key);
    return line != nullptr ? line->polling.stand_up(who) : std::nullopt;
}

void waiting_room::announced(const lock_key& key) {
    if (lock_line* const line = find(key)) {
        line->is_announced = true;
    }
}

void waiting_room::took(const lock_key& key, caller who, lock_entry& entry) {
    lock_line* const line = find(key);
    if (line == nullptr) {
        return;
    }
    line->polling.took(who);
    line->kept.reset();
    line->last_wait = {};
    appeared(*line, entry);
}

void waiting_room::appeared(const lock_key& key, lock_entry& entry) {
    if (lock_line* const line = find(key)) {
        appeared(*line, entry);
    }
}

void waiting_room::appeared(lock_line& line, lock_entry& entry) {
    entry.set(lock_entry::awaited);
    if (!line.queue.empty()) {
        stir(line);  // so that its end is looked for
    }
}

void waiting_room::gave_up(const lock_key& key, uint64_t token, instant now) {
    lock_line* const line = find(key);
    if (line == nullptr || !line->polling.gave_up(token) || !line->kept) {
        return;
    }
    const bool was_for_it = line->kept->token ? line->kept->token == token
                                              : !line->polling.reserve(line->policy(), now);
    if (was_for_it) {
        line->kept.reset();
        stir(*line);  // it may be somebody else's turn
    }
}

bool waiting_room::polls(const lock_key& key, uint64_t token) const {
    const lock_line* const line = find(key);
    return line != nullptr && line->polling.knows(token);
}

bool waiting_room::has_queue(const lock_key& key) const {
    const lock_line* const line = find(key);
    return line != nullptr && !line->queue.empty();
}

bool waiting_room::is_closed(const lock_key& key, instant now) const {
    const lock_line* const line = find(key);
    return line != nullptr && line->closed_until > now;
}

namespace {

/// How far from its ends a line is searched for the place of somebody who came before. Of a longer
/// one those who came first are in order, and everybody is one of them in the end.
constexpr size_t search_max = 512;

bool came_after(const waiter& one, const waiter& other) {
    return one.priority == other.priority && one.came > other.came;
}

/// Higher priorities first, and then who came first. Nearly everybody has come last.
waiter_list::iterator place_of(const waiter& who, waiter_list& queue) {
    if (planted(fault::lifo_queue)) {
        return queue.begin();
    }
    auto back = queue.end();
    while (back != queue.begin() && std::prev(back)->priority < who.priority &&
           !planted(fault::priority_ignored)) {
        --back;
    }
    auto front = queue.begin();
    for (size_t steps = 0; steps < search_max; ++steps, ++front) {
        if (back == queue.begin() || !came_after(*std::prev(back), who) ||
            planted(fault::place_lost)) {
            return back;
        }
        --back;
        if (came_after(*front, who)) {
            return front;
        }
    }
    return back;
}

}  // namespace

lock_result<void> waiting_room::enter(waiter& who, const lock_key& key, instant now) {
    assert(who.how == waiter::state::idle);
    if (_waiters >= _options.waiters_max) {
        return std::unexpected(lock_error::too_many_waiters);
    }
    if (who.deadline != end_of_time) {
        _deadlines.reserve_one();  // may throw, so it comes first
    }
    lock_line* const line = open(key, now);
    if (line == nullptr) {
        return std::unexpected(lock_error::too_many_waiters);
    }
    if (line->queue.size() >= line->policy().max_waiters) {
        close_if_idle(*line, now);
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
    who.line = line;
    who.since = now;
    who.came = std::min(who.came, now);
    who.how = waiter::state::waiting;
    const auto place = place_of(who, line->queue);
    const size_t before = line->queue.size();
    ++_waited.before[std::min<size_t>(before < 2 ? 0 : std::bit_width(before) - 1,
                                      _waited.before.size() - 1)];
    _waited.sum_before += before;
    line->queue.insert(place, who);
    ++_waiters;
    ++_grants.counted.waits;
    if (who.deadline != end_of_time && !planted(fault::deadline_ignored)) {
        _deadlines.set(who, who.deadline);
    }
    if (lock_entry* const entry = _keys.find(key, now)) {
        entry->set(lock_entry::awaited);
        const instant end = grant_book::next_end(*entry).value_or(end_of_time);
        if (line->heap_index == not_in_heap || end < line->expiry) {
            look_again(*line, end);
        }
    }
    if (&line->queue.front() == &who) {
        // The lock may be free, or it may be content with less than those it goes before.
        stir(*line);
    }
    return {};
}

void waiting_room::end(waiter& who, waiter::state how, instant now) {
    assert(who.how == waiter::state::waiting);
    lock_line& line = *std::exchange(who.line, nullptr);
    line.queue.erase(line.queue.iterator_to(who));
    if (who.heap_index != not_in_heap) {
        _deadlines.remove(who);
    }
    if (now - who.since >= _keys.options().slow.wait) [[unlikely]] {
        note_slow_wait(line, who, how, now);
    }
    who.how = how;
    --_waiters;
    _ended.push_back(who);
    grant_counters& counted = _grants.counted;
    ++(how == waiter::state::granted     ? counted.hand_offs
       : how == waiter::state::timed_out ? counted.timed_out
       : how == waiter::state::cancelled ? counted.cancelled
                                         : counted.refused_waits);
    (how == waiter::state::granted     ? _waited.granted
     : how == waiter::state::timed_out ? _waited.timed_out
     : how == waiter::state::cancelled ? _waited.cancelled
                                       : _waited.refused)
        .record(now - who.since);
}

void waiting_room::leave(waiter& who, waiter::state how, lock_error error, instant now) {
    lock_line& line = *who.line;
    if (how == waiter::state::cancelled && planted(fault::dead_waiter_stays)) {
        return;
    }
    const bool was_first = &line.queue.front() == &who;
    who.error = error;
    end(who, how, now);
    if (was_first && !line.queue.empty()) {
        stir(line);  // who stood behind it may be content with less
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
    if (entry.has(lock_entry::leased)) {
        const lock_key key{entry.database(), entry.name(), key_hash{entry.hash()}};
        const lock_line* const waiting = find(key);
        _keys.leases()->gone(key, waiting != nullptr && !waiting->queue.empty(), now);
    }
    const bool delays = why == reason::expired && entry.has(lock_entry::delays) &&
                        !planted(fault::lock_delay_ignored);
    if (!entry.has(lock_entry::awaited) && !delays) {
        return;
    }
    const lock_key key{entry.database(), entry.name(), key_hash{entry.hash()}};
    lock_line* line = find(key);
    if (line != nullptr) {
        note_end(*line, entry, why, now);
        if (!line->queue.empty() && now - line->queue.front().since >= _keys.options().slow.wait)
            [[unlikely]] {
            note_blocker(*line, entry, now);
        }
    }
    if (delays) {
        line = close_for_delay(key, now);
    }
    if (line == nullptr) {
        return;
    }
    if (why == reason::released && planted(fault::freed_line_not_stirred)) {
        return;
    }
    if (!is_open_to_all(*line, now)) {
        stir(*line);
    }
}

/// Without memory there is no delay.
lock_line* waiting_room::close_for_delay(const lock_key& key, instant now) {
    try {
        lock_line* const line = open(key, now);
        if (line != nullptr) {
            line->closed_until = std::max(line->closed_until, now + line->policy().lock_delay);
        }
        return line;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void waiting_room::holder_expired(lock_entry& entry, instant now) {
    if (planted(fault::lock_delay_ignored)) {
        return;
    }
    lock_line* const line =
        close_for_delay({entry.database(), entry.name(), key_hash{entry.hash()}}, now);
    if (line != nullptr) {
        entry.set(lock_entry::awaited);
        stir(*line);  // so that it is looked at when the delay is over
    }
}

/// Nearly all keys that come free and have a line are polled, and kept for nobody: whoever asks
/// next may have it. Their line stays as it is until its seats are looked through.
bool waiting_room::is_open_to_all(const lock_line& line, instant now) const {
    return line.queue.empty() && !line.kept && line.closed_until <= now &&
           line.heap_index != not_in_heap && !line.polling.reserve(line.policy(), now);
}

// ---- for people ---------------------------------------------------------------------------------

namespace {

constexpr std::string_view names_of_reasons[] = {"released", "removed", "expired"};

struct first_owner {
    std::string_view name{};
    uint64_t client = 0;
    instant since{};
};

first_owner owner_of(lock_entry& entry, instant now) {
    first_owner first{.client = entry.client, .since = entry.granted_at(now)};
    if (const holder_list* const several = entry.holders()) {
        if (!several->empty()) {
            const auto& one = several->all().front();
            first = {.name = one.owner, .client = one.client, .since = one.since};
        }
    } else if (const std::string* const text = entry.text()) {
        first.name = *text;
    } else if (const field_map* const fields = entry.fields(); fields && fields->size() > 0) {
        first.name = fields->all().front().name;
    }
    return first;
}

}  // namespace

/// What a line remembers of those who have had the lock.
void waiting_room::note_end(lock_line& line, lock_entry& entry, reason why, instant now) {
    const first_owner who = owner_of(entry, now);
    ++line.ended;
    line.held += now - std::max(who.since, line.since);
    if (line.ended < ends_before_history && line.shown_until <= now) {
        return;
    }
    try {
        if (!line.history) {
            line.history = std::make_unique<lock_history>();
        }
        line.history->add({.granted = who.since,
                           .ended = now,
                           .waited = line.last_wait,
                           .fence = entry.fence,
                           .client = who.client,
                           .why = why},
                          who.name);
    } catch (const std::bad_alloc&) {
        // People see less; locks go on.
    }
}

void waiting_room::note_blocker(lock_line& line, lock_entry& entry, instant now) {
    try {
        const first_owner who = owner_of(entry, now);
        line.blocked_by = std::make_unique<lock_line::blocker>(
            lock_line::blocker{std::string(who.name), who.client, now - who.since});
    } catch (const std::bad_alloc&) {
    }
}

/// Who was granted the lock waited for whoever had it before; who was not, for whoever has it.
void waiting_room::note_slow_wait(lock_line& line, const waiter& who, waiter::state how,
                                  instant now) {
    try {
        slow_event event{.what = slow_event::kind::wait,
                         .when = now,
                         .took = now - who.since,
                         .database = line.database,
                         .key = std::string(line.name()),
                         .owner = who.owner,
                         .client = who.client,
                         .end = how == waiter::state::granted     ? "granted"
                                : how == waiter::state::timed_out ? "timed_out"
                                : how == waiter::state::cancelled ? "cancelled"
                                                                  : "refused",
                         .in_line = line.queue.size()};
        if (how == waiter::state::granted) {
            if (const auto by = std::exchange(line.blocked_by, nullptr)) {
                event.other = std::move(by->owner);
                event.other_client = by->client;
                event.other_took = by->held;
            }
        } else if (lock_entry* const entry = _keys.peek(line.key())) {
            const first_owner holder = owner_of(*entry, now);
            event.other = holder.name;
            event.other_client = holder.client;
            event.other_took = now - holder.since;
        }
        _grants.slow.add(std::move(event));
    } catch (const std::bad_alloc&) {
    }
}

void waiting_room::held_long(lock_entry& entry, reason why, instant end) {
    try {
        const first_owner who = owner_of(entry, end);
        slow_event event{.what = slow_event::kind::hold,
                         .when = end,
                         .took = end - who.since,
                         .database = entry.database(),
                         .key = std::string(entry.name()),
                         .owner = std::string(who.name),
                         .client = who.client,
                         .end = names_of_reasons[static_cast<size_t>(why)]};
        const lock_line* const line =
            find({entry.database(), entry.name(), key_hash{entry.hash()}});
        if (line != nullptr && !line->queue.empty()) {
            event.other = line->queue.front().owner;
            event.other_client = line->queue.front().client;
            event.other_took = end - line->queue.front().since;
            event.in_line = line->queue.size();
        }
        _grants.slow.add(std::move(event));
    } catch (const std::bad_alloc&) {
    }
}

// ---- what the keyspace tells --------------------------------------------------------------------

void waiting_room::rescheduled(lock_entry& entry, instant) {
    lock_line* const line = find({entry.database(), entry.name(), key_hash{entry.hash()}});
    if (line != nullptr && !planted(fault::moved_end_not_noticed)) {
        stir(*line);
    }
}

void waiting_room::show(const lock_key& key, instant until, instant now) {
    lock_line* const line = open(key, now);
    if (line == nullptr) {
        return;
    }
    line->shown_until = until;
    if (lock_entry* const entry = _keys.find(key, now)) {
        entry->set(lock_entry::awaited);
    }
    if (line->heap_index == not_in_heap || line->expiry > until) {
        look_again(*line, until);
    }
}

void waiting_room::stir(const lock_key& key) {
    lock_line* const line = find(key);
    if (line != nullptr && !line->is_linked()) {
        _stirred.push_back(*line);
    }
}

void waiting_room::flushing(uint32_t database) {
    _grants.flushing(database);
    for_each([&](lock_line& line) {
        if (line.database == database && !planted(fault::flush_forgets_waiters)) {
            stir(line);
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
    const bool lapsed =
        line.kept && line.kept->until <= now && !planted(fault::reservation_never_ends);
    if (lapsed) {
        line.polling.missed(*line.kept, line.policy(), now);
        line.kept.reset();
    }
    line.polling.sweep(now);
    lock_entry* const held = _keys.find(line.key(), now);
    const bool is_free =
        held == nullptr || (held->holders() != nullptr && _grants.prune(*held, now));
    if (line.is_linked()) {
        line.unlink();  // the look itself has found that somebody's time is over
    }
    if (is_free && keep_free(line, now, lapsed)) {
        return;
    }
    const bool is_closed = line.closed_until > now;
    service last = service::served;
    while (!line.queue.empty() && last == service::served && !is_closed) {
        last = serve_first(line, now);
    }
    if (line.is_linked()) {
        line.unlink();
    }
    if (close_if_idle(line, now)) {
        return;
    }
    instant again = line.polling.empty() ? end_of_time : now + sweep_interval;
    if (line.shown_until > now) {
        again = std::min(again, line.shown_until);
    }
    if (is_closed) {
        again = std::min(again, line.closed_until);
    }
    if (lock_entry* const entry = _keys.find(line.key(), now)) {
        entry->set(lock_entry::awaited);
        if (!line.queue.empty()) {
            again = std::min(again, grant_book::next_end(*entry).value_or(end_of_time));
        }
    }
    if (last == service::try_soon) {
        const instant opening = _keys.options().grants_from;
        again = std::min(again, now < opening ? opening : now + retry_interval);
    }
    if (last == service::needs_lease) {
        again = std::min(again, now + lease_interval);  // a change of the lease stirs it sooner
    }
    look_again(line, again);
}

bool waiting_room::keep_free(lock_line& line, instant now, bool lapsed) {
    if (line.closed_until > now) {
        look_again(line, line.closed_until);
        return true;
    }
    if (line.kept) {
        look_again(
            line, planted(fault::reservation_never_ends) ? now + sweep_interval : line.kept->until);
        return true;
    }
    // Who waits has stood here longer, or somebody polls in vain and did not come when it was kept
    // for them: then it is the turn of those who wait.
    const bool waiter_first =
        !line.queue.empty() && (lapsed || line.queue.front().came <= line.polling.oldest());
    if (line.polling.empty() || waiter_first || line.is_announced) {
        return false;
    }
    line.kept = line.polling.reserve(line.policy(), now);
    if (!line.kept) {
        return false;
    }
    ++_grants.counted.reservations;
    look_again(line, line.kept->until);
    return true;
}

waiting_room::service waiting_room::serve_first(lock_line& line, instant now) {
    waiter& first = line.queue.front();
    if (planted(fault::hand_off_without_a_look)) {
        if (lock_entry* const entry = _keys.find(line.key(), now)) {
            _keys.remove(*entry, now, reason::released);
        }
    }
    if (first.deadline <= now && !planted(fault::late_waiter_granted) &&
        !planted(fault::deadline_ignored)) {
        end(first, waiter::state::timed_out, now);
        return service::served;
    }
    try {
        const auto outcome = _grants.take(request_of(first, line.key()), now);
        if (!outcome &&
            (outcome.error() == lock_error::starting || outcome.error() == lock_error::no_fence)) {
            return service::try_soon;
        }
        if (!outcome && outcome.error() == lock_error::no_lease) {
            return service::needs_lease;
        }
        if (!outcome && outcome.error() == lock_error::too_many_holders) {
            return service::must_wait;
        }
        if (!outcome) {
            first.error = outcome.error();
            end(first, waiter::state::refused, now);
            return service::served;
        }
        if (!outcome->granted) {
            return service::must_wait;
        }
        first.given = outcome->given;
        assert(first.given.until > now);  // I3
    } catch (const std::bad_alloc&) {
        return service::try_soon;
    }
    if (!line.polling.empty()) {
        line.polling.took(caller::of(line.key(), first.client, first.owner));
    }
    ++line.hand_offs;
    line.last_wait = now - first.since;
    line.waited += line.last_wait;
    end(first, waiter::state::granted, now);
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
        instant came = start_of_time;
        for (const waiter& each : line.queue) {
            with_deadline += each.heap_index != not_in_heap ? 1 : 0;
            if (each.how != waiter::state::waiting || each.line != &line) {
                broken = "somebody in line does not wait there";
            }
            if (each.priority > priority || (each.priority == priority && each.came < came &&
                                             line.queue.size() <= search_max)) {
                broken = "a line is out of order";
            }
            priority = each.priority;
            came = each.came;
        }
        lock_entry* const entry = _keys.find(line.key(), now);
        if (entry != nullptr && !entry->has(lock_entry::awaited)) {
            broken = "an entry does not know that somebody is in line for it";
        }
        // The look just now may have found it expired, and stirred the line.
        if (entry == nullptr && line.heap_index == not_in_heap && !line.is_linked()) {
            broken = "a lock is free, somebody is in line, and nobody will look";
        }
        if (entry != nullptr && !line.queue.empty() && grant_book::next_end(*entry) &&
            (line.heap_index == not_in_heap || line.expiry > *grant_book::next_end(*entry))) {
            broken = "the end of a holder would pass unnoticed";
        }
    });
    if (found != _waiters || with_deadline != _deadlines.size()) {
        broken = "waiters do not add up";
    }
    const grant_counters& counted = _grants.counted;
    if (counted.waits != counted.hand_offs + counted.timed_out + counted.cancelled +
                             counted.refused_waits + _waiters) {
        broken = "a wait ended more than once, or never began";  // I11
    }
    return broken;
}

}  // namespace lockkeeper::shards
