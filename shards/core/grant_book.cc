#include "shards/core/grant_book.hh"

#include <algorithm>
#include <cassert>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "shards/core/integer_text.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::shards {
namespace {

using std::chrono::milliseconds;

expiry_change ending(instant when) {
    return when == end_of_time ? expiry_change::never() : expiry_change::at(when);
}

grant_outcome granted(uint64_t fence, instant until, int64_t holds) {
    return {.granted = true, .given = {.fence = fence, .until = until, .holds = holds}};
}

grant_outcome busy(std::optional<instant> until) {
    return {.held_until = until};
}

instant until_of(const lock_entry& entry) {
    return entry.until().value_or(end_of_time);
}

}  // namespace

instant grant_book::end_of(const grant_request& request, instant now) const {
    if (request.ttl) {
        return now + *request.ttl;
    }
    const milliseconds most = _policies.of(request.key.name).max_hold;
    return most > milliseconds::zero() && !planted(fault::max_hold_ignored) ? now + most
                                                                            : end_of_time;
}

lock_result<grant_outcome> grant_book::take(const grant_request& request, instant now) {
    assert(!request.ttl || *request.ttl > milliseconds::zero());
    lock_entry* entry = _keys.find(request.key, now);
    if (entry != nullptr && entry->holders() != nullptr && prune(*entry, now)) {
        entry = nullptr;
    }
    if (entry == nullptr) {
        return create(request, now);
    }
    switch (entry->kind()) {
        case entry_kind::list:
            return std::unexpected(lock_error::wrong_type);
        case entry_kind::hash:
            return busy(entry->until());  // a reentrant lock of another library
        case entry_kind::holders:
            return request.is_parked && entry->holders()->mode() != lock_mode::permits
                       ? busy(entry->until())
                       : join(*entry, request, now);
        case entry_kind::string:
            break;
    }
    if (request.mode == lock_mode::permits) {
        return std::unexpected(lock_error::other_lock_type);
    }
    if (*entry->text() != request.owner || request.is_parked) {
        return busy(entry->until());
    }
    return request.mode == lock_mode::exclusive ? take_again(*entry, request, now)
                                                : downgrade(*entry, request, now);
}

lock_result<grant_outcome> grant_book::create(const grant_request& request, instant now) {
    const instant until = end_of(request, now);
    lock_entry::payload value;
    if (request.mode == lock_mode::exclusive) {
        value = std::string(request.owner);
    } else {
        auto holders = std::make_unique<holder_list>(request.mode, request.of);
        holders->add({.owner = std::string(request.owner),
                      .client = request.client,
                      .until = until,
                      .since = now,
                      .permits = request.permits,
                      .bound = !request.ttl});
        value = std::move(holders);
    }
    const auto created =
        _keys.create(request.key, std::move(value), ending(until), now,
                     request.ttl ? lease_need::to_its_end : lease_need::on_renewals);
    if (!created) {
        return std::unexpected(created.error());
    }
    lock_entry& entry = **created;
    entry.client = request.client;
    if (holder_list* const holders = entry.holders()) {
        holders->all().front().fence = entry.fence;
    }
    try {
        attach(entry, request, now);
    } catch (...) {
        _keys.remove(entry, now, entry_watcher::reason::released);
        throw;
    }
    if (!request.is_parked) {
        entry.set(lock_entry::native);
    }
    ++counted.grants;
    return granted(entry.fence, until, 1);
}

/// What a fresh lock lives by, beside its own end.
void grant_book::attach(lock_entry& entry, const grant_request& request, instant now) {
    const lock_policy& policy = _policies.of(request.key.name);
    if (!request.ttl) {
        _bound.add(request.client, entry, {policy.grace});
    } else if (planted(fault::hand_off_on_disconnect) && entry.text() != nullptr) {
        _bound.add(request.client, entry, {milliseconds::zero()});
    } else if (request.is_parked && policy.renew) {
        keep_alive(entry, *request.ttl, now);
    }
    if (policy.lock_delay > milliseconds::zero()) {
        entry.set(lock_entry::delays);
    }
}

/// A plain one that was taken without a TTL. One that its policy keeps alive does so, too, but its
/// owner does not know.
bool grant_book::lives_by_connection(lock_entry& entry) const {
    return entry.has(lock_entry::native) && _bound.contains(entry.client, entry);
}

