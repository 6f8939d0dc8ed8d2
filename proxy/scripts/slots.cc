#include <algorithm>
#include <chrono>

#include "protocol/text.hh"
#include "proxy/scripts/families.hh"
#include "shards/core/integer_text.hh"

/// The holders of a semaphore are a hash under its key: field = holder, value = when he came (Unix
/// time of the clients).
namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::role;
using shards::format_integer;
using shards::lock_key;

namespace {

/// Slots of one holder. More would not fit into one key either.
constexpr int64_t slots_max = 2'048;

/// `owner`, or `owner_0` to `owner_<n-1>` with `permits` n.
attempt<std::vector<std::string>> members_of(const call& c) {
    const std::string owner(c.text(role::owner));
    if (!c.has(role::permits)) {
        return std::vector<std::string>{owner};
    }
    const auto permits = c.number(role::permits);
    if (!permits) {
        return fails(permits.error());
    }
    if (*permits > slots_max) {
        return fails(shards::lock_error::too_many_members);
    }
    std::vector<std::string> members;
    for (int64_t i = 0; i < *permits; ++i) {
        members.push_back(owner + "_" + format_integer(i));
    }
    return members;
}

struct times {
    int64_t now_ms;
    int64_t dropped_until;  ///< who came then, or before, is no holder any more
    shards::instant end;    ///< of the key
};

attempt<times> times_of(const call& c) {
    const auto now_ms = c.number(role::now_ms);
    const auto lease = c.number(role::lease_ms);
    if (!now_ms || !lease) {
        return fails(not_an_integer);
    }
    times all{.now_ms = *now_ms, .dropped_until = 0, .end = {}};
    if (__builtin_sub_overflow(*now_ms, *lease, &all.dropped_until)) {
        return fails(not_an_integer);
    }
    const auto end = c.after(*lease);
    if (!end) {
        return fails(end.error());
    }
    all.end = *end;
    return all;
}

/// Drops who is over; the number of holders that are left.
attempt<size_t> drop_over(const call& c, const lock_key& key, int64_t until) {
    const auto fields = c.table.hash_fields(key, c.now);
    if (!fields) {
        return fails(fields.error());
    }
    std::vector<std::string> over;
    for (const auto& field : *fields) {
        if (protocol::parse_integer(field.value).value_or(until) <= until) {
            over.emplace_back(field.name);
        }
    }
    const size_t left = fields->size() - over.size();
    for (const std::string& name : over) {
        c.table.hash_remove(key, name, c.now).value();
    }
    return left;
}

attempt<bool> place(const call& c, const lock_key& key, const std::vector<std::string>& members,
                    const times& when) {
    const std::string came = format_integer(when.now_ms);
    for (const std::string& member : members) {
        if (const auto set = c.table.hash_set(key, {member, came}, c.now); !set) {
            return fails(set.error());
        }
    }
    c.table.expire({.key = key, .when = when.end}, c.now);
    return true;
}

}  // namespace

answer slots_acquire(const call& c) {
    const lock_key key = c.lock();
    const auto limit = c.number(role::limit);
    if (!limit) {
        return fails(limit.error());
    }
    const auto members = members_of(c);
    if (!members) {
        return fails(members.error());
    }
    const auto when = times_of(c);
    if (!when) {
        return fails(when.error());
    }
    const auto held = drop_over(c, key, when->dropped_until);
    if (!held) {
        return fails(held.error());
    }
    const auto has_first = [&] {
        return !members->empty() && c.table.hash_get(key, members->front(), c.now).value();
    };
    if (static_cast<int64_t>(*held + members->size()) > *limit &&
        !(c.behaviour().readmits && has_first())) {
        return ended(outcome::refused);
    }
    if (const auto placed = place(c, key, *members, *when); !placed) {
        return fails(placed.error());
    }
    return ended(outcome::granted);
}

answer slots_renew(const call& c) {
    const lock_key key = c.lock();
    const auto members = members_of(c);
    if (!members) {
        return fails(members.error());
    }
    const auto when = times_of(c);
    if (!when) {
        return fails(when.error());
    }
    if (const auto held = drop_over(c, key, when->dropped_until); !held) {
        return fails(held.error());
    }
    if (members->empty() || !c.table.hash_get(key, members->front(), c.now).value()) {
        return ended(outcome::absent);
    }
    if (const auto placed = place(c, key, *members, *when); !placed) {
        return fails(placed.error());
    }
    return ended(outcome::renewed);
}

answer slots_release(const call& c) {
    const lock_key key = c.lock();
    const auto members = members_of(c);
    if (!members) {
        return fails(members.error());
    }
    int64_t removed = 0;
    for (const std::string& member : *members) {
        const auto one = c.table.hash_remove(key, member, c.now);
        if (!one) {
            return fails(one.error());
        }
        removed += *one ? 1 : 0;
    }
    return ended(outcome::released, removed);
}

}  // namespace lockkeeper::proxy::scripts
