#include <chrono>

#include "proxy/scripts/families.hh"
#include "proxy/scripts/token.hh"

namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::role;
using shards::compare_outcome;
using shards::lock_key;
using std::chrono::milliseconds;

namespace {

/// SET with the expiry that the script asks for.
answer store(const call& c, const lock_key& key, std::string_view value, outcome done) {
    const auto expiry = c.end_by_set();
    if (!expiry) {
        return fails(expiry.error());
    }
    const auto stored =
        c.table.set({.key = key, .value = value, .expiry = *expiry, .client = c.client}, c.now);
    if (!stored) {
        return fails(stored.error());
    }
    return ended(done);
}

/// PEXPIRE likewise.
answer prolong(const call& c, const lock_key& key) {
    const auto end = c.new_end();
    if (!end) {
        return fails(end.error());
    }
    c.table.expire({.key = key, .when = *end}, c.now);
    return ended(outcome::renewed);
}

/// `add_ms` on top of what remains, or in its place.
answer add_time(const call& c, const lock_key& key, int64_t left) {
    const auto added = c.number(role::add_ms);
    if (!added) {
        return fails(added.error());
    }
    const bool replaces = c.has(role::replace) && c.text(role::replace) != "0";
    int64_t sum = *added;
    if (!replaces && left > 0 && __builtin_add_overflow(*added, left, &sum)) {
        return fails(bad_pexpire);
    }
    const auto end = c.after(sum);
    if (!end) {
        return fails(end.error());
    }
    c.table.expire({.key = key, .when = *end}, c.now);
    return ended(outcome::renewed);
}

}  // namespace

answer acquire_if_absent(const call& c) {
    const auto expiry = c.end_by_set();
    if (!expiry) {
        return fails(expiry.error());
    }
    const auto set = c.table.set({.key = c.lock(),
                                  .value = c.text(role::token),
                                  .condition = shards::set_condition::if_absent,
                                  .expiry = *expiry,
                                  .client = c.client},
                                 c.now);
    if (!set) {
        return fails(set.error());
    }
    if (!set->stored && c.behaviour().reads_back) {
        if (const auto read = c.table.get(c.lock(), c.now); !read) {
            return fails(read.error());
        }
    }
    return ended(set->stored ? outcome::granted : outcome::refused);
}

answer acquire_or_renew(const call& c) {
    const auto mine = token::of_caller(c);
    if (!mine) {
        return fails(mine.error());
    }
    const lock_key key = c.lock();
    const auto held = c.table.get(key, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        if (c.has(role::allow_new) && c.text(role::allow_new) != "yes") {
            return ended(outcome::absent);
        }
        return c.may_take(key, mine->value) ? store(c, key, mine->value, outcome::granted)
                                            : c.refused(key, mine->value);
    }
    if (!mine->owns(**held)) {
        return c.refused(key, mine->value);
    }
    return c.behaviour().rewrites ? store(c, key, mine->value, outcome::renewed) : prolong(c, key);
}

answer release_if_owner(const call& c) {
    milliseconds signal_for{};
    if (c.has(role::signal)) {
        const auto lifetime = signal_lifetime(c);
        if (!lifetime) {
            return fails(lifetime.error());
        }
        signal_for = *lifetime;
    }
    const auto removed = c.table.remove_if(
        {.key = c.lock(), .comparand = c.text(role::token), .client = c.client}, c.now);
    if (!removed) {
        return fails(removed.error());
    }
    if (*removed != compare_outcome::done) {
        return ended(*removed == compare_outcome::absent ? outcome::absent : outcome::refused);
    }
    if (c.has(role::signal)) {
        return signal(c, signal_for);
    }
    c.publish_freed();
    return ended(outcome::released);
}

answer extend_if_owner(const call& c) {
    const lock_key key = c.lock();
    const auto held = c.table.get(key, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return ended(outcome::absent);
    }
    if (**held != c.text(role::token)) {
        return ended(outcome::refused);
    }
    const int64_t left = c.pttl(key);
    if (left < 0 && c.behaviour().ttl_required) {
        return ended(outcome::untimed);
    }
    if (c.has(role::add_ms)) {
        return add_time(c, key, left);
    }
    if (c.behaviour().persists) {
        const auto seconds = c.number(role::ttl_s);
        if (!seconds) {
            return fails(seconds.error());
        }
        if (*seconds <= 0) {
            c.table.persist(key, c.now);
            return ended(outcome::renewed);
        }
    }
    return c.behaviour().rewrites ? store(c, key, c.text(role::token), outcome::renewed)
                                  : prolong(c, key);
}

answer extend_or_create(const call& c) {
    const lock_key key = c.lock();
    const auto held = c.table.get(key, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return c.may_take(key, c.text(role::token))
                   ? store(c, key, c.text(role::token), outcome::granted)
                   : c.refused(key, c.text(role::token));
    }
    return **held == c.text(role::token) ? prolong(c, key) : ended(outcome::refused);
}

answer take_over(const call& c) {
    return store(c, c.lock(), c.text(role::token), outcome::granted);
}

answer ttl_if_owner(const call& c) {
    const lock_key key = c.lock();
    const auto held = c.table.get(key, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return ended(outcome::absent);
    }
    if (**held != c.text(role::token)) {
        return ended(outcome::refused);
    }
    return ended(outcome::found, c.pttl(key));
}

answer value_and_ttl(const call& c) {
    const lock_key key = c.lock();
    const auto held = c.table.get(key, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return ended(outcome::absent, -2);
    }
    auto found = ended(outcome::found, c.pttl(key));
    found.text = **held;
    return found;
}

}  // namespace lockkeeper::proxy::scripts