/// Until when the owner of a plain lock may rely on it, whatever becomes of connections. A lock
/// that its policy keeps alive was promised for its TTL only.
instant grant_book::promised_end(lock_entry& entry, instant now) const {
    const auto bound = _bound.terms_of(entry.client, entry);
    if (!bound) {
        return until_of(entry);
    }
    return std::min(until_of(entry),
                    entry.has(lock_entry::native) ? bound->not_before : now + bound->after);
}

/// The owner of a plain lock asks again: one hold more, and the later of the two ends. Who names a
/// TTL is told what does not depend on another connection.
lock_result<grant_outcome> grant_book::take_again(lock_entry& entry, const grant_request& request,
                                                  instant now) {
    if (entry.holds == std::numeric_limits<uint16_t>::max() && request.repeats != entry.fence) {
        return std::unexpected(lock_error::too_many_holds);
    }
    if (request.is_collected && request.repeats != entry.fence) {
        ++entry.holds;
        entry.clear(lock_entry::orphaned);
        _keys.changed(entry);
        ++counted.grants;
        return granted(entry.fence, until_of(entry), entry.holds);
    }
    const bool lives = lives_by_connection(entry);
    const instant promised = promised_end(entry, now);
    const instant asked = end_of(request, now);
    const instant until = std::max(lives ? until_of(entry) : promised, asked);
    const instant told = request.ttl && lives ? std::max(promised, asked) : until;
    _keys.reserve_expiry(entry, ending(until));
    if (!request.ttl) {
        _bound.add(request.client, entry, {_policies.of(request.key.name).grace, promised});
        move_to(entry, request.client);
    } else if (lives) {
        _bound.promise(entry.client, entry, told);
    } else {
        stop_renewing(entry);
    }
    // Who is told once more of what it was given has no hold more.
    entry.holds += request.repeats == entry.fence ? 0 : 1;
    entry.set(lock_entry::native);
    entry.clear(lock_entry::orphaned);
    _keys.change_expiry(entry, ending(until), now);
    ++counted.grants;
    return granted(entry.fence, told, entry.holds);
}

/// The exclusive owner goes on as a shared one; those who wait to share may join it.
lock_result<grant_outcome> grant_book::downgrade(lock_entry& entry, const grant_request& request,
                                                 instant now) {
    const bool lives = lives_by_connection(entry);
    const instant promised = promised_end(entry, now);
    const instant asked = end_of(request, now);
    const instant until = std::max(lives ? until_of(entry) : promised, asked);
    const instant told = request.ttl && lives ? std::max(promised, asked) : until;
    auto holders = std::make_unique<holder_list>(lock_mode::shared, 1);
    const bool is_bound = !request.ttl || lives;
    const uint64_t client = request.ttl && lives ? entry.client : request.client;
    holders->add({.owner = std::string(request.owner),
                  .client = client,
                  .until = until,
                  .not_before = request.ttl && lives ? told : promised,
                  .since = now,
                  .holds = entry.holds,
                  .bound = is_bound});
    _keys.reserve_expiry(entry, ending(until));
    const auto fence = _keys.next_fence(entry, is_bound ? end_of_time : until, {}, now);
    if (!fence) {
        return std::unexpected(fence.error());
    }
    if (is_bound) {
        _bound.add(client, entry, {_policies.of(request.key.name).grace});
    } else {
        stop_renewing(entry);
    }
    move_to(entry, client);
    _keys.give_fence(entry, *fence, now);
    holders->all().front().fence = entry.fence;
    const int64_t holds = entry.holds;
    entry.value = std::move(holders);
    entry.set(lock_entry::native);
    entry.clear(lock_entry::orphaned);
    _keys.change_expiry(entry, ending(until), now);
    ++counted.grants;
    return granted(entry.fence, told, holds);
}

