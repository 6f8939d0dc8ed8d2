#include <algorithm>
#include <chrono>

#include "protocol/text.hh"
#include "proxy/scripts/families.hh"

/// Who waits for a fair lock stands in a hash under the script's `queue` key: field = owner, value
/// = when he gives up (Unix time of the clients), fields in the order of arrival.
namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::result;
using idioms::role;
using shards::expiry_change;
using shards::lock_key;

namespace {

struct waiter {
    std::string owner;
    int64_t until;
};

/// Heads of the queue whose time is over.
enum class stale : uint8_t { leave, stay };

/// The queue of one lock for the time of one operation. What it changes is in the table at once.
class wait_queue {
public:
    static attempt<wait_queue> open(const call& c, stale heads = stale::leave) {
        int64_t now_ms = c.wall_ms;
        if (c.has(role::now_ms)) {
            const auto told = c.number(role::now_ms);
            if (!told) {
                return fails(told.error());
            }
            now_ms = *told;
        }
        const auto fields = c.table.hash_fields(c.key(role::queue), c.now);
        if (!fields) {
            return fails(fields.error());
        }
        wait_queue queue(c, now_ms);
        for (const auto& field : *fields) {
            const int64_t until = protocol::parse_integer(field.value).value_or(0);
            queue._waiters.push_back({std::string(field.name), until});
        }
        while (heads == stale::leave && !queue.empty() && queue._waiters.front().until <= now_ms) {
            queue.remove(queue._waiters.begin());
        }
        return queue;
    }

    int64_t now_ms() const { return _now_ms; }
    bool empty() const { return _waiters.empty(); }
    const std::string* head() const { return empty() ? nullptr : &_waiters.front().owner; }
    bool may_go(std::string_view owner) const { return empty() || *head() == owner; }

    /// Those behind `owner` need not wait for him any more: their time comes `sooner` ms earlier.
    void leave(std::string_view owner, int64_t sooner) {
        auto behind = find(owner);
        if (behind == _waiters.end()) {
            return;
        }
        behind = remove(behind);
        for (; sooner != 0 && behind != _waiters.end(); ++behind) {
            if (!__builtin_sub_overflow(behind->until, sooner, &behind->until)) {
                store(*behind).value();
            }
        }
    }

    /// Ms until it is worth for `owner` to try again, as seen from his place or from the end.
    int64_t hint(std::string_view owner, int64_t lock_pttl) {
        const auto mine = find(owner);
        if (mine == _waiters.begin()) {
            return lock_pttl;
        }
        // Both are words of clients: a difference that is no number is no hint.
        int64_t left = 0;
        return __builtin_sub_overflow(std::prev(mine)->until, _now_ms, &left) ? -1 : left;
    }

    /// Stands at the end, if not in the queue yet.
    attempt<bool> join(std::string_view owner, int64_t until) {
        if (find(owner) != _waiters.end()) {
            return false;
        }
        const auto stored = store({std::string(owner), until});
        if (!stored) {
            return fails(stored.error());
        }
        return true;
    }

private:
    using place = std::vector<waiter>::iterator;

    wait_queue(const call& c, int64_t now_ms) : _call(&c), _now_ms(now_ms) {}

    place find(std::string_view owner) {
        return std::ranges::find(_waiters, owner, &waiter::owner);
    }
    lock_key key() const { return _call->key(role::queue); }
    place remove(place leaving) {
        _call->table.hash_remove(key(), leaving->owner, _call->now).value();
        return _waiters.erase(leaving);
    }
    shards::lock_result<bool> store(const waiter& one) {
        const std::string until = std::to_string(one.until);
        return _call->table.hash_set(key(), {one.owner, until}, _call->now);
    }

