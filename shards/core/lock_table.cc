#include "shards/core/lock_table.hh"

#include <algorithm>
#include <utility>

#include "shards/core/integer_text.hh"

namespace lockkeeper::shards {
namespace {

constexpr auto wrong_type = std::unexpected(lock_error::wrong_type);

/// `text` is null if the key is absent.
bool allows(const set_request& request, bool present, const std::string* text) {
    switch (request.condition) {
        case set_condition::always:
            return true;
        case set_condition::if_absent:
            return !present;
        case set_condition::if_present:
            return present;
        case set_condition::if_equal:
            return text != nullptr && *text == request.comparand;
        case set_condition::if_not_equal:
            return text == nullptr || *text != request.comparand;
    }
    return false;
}

bool looks_at_value(const set_request& request) {
    return request.want_previous || request.condition == set_condition::if_equal ||
           request.condition == set_condition::if_not_equal;
}

bool has_same_token(const acquire_or_renew_request& request, std::string_view held) {
    if (request.token_bytes == std::string_view::npos) {
        return held == request.value;
    }
    if (request.token_bytes == 0) {
        return held.empty();
    }
    return held.substr(0, request.token_bytes) == request.value.substr(0, request.token_bytes);
}

}  // namespace

lock_table::lock_table(lock_table_options options, policy_book policies,
                       waiting_room_options waiting)
    : _policies(std::move(policies)), _keys(options), _room(_keys, _grants, _policies, waiting) {
    _keys.watch_with(_room);
}

lock_result<set_outcome> lock_table::set(const set_request& request, instant now) {
    lock_entry* entry = _keys.find(request.key, now);
    const bool only_if_absent = request.condition == set_condition::if_absent;
    if (entry == nullptr && only_if_absent &&
        !may_take(request.key, request.client, request.value, now)) {
        was_refused(request.key, request.client, request.value, now);
        return set_outcome{};
    }
    const std::string* const text = entry ? entry->text() : nullptr;
    if (entry != nullptr && text == nullptr && looks_at_value(request)) {
        return wrong_type;
    }
    set_outcome outcome;
    if (request.want_previous && text != nullptr) {
        outcome.previous = *text;
    }
    if (!allows(request, entry != nullptr, text)) {
        if (only_if_absent && is_resent(*entry, request)) {
            taken_again(*entry, request, now);
            outcome.stored = true;
        } else if (only_if_absent) {
            _room.refused(request.key, entry,
                          caller::of(request.key, request.client, request.value), now);
        }
        return outcome;
    }
    outcome.stored = true;
    if (entry == nullptr) {
        const auto created = create(request.key, std::string(request.value), request.expiry, now);
        if (!created) {
            return std::unexpected(created.error());
        }
        if (*created != nullptr) {
            taken(**created, request.key, request.value, request.client, request.expiry, now);
        }
        if (only_if_absent && request.expiry.what == expiry_change::rule::never) [[unlikely]] {
            _grants.habits.note(habit::no_ttl, request.key, request.client, now);
        }
        return outcome;
    }
    const owner whose = text != nullptr && *text == request.value ? owner::same : owner::other;
    if (const auto replaced = replace_text(*entry, request.value, whose, request.expiry, now);
        !replaced) {
        return std::unexpected(replaced.error());
    }
    return outcome;
}

lock_result<void> lock_table::replace_text(lock_entry& entry, std::string_view value, owner whose,
                                           expiry_change expiry, instant now) {
    std::string copy(value);
    _keys.reserve_expiry(entry, expiry);
    if (whose == owner::other) {
        const instant until = expiry.what == expiry_change::rule::at ? std::max(expiry.when, now)
                              : expiry.what == expiry_change::rule::keep
                                  ? entry.until().value_or(end_of_time)
                                  : end_of_time;
        const auto fence = _keys.next_fence(entry, until, value, now);
        if (!fence) {
            return std::unexpected(fence.error());
        }
        // Whoever had it has nothing to do with it any more.
        _grants.leaving(entry, entry_watcher::reason::removed, now);
        entry.clear(lock_entry::native);
        entry.clear(lock_entry::bound);
        entry.holds = 1;
        entry.client = 0;
        _keys.give_fence(entry, *fence, now);
    }
    if (expiry.what != expiry_change::rule::keep) {
        _grants.stop_renewing(entry);
    }
    entry.clear(lock_entry::orphaned);
    entry.value = std::move(copy);
    _keys.change_expiry(entry, expiry, now);
    return {};
}

lock_result<lock_entry*> lock_table::create(const lock_key& key, lock_entry::payload value,
                                            expiry_change expiry, instant now) {
    auto created = _keys.create(key, std::move(value), expiry, now);
    if (created && *created != nullptr && _room.lines() > 0) {
        _room.appeared(key, **created);
    }
    return created;
}

lock_result<std::optional<std::string_view>> lock_table::get(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::nullopt;
    }
    const std::string* const text = entry->text();
    if (text == nullptr) {
        return wrong_type;
    }
    return std::string_view(*text);
}

/// An owner gives back what is gone, or what somebody else has by now.
void lock_table::note_late_release(const remove_if_request& request, instant now) {
    // Some who poll give back after each attempt what they did not get.
    if (request.compare == comparison::equal && request.client != 0 &&
        !_room.polls(request.key, caller::of(request.key, 0, request.comparand).token)) {
        _grants.habits.note(habit::late_release, request.key, request.client, now);
    }
}