lock_result<grant_outcome> grant_book::join(lock_entry& entry, const grant_request& request,
                                            instant now) {
    holder_list& holders = *entry.holders();
    if (!same_family(holders.mode(), request.mode)) {
        return std::unexpected(lock_error::other_lock_type);
    }
    if (request.mode == lock_mode::permits && holders.of() != request.of) {
        return std::unexpected(lock_error::other_permits);
    }
    holder_list::holder* const own = holders.find(request.owner);
    if (request.mode == lock_mode::exclusive) {
        if (own != nullptr && planted(fault::upgrade_allowed)) {
            holders.add_hold(*own);
            return granted(own->fence, own->until, own->holds);
        }
        if (own != nullptr) {
            return std::unexpected(lock_error::upgrade);
        }
        return busy(holders.last_end());
    }
    if (own != nullptr && own->permits != request.permits) {
        return std::unexpected(lock_error::other_permits);
    }
    const bool is_repeated = own != nullptr && request.repeats == own->fence;
    if (request.mode == lock_mode::permits && !is_repeated &&
        holders.permits_free() < request.permits) {
        return busy(holders.first_end());
    }
    if (own == nullptr && holders.size() >= _keys.options().members_max) {
        return std::unexpected(lock_error::too_many_holders);
    }
    const instant until = end_of(request, now);
    _keys.reserve_expiry(entry, ending(until));
    if (own != nullptr) {
        const instant promised = own->bound ? std::min(own->until, own->not_before) : own->until;
        instant told = std::max(own->until, until);
        if (!request.ttl) {
            _bound.add(request.client, entry, {_policies.of(request.key.name).grace});
            const uint64_t before = std::exchange(own->client, request.client);
            own->bound = true;
            own->not_before = promised;
            unbind(entry, before);
        } else if (own->bound) {
            told = own->not_before = std::max(promised, until);
        }
        own->until = std::max(own->until, until);
        if (!is_repeated) {
            holders.add_hold(*own);
        }
        const grant given{.fence = own->fence, .until = told, .holds = own->holds};
        settle_expiry(entry, now);
        ++counted.grants;
        return grant_outcome{.granted = true, .given = given};
    }
    holder_list::holder one{.owner = std::string(request.owner),
                            .client = request.client,
                            .until = until,
                            .since = now,
                            .permits = request.permits,
                            .bound = !request.ttl};
    holders.reserve_one();
    _keys.changed(entry);  // the room alone is worth counting, should what follows be refused
    const auto fence = _keys.next_fence(entry, request.ttl ? until : end_of_time, {}, now);
    if (!fence) {
        return std::unexpected(fence.error());
    }
    if (!request.ttl) {
        _bound.add(request.client, entry, {_policies.of(request.key.name).grace});
    }
    _keys.give_fence(entry, *fence, now);
    one.fence = entry.fence;
    holders.add(std::move(one));
    settle_expiry(entry, now);
    ++counted.grants;
    return granted(entry.fence, until, 1);
}

/// The entry lives as long as the last of its holders. Where there is no memory to note its end, it
/// stays until somebody looks: a release must not fail for that.
void grant_book::settle_expiry(lock_entry& entry, instant now) {
    note_first_end(entry);
    expiry_change change = ending(entry.holders()->last_end());
    try {
        _keys.reserve_expiry(entry, change);
    } catch (const std::bad_alloc&) {
        change = expiry_change::keep();
    }
    _keys.change_expiry(entry, change, now);
}

/// Who ends before the last one is told so in time, whoever looks at the lock. The entry itself
/// ends with the last one.
void grant_book::note_first_end(lock_entry& entry) {
    holder_list& holders = *entry.holders();
    holders.entry = &entry;
    const instant first = holders.first_end();
    const bool is_noted = holders.heap_index != not_in_heap;
    if (first == holders.last_end()) {
        if (is_noted) {
            _ends.remove(holders);
        }
        return;
    }
    try {
        if (!is_noted) {
            _ends.reserve_one();
        }
        _ends.set(holders, first);
    } catch (const std::bad_alloc&) {
        // Then it is told with the next look.
    }
}

size_t grant_book::prune_due(instant now, size_t budget) {
    size_t done = 0;
    for (; done < budget && !_ends.empty() && _ends.top().expiry <= now; ++done) {
        holder_list& holders = _ends.top();
        lock_entry& entry = *holders.entry;
        const bool is_flushed =
            _keys.peek({entry.database(), entry.name(), key_hash{entry.hash()}}) != &entry;
        if (is_flushed) {
            _ends.remove(holders);  // all of its owners are told when its memory is freed
        } else if (entry.expired(now)) {
            _ends.remove(holders);  // and all of these when it goes
        } else {
            prune(entry, now);
        }
    }
    return done;
}