    const call* _call;
    int64_t _now_ms;
    std::vector<waiter> _waiters;
};

/// What trying comes to; `refused` leaves everything else to the caller.
attempt<result> try_now(const call& c, wait_queue& queue, int64_t sooner) {
    const lock_key lock = c.lock();
    const std::string_view owner = c.text(role::owner);
    const auto held = c.table.hash_get(lock, owner, c.now);
    if (!held) {
        return fails(held.error());
    }
    if (*held && c.has(role::reentry_error)) {
        return result{.what = outcome::forbidden, .text = c.text(role::reentry_error)};
    }
    const bool free = !c.table.exists(lock, c.now);
    if (free ? !queue.may_go(owner) : !*held) {
        return ended(outcome::refused);
    }
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const auto acquired =
        c.table.acquire({.key = lock, .owner = owner, .expiry = expiry_change::at(*end)}, c.now);
    if (!acquired) {
        return fails(acquired.error());
    }
    if (!free) {
        return ended(outcome::renewed);
    }
    queue.leave(owner, sooner);
    return ended(outcome::granted);
}

attempt<int64_t> wait_of(const call& c) {
    return c.has(role::wait_ms) ? c.number(role::wait_ms) : attempt<int64_t>(0);
}

void notify_head(const call& c, const wait_queue& queue) {
    if (const std::string* head = queue.head()) {
        const std::string prefix(c.text(role::channel_prefix));
        c.publish_on(prefix + ":" + *head, c.text(role::message));
        c.out.announcements.back().calls =
            shards::queue_head{.database = c.database,
                               .queue = std::string(c.text(role::queue)),
                               .owner = *head,
                               .channel_prefix = prefix};
    }
}

answer fair_release_once(const call& c) {
    using how = shards::release_outcome::result;
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const auto queue = wait_queue::open(c);
    if (!queue) {
        return fails(queue.error());
    }
    const auto released = c.table.release(
        {.key = c.lock(), .owner = c.text(role::owner), .expiry = expiry_change::at(*end)}, c.now);
    if (!released) {
        return fails(released.error());
    }
    switch (released->what) {
        case how::absent:
            notify_head(c, *queue);
            return ended(outcome::absent);
        case how::not_owner:
            return ended(outcome::refused);
        case how::still_held:
            return ended(outcome::kept);
        case how::freed:
            break;
    }
    notify_head(c, *queue);
    return ended(outcome::released);
}

}  // namespace

answer fair_try(const call& c) {
    const auto wait = wait_of(c);
    if (!wait) {
        return fails(wait.error());
    }
    auto queue = wait_queue::open(c);
    if (!queue) {
        return fails(queue.error());
    }
    return try_now(c, *queue, *wait);
}

answer fair_acquire(const call& c) {
    const auto wait = wait_of(c);
    if (!wait) {
        return fails(wait.error());
    }
    auto queue = wait_queue::open(c);
    if (!queue) {
        return fails(queue.error());
    }
    const auto tried = try_now(c, *queue, *wait);
    if (!tried || tried->what != outcome::refused) {
        return tried;
    }
    const std::string_view owner = c.text(role::owner);
    const int64_t hint = queue->hint(owner, c.pttl(c.lock()));
    int64_t from = *wait;
    if (c.has(role::wait_until_ms)) {
        const auto told = c.number(role::wait_until_ms);
        if (!told) {
            return fails(told.error());
        }
        from = *told;
    } else if (__builtin_add_overflow(from, queue->now_ms(), &from)) {
        return fails(not_an_integer);
    }
    int64_t until = 0;
    if (__builtin_add_overflow(hint, from, &until)) {
        return fails(not_an_integer);
    }
    if (const auto joined = queue->join(owner, until); !joined) {
        return fails(joined.error());
    }
    return ended(outcome::refused, hint);
}

answer fair_leave(const call& c) {
    const auto wait = wait_of(c);
    if (!wait) {
        return fails(wait.error());
    }
    // The script says nothing of its clock, so those whose time is over wait for another call.
    auto queue = wait_queue::open(c, stale::stay);
    if (!queue) {
        return fails(queue.error());
    }
    queue->leave(c.text(role::owner), *wait);
    return ended(outcome::released);
}

answer fair_release(const call& c) {
    return with_latch(c, fair_release_once);
}

answer fair_force_release(const call& c) {
    const auto queue = wait_queue::open(c);
    if (!queue) {
        return fails(queue.error());
    }
    if (!c.table.remove(c.lock(), c.now)) {
        return ended(outcome::absent);
    }
    notify_head(c, *queue);
    return ended(outcome::released);
}

}  // namespace lockkeeper::proxy::scripts
