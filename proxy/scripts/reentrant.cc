#include <chrono>

#include "proxy/scripts/families.hh"

namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::result;
using idioms::role;
using shards::expiry_change;
using shards::lock_key;

namespace {

/// The number in a latch, or what the release comes to without one.
attempt<std::optional<result>> latched(const call& c) {
    const auto held = c.table.get(c.key(role::latch), c.now);
    if (!held) {
        return fails(held.error());
    }
    if (!*held) {
        return std::optional<result>();
    }
    return std::optional(ended(**held == "0" ? outcome::latched_kept : outcome::latched_released));
}

/// What a first request leaves for its repetition; nothing for nil.
std::optional<std::string_view> worth_remembering(const call& c, const result& first) {
    if (first.what == outcome::absent && c.script.op != idioms::operation::reentrant_release) {
        return "1";  // also where the reply is nil
    }
    const auto reply = idioms::reply_to(c.script.replies, first);
    if (reply.what != idioms::script_reply::kind::integer) {
        return std::nullopt;
    }
    return reply.number == 0 ? "0" : "1";
}

}  // namespace

answer with_latch(const call& c, answer (*release)(const call&)) {
    if (!c.has(role::latch)) {
        return release(c);
    }
    const auto before = latched(c);
    if (!before) {
        return fails(before.error());
    }
    if (*before) {
        return **before;
    }
    const auto lifetime = c.number(role::latch_ms);
    if (!lifetime) {
        return fails(lifetime.error());
    }
    const auto end = c.after(*lifetime);
    if (*lifetime <= 0 || !end) {
        return fails(bad_set_expiry);
    }
    const auto first = release(c);
    if (!first) {
        return first;
    }
    if (const auto number = worth_remembering(c, *first)) {
        // The lock has been released by now. A table too full for the latch does not change that:
        // it only makes a repetition count as one that comes too late.
        (void)c.table.set(
            {.key = c.key(role::latch), .value = *number, .expiry = expiry_change::at(*end)},
            c.now);
    }
    return first;
}

answer reentrant_acquire(const call& c) {
    const lock_key key = c.lock();
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const bool is_free = !c.table.exists(key, c.now);
    if (is_free && !c.may_take(key, c.text(role::owner))) {
        return c.refused(key, c.text(role::owner));
    }
    result won{};
    if (c.has(role::fence) || c.has(role::reentry_error)) {
        const auto held = c.table.hash_get(key, c.text(role::owner), c.now);
        if (!held) {
            return fails(held.error());
        }
        if (*held && c.has(role::reentry_error)) {
            return result{.what = outcome::forbidden, .text = c.text(role::reentry_error)};
        }
        if (!*held && !is_free) {
            return c.refused(key, c.text(role::owner));
        }
    }
    if (c.has(role::fence)) {
        const auto fence = c.table.increment(c.key(role::fence), 1, c.now);
        if (!fence) {
            return fails(fence.error());
        }
        won.fence = *fence;
    }
    const auto acquired = c.table.acquire(
        {.key = key, .owner = c.text(role::owner), .expiry = expiry_change::at(*end)}, c.now);
    if (!acquired) {
        return fails(acquired.error());
    }
    if (!acquired->won) {
        return c.refused(key, c.text(role::owner));
    }
    won.what = acquired->holds == 1 ? outcome::granted : outcome::renewed;
    return won;
}

namespace {

answer release_once(const call& c) {
    using how = shards::release_outcome::result;
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const auto released = c.table.release(
        {.key = c.lock(), .owner = c.text(role::owner), .expiry = expiry_change::at(*end)}, c.now);
    if (!released) {
        return fails(released.error());
    }
    switch (released->what) {
        case how::absent:
            if (c.behaviour().absent_notifies) {
                c.publish();
            }
            return ended(outcome::absent);
        case how::not_owner:
            return ended(outcome::refused);
        case how::still_held:
            return ended(outcome::kept);
        case how::freed:
            break;
    }
    // Redisson's words: 0 is for one of those who wait, 1 for all of them.
    c.text(role::message) == "0" ? c.publish_freed() : c.publish();
    return ended(outcome::released);
}

}  // namespace

answer reentrant_release(const call& c) {
    return with_latch(c, release_once);
}

answer reentrant_renew(const call& c) {
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const size_t first_owner = c.script.arguments.index_of(role::owner).value_or(0);
    c.out.each.reserve(c.keys.size());
    for (size_t i = 0; i < c.keys.size(); ++i) {
        const lock_key key = c.named(c.keys[i]);
        const auto renewed = c.table.renew(
            {.key = key, .owner = c.arguments[first_owner + i], .expiry = expiry_change::at(*end)},
            c.now);
        if (!renewed) {
            return fails(renewed.error());
        }
        const bool present = *renewed || c.table.exists(key, c.now);
        c.out.each.push_back(ended(*renewed  ? outcome::renewed
                                   : present ? outcome::refused
                                             : outcome::absent));
    }
    return c.out.each.front();
}

}  // namespace lockkeeper::proxy::scripts