/// A plain lock belongs to another connection from now on; if it is bound, then to that one.
void grant_book::move_to(lock_entry& entry, uint64_t client) {
    const uint64_t before = std::exchange(entry.client, client);
    if (before != client) {
        _bound.remove(before, entry);
    }
}

/// A connection has nothing to do with this entry any more, unless another owner of it does.
void grant_book::unbind(lock_entry& entry, uint64_t client) {
    if (std::ranges::none_of(entry.holders()->all(), [client](const holder_list::holder& each) {
            return each.bound && each.client == client;
        })) {
        _bound.remove(client, entry);
    }
}

bool grant_book::holds(const lock_key& key, std::string_view owner, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return false;
    }
    if (const std::string* const text = entry->text()) {
        return *text == owner;
    }
    if (holder_list* const holders = entry->holders()) {
        const auto* const own = holders->find(owner);
        return own != nullptr && own->until > now;
    }
    return false;
}

bool grant_book::holds(const lock_key& key, std::string_view owner, uint64_t fence, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return false;
    }
    if (holder_list* const holders = entry->holders()) {
        const auto* const own = holders->find(owner);
        return own != nullptr && own->until > now && own->fence == fence;
    }
    return entry->text() != nullptr && *entry->text() == owner && entry->fence == fence;
}

lock_result<std::optional<grant>> grant_book::confirm(const grant_request& request,
                                                      collected_as how, instant now) {
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr || entry->text() == nullptr || *entry->text() != request.owner ||
        entry->fence != request.repeats) {
        return std::nullopt;
    }
    const bool is_ours = how == collected_as::fresh && entry->client == request.client &&
                         lives_by_connection(*entry);
    if (!is_ours) {
        const auto again = take_again(*entry, request, now);
        if (!again) {
            return std::unexpected(again.error());
        }
        return again->given;
    }
    if (request.ttl) {
        // Meanwhile more may have been told over another connection.
        const instant until = std::max(promised_end(*entry, now), now + *request.ttl);
        _keys.reserve_expiry(*entry, ending(until));
        _bound.remove(entry->client, *entry);
        entry->clear(lock_entry::bound);
        _keys.change_expiry(*entry, ending(until), now);
    }
    return grant{.fence = entry->fence, .until = until_of(*entry), .holds = entry->holds};
}

lock_result<std::optional<int64_t>> grant_book::release(const lock_key& key, std::string_view owner,
                                                        instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::nullopt;
    }
    if (const std::string* const text = entry->text()) {
        if (*text != owner && !planted(fault::release_without_owner_check)) {
            return std::nullopt;
        }
        ++counted.releases;
        if (entry->holds > 1 && !planted(fault::holds_not_counted)) {
            --entry->holds;
            _keys.changed(*entry);
            return entry->holds;
        }
        _keys.remove(*entry, now, entry_watcher::reason::released);
        return 0;
    }
    holder_list* const holders = entry->holders();
    if (holders == nullptr) {
        return std::unexpected(lock_error::wrong_type);
    }
    if (prune(*entry, now)) {
        return std::nullopt;
    }
    holder_list::holder* const own = holders->find(owner);
    if (own == nullptr) {
        return std::nullopt;
    }
    ++counted.releases;
    const int64_t left = own->holds - 1;
    const uint64_t client = own->client;
    const instant since = own->since;
    if (holders->drop_hold(*own)) {
        _keys.holds[entry_watcher::reason::released].record(now - since);
        unbind(*entry, client);
    }
    if (holders->empty()) {
        _keys.remove(*entry, now, entry_watcher::reason::released);
    } else {
        settle_expiry(*entry, now);
    }
    return left;
}

bool grant_book::take_back(const lock_key& key, std::string_view owner, uint64_t fence,
                           instant now) {
    return holds(key, owner, fence, now) && release(key, owner, now).has_value();
}

