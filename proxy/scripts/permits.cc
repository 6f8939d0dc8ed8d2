#include "proxy/scripts/families.hh"
#include "shards/core/integer_text.hh"

namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::role;
using shards::format_integer;
using shards::lock_key;

namespace {

/// The number of free permits; nothing if there is no such key.
attempt<std::optional<int64_t>> free_permits(const call& c, const lock_key& key) {
    const auto held = c.table.get(key, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return std::optional<int64_t>();
    }
    const auto count = call::number_of(**held);
    if (!count) {
        return fails(count.error());
    }
    return std::optional(*count);
}

attempt<bool> store(const call& c, const lock_key& key, int64_t count,
                    shards::expiry_change expiry = shards::expiry_change::never()) {
    const auto set =
        c.table.set({.key = key, .value = format_integer(count), .expiry = expiry}, c.now);
    if (!set) {
        return fails(set.error());
    }
    return true;
}

}  // namespace

answer permits_acquire(const call& c) {
    const lock_key key = c.lock();
    const auto wanted = c.number(role::permits);
    if (!wanted) {
        return fails(wanted.error());
    }
    const auto held = free_permits(c, key);
    if (!held) {
        return fails(held.error());
    }
    if (!*held || **held < *wanted) {
        return ended(outcome::refused);
    }
    int64_t by = 0;
    if (__builtin_sub_overflow(int64_t{0}, *wanted, &by)) {
        return fails(shards::lock_error::overflow);
    }
    const auto left = c.table.increment(key, by, c.now);
    if (!left) {
        return fails(left.error());
    }
    return ended(outcome::granted);
}

answer permits_release(const call& c) {
    const lock_key key = c.lock();
    const auto given = c.number(role::permits);
    if (!given) {
        return fails(given.error());
    }
    if (c.behaviour().only_if_present && !c.table.exists(key, c.now)) {
        return ended(outcome::absent);
    }
    const auto count = c.table.increment(key, *given, c.now);
    if (!count) {
        return fails(count.error());
    }
    c.publish(format_integer(*count));
    return ended(outcome::released);
}

answer permits_drain(const call& c) {
    const lock_key key = c.lock();
    const auto held = free_permits(c, key);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return ended(outcome::absent);
    }
    if (const auto set = store(c, key, 0); !set) {
        return fails(set.error());
    }
    return ended(outcome::found, **held);
}

answer permits_set_if_absent(const call& c) {
    const lock_key key = c.lock();
    if (c.table.exists(key, c.now)) {
        return ended(outcome::refused);
    }
    const auto count = c.number(role::permits);
    if (!count) {
        return fails(count.error());
    }
    const auto expiry = c.end_by_set();
    if (!expiry) {
        return fails(expiry.error());
    }
    if (const auto set = store(c, key, *count, *expiry); !set) {
        return fails(set.error());
    }
    c.publish(c.text(role::permits));
    return ended(outcome::granted);
}

answer permits_add(const call& c) {
    const lock_key key = c.lock();
    const auto amount = c.number(role::permits);
    if (!amount) {
        return fails(amount.error());
    }
    const auto held = free_permits(c, key);
    if (!held) {
        return fails(held.error());
    }
    const int64_t before = held->value_or(0);
    int64_t count = 0;
    const bool overflows = c.behaviour().subtracts
                               ? __builtin_sub_overflow(before, *amount, &count)
                               : __builtin_add_overflow(before, *amount, &count);
    if (overflows) {
        return fails(shards::lock_error::overflow);
    }
    if (const auto set = store(c, key, count); !set) {
        return fails(set.error());
    }
    if (!c.behaviour().publishes_amount) {
        c.publish(format_integer(count));
    } else if (*amount > 0) {
        c.publish(c.text(role::permits));
    }
    return ended(outcome::released);
}

}  // namespace lockkeeper::proxy::scripts
