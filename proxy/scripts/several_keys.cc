#include <algorithm>

#include "proxy/scripts/families.hh"
#include "proxy/scripts/token.hh"

namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::role;
using shards::expiry_change;
using shards::lock_error;
using shards::lock_key;

namespace {

enum class holding : uint8_t { absent, mine, other };

attempt<holding> look(const call& c, std::string_view name, const token& mine) {
    const auto held = c.table.get(c.named(name), c.now);
    if (!held) {
        if (held.error() == lock_error::wrong_type && c.behaviour().wrong_type_is_other) {
            return holding::other;
        }
        return fails(held.error());
    }
    if (!*held) {
        return holding::absent;
    }
    return mine.owns(**held) ? holding::mine : holding::other;
}

/// Stops at the first key that is not the caller's, as the scripts do.
attempt<bool> all_mine(const call& c) {
    const token mine{.value = c.text(role::token)};
    for (const std::string_view name : c.keys) {
        const auto state = look(c, name, mine);
        if (!state) {
            return fails(state.error());
        }
        if (*state != holding::mine) {
            return false;
        }
    }
    return true;
}

/// All are absent, and none is kept for somebody else. The first that cannot be had, if any.
std::optional<lock_key> not_to_be_had(const call& c, std::string_view value) {
    for (const std::string_view name : c.keys) {
        const lock_key key = c.named(name);
        if (c.table.exists(key, c.now) || !c.may_take(key, value)) {
            return key;
        }
    }
    return std::nullopt;
}

/// SET of every key. The table may be full half way: then none of them stays.
answer set_all(const call& c, std::string_view value, outcome done) {
    const auto expiry = c.end_by_set();
    if (!expiry) {
        return fails(expiry.error());
    }
    for (size_t i = 0; i < c.keys.size(); ++i) {
        const auto set = c.table.set(
            {.key = c.named(c.keys[i]), .value = value, .expiry = *expiry, .client = c.client},
            c.now);
        if (set) {
            continue;
        }
        // Keys that were there before are replaced without fail, so these are all new.
        for (size_t undone = 0; undone < i; ++undone) {
            c.table.remove(c.named(c.keys[undone]), c.now);
        }
        return fails(set.error());
    }
    return ended(done, static_cast<int64_t>(c.keys.size()));
}

}  // namespace

answer acquire_all(const call& c) {
    const auto busy = not_to_be_had(c, c.text(role::token));
    return busy ? c.refused(*busy, c.text(role::token))
                : set_all(c, c.text(role::token), outcome::granted);
}

answer acquire_or_renew_all(const call& c) {
    const auto mine = token::of_caller(c);
    if (!mine) {
        return fails(mine.error());
    }
    const auto busy = not_to_be_had(c, mine->value);
    if (!busy) {
        return set_all(c, mine->value, outcome::granted);
    }
    for (const std::string_view name : c.keys) {
        const auto state = look(c, name, *mine);
        if (!state) {
            return fails(state.error());
        }
        if (*state != holding::mine) {
            return c.refused(*busy, mine->value);
        }
    }
    return set_all(c, mine->value, outcome::renewed);
}

answer extend_all(const call& c) {
    const auto mine = all_mine(c);
    if (!mine) {
        return fails(mine.error());
    }
    if (!*mine) {
        return ended(outcome::refused);
    }
    if (c.behaviour().rewrites) {
        return set_all(c, c.text(role::token), outcome::renewed);
    }
    const auto end = c.new_end();
    if (!end) {
        return fails(end.error());
    }
    for (const std::string_view name : c.keys) {
        c.table.expire({.key = c.named(name), .when = *end}, c.now);
    }
    return ended(outcome::renewed, static_cast<int64_t>(c.keys.size()));
}

answer release_matching(const call& c) {
    int64_t removed = 0;
    for (const std::string_view name : c.keys) {
        const auto one =
            c.table.remove_if({.key = c.named(name), .comparand = c.text(role::token)}, c.now);
        if (!one) {
            return fails(one.error());
        }
        removed += *one == shards::compare_outcome::done ? 1 : 0;
    }
    return ended(outcome::released, removed);
}

answer release_all(const call& c) {
    const auto mine = all_mine(c);
    if (!mine) {
        return fails(mine.error());
    }
    if (!*mine) {
        return ended(outcome::refused);
    }
    for (const std::string_view name : c.keys) {
        c.table.remove(c.named(name), c.now);
    }
    return ended(outcome::released, static_cast<int64_t>(c.keys.size()));
}

answer ttl_all(const call& c) {
    const auto mine = all_mine(c);
    if (!mine) {
        return fails(mine.error());
    }
    if (!*mine) {
        return ended(outcome::refused);
    }
    int64_t least = 0;
    for (const std::string_view name : c.keys) {
        const int64_t left = c.pttl(c.named(name));
        if (left > 0 && (least == 0 || left < least)) {
            least = left;
        }
    }
    return ended(outcome::found, least);
}

}  // namespace lockkeeper::proxy::scripts