lock_result<std::optional<instant>> grant_book::extend(const lock_key& key, std::string_view owner,
                                                       milliseconds ttl, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::nullopt;
    }
    const instant until = now + ttl;
    if (const std::string* const text = entry->text()) {
        if (*text != owner && !planted(fault::extend_without_owner_check)) {
            return std::nullopt;
        }
        _keys.reserve_expiry(*entry, expiry_change::at(until));
        if (_bound.remove(entry->client, *entry)) {
            entry->clear(lock_entry::bound);
        }
        entry->clear(lock_entry::orphaned);
        _keys.change_expiry(*entry, expiry_change::at(until), now);
        return until;
    }
    holder_list* const holders = entry->holders();
    if (holders == nullptr) {
        return std::unexpected(lock_error::wrong_type);
    }
    if (prune(*entry, now)) {
        return std::nullopt;
    }
    holder_list::holder* const own = holders->find(owner);
    if (own == nullptr) {
        return std::nullopt;
    }
    _keys.reserve_expiry(*entry, expiry_change::at(until));
    own->until = until;
    own->bound = false;
    unbind(*entry, own->client);
    settle_expiry(*entry, now);
    return until;
}

bool grant_book::break_lock(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return false;
    }
    _keys.remove(*entry, now);
    return true;
}

void grant_book::stop_renewing(lock_entry& entry) {
    if (entry.has(lock_entry::bound) && !entry.has(lock_entry::native) &&
        _bound.remove(entry.client, entry)) {
        entry.clear(lock_entry::bound);
    }
}

void grant_book::reschedule(lock_entry& entry, expiry_change end, instant now) {
    stop_renewing(entry);
    if (holder_list* const holders = entry.holders()) {
        if (prune(entry, now)) {
            return;
        }
        for (holder_list::holder& each : holders->all()) {
            each.until = end.what == expiry_change::rule::at ? end.when : end_of_time;
        }
        note_first_end(entry);
    }
    _keys.change_expiry(entry, end, now);
}

namespace {

constexpr std::string_view writing = ":write";

bool is_writers(std::string_view field) {
    return field.ends_with(writing);
}

/// A hash of Redisson has a field for each owner, whose value counts its holds. That of a
/// read-write lock has one more, which says how it is held; its writer's field ends in `:write`,
/// and the writer may read as well.
void add_owners_of_hash(const field_map& fields, const holder_view& like,
                        std::vector<holder_view>& all) {
    const std::string* const mode = fields.find("mode");
    const bool reads_and_writes = mode != nullptr && (*mode == "read" || *mode == "write");
    for (const hash_field& each : fields.all()) {
        if (reads_and_writes && each.name == "mode") {
            continue;
        }
        holder_view one = like;
        one.owner = each.name;
        one.holds = std::max<int64_t>(1, parse_integer(each.value).value_or(1));
        if (reads_and_writes && is_writers(each.name)) {
            one.owner.remove_suffix(writing.size());
        } else if (reads_and_writes) {
            one.mode = lock_mode::shared;
        }
        const auto same = std::ranges::find(all, one.owner, &holder_view::owner);
        if (same == all.end()) {
            all.push_back(one);
        } else {
            same->holds += one.holds;
            same->mode = lock_mode::exclusive;
        }
    }
}

}  // namespace

std::vector<holder_view> grant_book::holders(const lock_key& key, instant now) {
    std::vector<holder_view> all;
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return all;
    }
    const holder_view plain{.fence = entry->fence,
                            .until = entry->until(),
                            .holds = entry->holds,
                            .client = entry->client,
                            .since = entry->granted_at(now),
                            .bound = _bound.contains(entry->client, *entry)};
    if (const std::string* const text = entry->text()) {
        all.push_back(plain);
        all.back().owner = *text;
    } else if (const holder_list* const list = entry->holders()) {
        for (const holder_list::holder& each : list->all()) {
            if (each.until > now) {
                all.push_back(
                    {.owner = each.owner,
                     .mode = list->mode(),
                     .fence = each.fence,
                     .until = each.until == end_of_time ? std::nullopt : std::optional(each.until),
                     .holds = each.holds,
                     .permits = each.permits,
                     .of = list->of(),
                     .client = each.client,
                     .since = each.since,
                     .bound = each.bound});
            }
        }
    } else if (const field_map* const fields = entry->fields()) {
        add_owners_of_hash(*fields, plain, all);
    }
    return all;
}

