#include <array>
#include <chrono>

#include "protocol/text.hh"
#include "proxy/scripts/families.hh"

namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::role;
using protocol::equals_ignoring_case;
using std::chrono::milliseconds;

attempt<milliseconds> signal_lifetime(const call& c) {
    constexpr milliseconds by_default{1000};
    if (!c.has(role::signal_ms)) {
        return by_default;
    }
    const auto count = c.number(role::signal_ms);
    if (!count) {
        return fails(count.error());
    }
    if (const auto end = c.after(*count); !end) {
        return fails(end.error());
    }
    return milliseconds(*count);
}

answer signal(const call& c, milliseconds lifetime) {
    const auto list = c.key(role::signal);
    constexpr std::array<std::string_view, 1> element{"1"};
    c.table.remove(list, c.now);
    const auto pushed = c.table.list_push(list, shards::list_end::front, element, c.now);
    if (!pushed) {
        return fails(pushed.error());
    }
    c.table.expire({.key = list, .when = c.now + lifetime}, c.now);
    c.out.signalled.emplace_back(list.name);
    return ended(outcome::released);
}

answer force_release(const call& c) {
    if (c.has(role::channel_prefix)) {
        return fair_force_release(c);
    }
    if (!c.has(role::signal)) {
        if (!c.table.remove(c.lock(), c.now)) {
            return ended(outcome::absent);
        }
        c.publish();
        return ended(outcome::released);
    }
    const auto lifetime = signal_lifetime(c);
    if (!lifetime) {
        return fails(lifetime.error());
    }
    const bool removed = c.table.remove(c.lock(), c.now);
    if (const auto sent = signal(c, *lifetime); !sent) {
        return sent;
    }
    return ended(removed ? outcome::released : outcome::absent);
}

namespace {

attempt<shards::expire_request> conditions(const call& c) {
    shards::expire_request wanted{.key = {}, .when = {}};
    const std::string_view word = c.text(role::condition);
    if (equals_ignoring_case(word, "nx")) {
        wanted.if_none = true;
    } else if (equals_ignoring_case(word, "xx")) {
        wanted.if_some = true;
    } else if (equals_ignoring_case(word, "gt")) {
        wanted.if_later = true;
    } else if (equals_ignoring_case(word, "lt")) {
        wanted.if_earlier = true;
    } else if (!word.empty()) {
        return fails({.text = "ERR Unsupported option"});
    }
    return wanted;
}

/// `change` tells whether it did something to a key. Who waits for a fair lock is kept under
/// `queue` alone, so `waits` is that key once more.
template <typename Change>
answer on_each(const call& c, Change change) {
    bool any = false;
    bool last = false;
    for (size_t i = 0; i < c.keys.size(); ++i) {
        if (call::role_at(c.script.keys, i) == role::waits) {
            continue;
        }
        last = change(c.named(c.keys[i]));
        any = any || last;
    }
    return ended((c.behaviour().last_counts ? last : any) ? outcome::renewed : outcome::absent);
}

}  // namespace

answer expire_keys(const call& c) {
    auto wanted = conditions(c);
    if (!wanted) {
        return fails(wanted.error());
    }
    const auto end = c.new_end();
    if (!end) {
        return fails(end.error());
    }
    wanted->when = *end;
    return on_each(c, [&c, &wanted](const shards::lock_key& key) {
        wanted->key = key;
        return c.table.expire(*wanted, c.now);
    });
}

answer persist_keys(const call& c) {
    return on_each(c, [&c](const shards::lock_key& key) { return c.table.persist(key, c.now); });
}

}  // namespace lockkeeper::proxy::scripts