lock_result<compare_outcome> lock_table::remove_if(const remove_if_request& request, instant now) {
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        note_late_release(request, now);
        _room.gave_up(request.key, caller::of(request.key, 0, request.comparand).token, now);
        return compare_outcome::absent;
    }
    const std::string* const text = entry->text();
    if (text == nullptr) {
        return wrong_type;
    }
    const bool equal = *text == request.comparand;
    if (equal != (request.compare == comparison::equal)) {
        note_late_release(request, now);
        _room.gave_up(request.key, caller::of(request.key, 0, request.comparand).token, now);
        return compare_outcome::refused;
    }
    _keys.remove(*entry, now,
                 equal ? entry_watcher::reason::released : entry_watcher::reason::removed);
    return compare_outcome::done;
}

lock_result<compare_outcome> lock_table::expire_if_equal(const expire_if_equal_request& request,
                                                         instant now) {
    using change = expire_if_equal_request::change;
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        return compare_outcome::absent;
    }
    const std::string* const text = entry->text();
    if (text == nullptr) {
        return wrong_type;
    }
    if (*text != request.comparand) {
        return compare_outcome::refused;
    }
    if (request.what != change::until && !entry->has_expiry()) {
        return compare_outcome::no_expiry;
    }
    entry->clear(lock_entry::orphaned);  // its owner knows that it has it
    switch (request.what) {
        case change::until:
            _keys.reserve_expiry(*entry, expiry_change::at(request.when));
            _grants.reschedule(*entry, expiry_change::at(request.when), now);
            break;
        case change::extend:
            _grants.reschedule(*entry, expiry_change::at(entry->expiry + request.by), now);
            break;
        case change::persist:
            _grants.reschedule(*entry, expiry_change::never(), now);
            break;
    }
    return compare_outcome::done;
}

lock_result<acquire_or_renew_outcome> lock_table::acquire_or_renew(
    const acquire_or_renew_request& request, instant now) {
    using result = acquire_or_renew_outcome::result;
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        if (!request.may_create) {
            return acquire_or_renew_outcome{.what = result::refused};
        }
        if (!may_take(request.key, request.client, request.value, now)) {
            was_refused(request.key, request.client, request.value, now);
            return acquire_or_renew_outcome{.what = result::refused,
                                            .held_until = _room.opens_at(request.key)};
        }
        const auto created = create(request.key, std::string(request.value), request.expiry, now);
        if (!created) {
            return std::unexpected(created.error());
        }
        if (*created != nullptr) {
            taken(**created, request.key, request.value, request.client, request.expiry, now);
        }
        return acquire_or_renew_outcome{.what = result::acquired};
    }
    const std::string* const text = entry->text();
    if (text == nullptr) {
        return wrong_type;
    }
    if (!has_same_token(request, *text)) {
        was_refused(request.key, request.client, request.value, now);
        return acquire_or_renew_outcome{.what = result::refused, .held_until = entry->until()};
    }
    if (const auto kept = replace_text(*entry, request.value, owner::same, request.expiry, now);
        !kept) {
        return std::unexpected(kept.error());
    }
    return acquire_or_renew_outcome{.what = result::renewed};
}

lock_result<int64_t> lock_table::increment(const lock_key& key, int64_t by, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        const auto created = create(key, format_integer(by), expiry_change::never(), now);
        if (!created) {
            return std::unexpected(created.error());
        }
        return by;
    }
    std::string* const text = entry->text();
    if (text == nullptr) {
        return wrong_type;
    }
    const auto sum = add_to_integer(*text, by);
    if (sum) {
        *text = format_integer(*sum);
        _keys.changed(*entry);
    }
    return sum;
}

bool lock_table::remove(const lock_key& key, instant now, uint64_t client) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry != nullptr) {
        if (client != 0 && entry->client != 0) {
            _grants.habits.note(
                entry->client == client ? habit::blind_delete : habit::foreign_delete, key, client,
                now);
        }
        _keys.remove(*entry, now);
    }
    return entry != nullptr;
}

bool lock_table::exists(const lock_key& key, instant now) {
    return _keys.find(key, now) != nullptr;
}

std::optional<entry_kind> lock_table::kind_of(const lock_key& key, instant now) {
    const lock_entry* const entry = _keys.find(key, now);
    return entry ? std::optional(entry->kind()) : std::nullopt;
}

lifetime lock_table::lifetime_of(const lock_key& key, instant now) {
    const lock_entry* const entry = _keys.find(key, now);
    return entry ? lifetime{.present = true, .until = entry->until()} : lifetime{};
}

bool lock_table::expire(const expire_request& request, instant now) {
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        return false;
    }
    const auto until = entry->until();
    const bool later = until && request.when > *until;
    const bool earlier = !until || request.when < *until;
    if ((request.if_none && until) || (request.if_some && !until) || (request.if_later && !later) ||
        (request.if_earlier && !earlier)) {
        return false;
    }
    _keys.reserve_expiry(*entry, expiry_change::at(request.when));
    _grants.reschedule(*entry, expiry_change::at(request.when), now);
    return true;
}

bool lock_table::persist(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr || !entry->has_expiry()) {
        return false;
    }
    _grants.reschedule(*entry, expiry_change::never(), now);
    return true;
}

void lock_table::fetch(std::span<const lock_key> keys) const {
    using enum keyspace::fetched;
    for (const auto step : {bucket, entry}) {
        for (const lock_key& key : keys) {
            _keys.fetch(key, step);
            if (_room.lines() > 0) {
                _room.fetch(key, step);
            }
        }
    }
}

}  // namespace lockkeeper::shards