void grant_book::keep_alive(lock_entry& entry, milliseconds ttl, instant now) {
    const milliseconds most = _policies.of(entry.name()).max_hold;
    _bound.add(entry.client, entry, {ttl});
    // Its client was told of the TTL, which a shorter bound must not take back.
    _keys.change_expiry(entry,
                        most > milliseconds::zero() ? expiry_change::at(now + std::max(most, ttl))
                                                    : expiry_change::never(),
                        now);
}

void grant_book::client_left(uint64_t client, instant now, milliseconds at_least) {
    while (const auto next =
               planted(fault::bound_outlives_connection) ? std::nullopt : _bound.take_one(client)) {
        leave_behind(*next, client, now + std::max(next->what.after, at_least), now);
    }
}

void grant_book::leave_behind(const bound_grants::item& what, uint64_t client, instant until,
                              instant now) {
    lock_entry& entry = *what.entry;
    const bool is_over = entry.expired(now);  // whoever looks at it next will find that out
    if (holder_list* const holders = entry.holders()) {
        for (holder_list::holder& each : holders->all()) {
            if (each.bound && each.client == client) {
                each.bound = false;
                each.until = std::min(each.until, std::max(until, each.not_before));
            }
        }
        if (!is_over && !prune(entry, now)) {
            settle_expiry(entry, now);
        }
        return;
    }
    entry.clear(lock_entry::bound);
    until = std::max(until, what.what.not_before);
    if (is_over || until >= until_of(entry)) {
        return;
    }
    bool has_room = until > now;
    try {
        _keys.reserve_expiry(entry, expiry_change::at(until));
    } catch (const std::bad_alloc&) {
        has_room = false;  // it cannot be remembered for later, so its grace ends now
    }
    if (has_room) {
        _keys.change_expiry(entry, expiry_change::at(until), now);
    } else {
        _keys.remove(entry, now, entry_watcher::reason::expired);
    }
}

bool grant_book::prune(lock_entry& entry, instant now) {
    holder_list& holders = *entry.holders();
    if (holders.first_end() > now) {
        return false;
    }
    auto& all = holders.all();
    for (size_t i = all.size(); i-- > 0;) {
        if (all[i].until > now) {
            continue;
        }
        const uint64_t client = all[i].client;
        _keys.holds[entry_watcher::reason::expired].record(all[i].until - all[i].since);
        lose(entry, all[i].owner, all[i].fence, client);
        holders.remove(all[i]);
        unbind(entry, client);
    }
    if (holders.empty()) {
        _keys.remove(entry, now, entry_watcher::reason::expired);
        return true;
    }
    note_first_end(entry);
    _keys.changed(entry);
    if (entry.has(lock_entry::delays)) {
        _keys.watcher()->holder_expired(entry, now);
    }
    return false;
}

std::optional<instant> grant_book::next_end(lock_entry& entry) {
    if (const holder_list* const holders = entry.holders()) {
        const instant first = holders->first_end();
        return first == end_of_time ? std::nullopt : std::optional(first);
    }
    return entry.until();
}

void grant_book::lose(lock_entry& entry, std::string_view owner, uint64_t fence, uint64_t client) {
    if (!entry.has(lock_entry::native) || planted(fault::loss_untold)) {
        return;
    }
    ++counted.lost;
    try {
        _lost.push_back({.database = entry.database(),
                         .key = std::string(entry.name()),
                         .owner = std::string(owner),
                         .fence = fence,
                         .client = client});
    } catch (const std::bad_alloc&) {
        // It has been told when its grant ends; that it hears of the end as well is a courtesy, and
        // the lock must go.
    }
}

void grant_book::leaving(lock_entry& entry, entry_watcher::reason why, instant now) {
    const bool is_lost = why != entry_watcher::reason::released;
    if (holder_list* const holders = entry.holders()) {
        if (holders->heap_index != not_in_heap) {
            _ends.remove(*holders);
        }
        for (const holder_list::holder& each : holders->all()) {
            _bound.remove(each.client, entry);
            _keys.holds[why].record(std::min(now, each.until) - each.since);
            if (is_lost) {
                lose(entry, each.owner, each.fence, each.client);
            }
        }
        return;
    }
    _bound.remove(entry.client, entry);
    if (const std::string* const text = entry.text(); text != nullptr && is_lost) {
        lose(entry, *text, entry.fence, entry.client);
    }
}

}  // namespace lockkeeper::shards
