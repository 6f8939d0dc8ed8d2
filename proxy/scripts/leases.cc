#include <algorithm>

#include "protocol/text.hh"
#include "proxy/scripts/families.hh"
#include "shards/core/integer_text.hh"

/// Permits that are out stand in a hash under the script's `leases` key: field = permit id, value =
/// the instant when it ends (Unix time of the clients).
namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::result;
using idioms::role;
using shards::format_integer;

namespace {

struct lease {
    std::string id;
    int64_t until;
};

/// The permits that are out, those that end first in front.
attempt<std::vector<lease>> permits_out(const call& c) {
    const auto fields = c.table.hash_fields(c.key(role::leases), c.now);
    if (!fields) {
        return fails(fields.error());
    }
    std::vector<lease> all;
    all.reserve(fields->size());
    for (const auto& field : *fields) {
        all.push_back({std::string(field.name), protocol::parse_integer(field.value).value_or(0)});
    }
    std::ranges::sort(all, [](const lease& a, const lease& b) {
        return a.until != b.until ? a.until < b.until : a.id < b.id;
    });
    return all;
}

attempt<std::optional<int64_t>> free_permits(const call& c) {
    const auto held = c.table.get(c.lock(), c.now);
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

attempt<int64_t> add_free(const call& c, int64_t count) {
    const auto sum = c.table.increment(c.lock(), count, c.now);
    if (!sum) {
        return fails(sum.error());
    }
    return *sum;
}

/// Takes back at most `most` permits whose instant is `now_ms` or before. `all` loses them; tells
/// how many.
attempt<size_t> take_back(const call& c, std::vector<lease>& all, size_t most) {
    const auto now_ms = c.number(role::now_ms);
    if (!now_ms) {
        return fails(now_ms.error());
    }
    size_t over = 0;
    while (over < all.size() && over < most && all[over].until <= *now_ms) {
        ++over;
    }
    if (over == 0) {
        return 0;
    }
    const auto count = add_free(c, static_cast<int64_t>(over));
    if (!count) {
        return fails(count.error());
    }
    for (size_t i = 0; i < over; ++i) {
        c.table.hash_remove(c.key(role::leases), all[i].id, c.now).value();
    }
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(over));
    if (*count > 0) {
        c.publish(format_integer(*count));
    }
    return over;
}

struct state {
    std::vector<lease> out;
    std::optional<int64_t> free;
    bool took_back = false;
};

/// Everything, after what is over has been taken back.
attempt<state> current(const call& c, size_t most = std::string_view::npos) {
    auto out = permits_out(c);
    if (!out) {
        return fails(out.error());
    }
    // A counter that is not one is found before anything changes.
    if (const auto counter = free_permits(c); !counter) {
        return fails(counter.error());
    }
    const auto back = take_back(c, *out, most);
    if (!back) {
        return fails(back.error());
    }
    const auto free = free_permits(c);
    if (!free) {
        return fails(free.error());
    }
    return state{.out = std::move(*out), .free = *free, .took_back = *back > 0};
}

std::span<const std::string_view> permit_ids(const call& c) {
    const size_t first = c.script.arguments.index_of(role::permit_id).value_or(0);
    return c.arguments.subspan(first, c.script.arguments.repeats() ? std::string_view::npos : 1);
}

const lease* find(const std::vector<lease>& all, std::string_view id) {
    const auto found = std::ranges::find(all, id, &lease::id);
    return found == all.end() ? nullptr : &*found;
}

answer release_one(const call& c) {
    const std::string_view id = c.text(role::permit_id);
    const auto given = c.number(role::permits);
    if (!given) {
        return fails(given.error());
    }
    const auto out = permits_out(c);
    if (!out) {
        return fails(out.error());
    }
    const lease* const mine = find(*out, id);
    if (mine == nullptr) {
        return ended(outcome::absent);
    }
    bool over = false;
    if (c.has(role::now_ms)) {
        const auto now_ms = c.number(role::now_ms);
        if (!now_ms) {
            return fails(now_ms.error());
        }
        over = mine->until <= *now_ms;
    }
    const auto count = add_free(c, *given);
    if (!count) {
        return fails(count.error());
    }
    c.table.hash_remove(c.key(role::leases), id, c.now).value();
    c.publish(format_integer(*count));
    return ended(over ? outcome::lapsed : outcome::released);
}

answer release_several(const call& c) {
    const auto ids = permit_ids(c);
    const auto now_ms = c.number(role::now_ms);
    if (!now_ms) {
        return fails(now_ms.error());
    }
    if (c.behaviour().all_or_none) {
        const auto out = permits_out(c);
        if (!out) {
            return fails(out.error());
        }
        const bool all_valid = std::ranges::all_of(ids, [&](std::string_view id) {
            const lease* const one = find(*out, id);
            return one != nullptr && one->until > *now_ms;
        });
        if (!all_valid) {
            return ended(outcome::absent);
        }
    }
    if (const auto before = current(c); !before) {
        return fails(before.error());
    }
    int64_t removed = 0;
    for (const std::string_view id : ids) {
        removed += c.table.hash_remove(c.key(role::leases), id, c.now).value() ? 1 : 0;
    }
    if (removed == 0) {
        return ended(outcome::absent);
    }
    if (const auto count = add_free(c, removed); !count) {
        return fails(count.error());
    }
    c.publish(format_integer(removed));
    return ended(outcome::released, removed);
}

}  // namespace

answer leases_acquire(const call& c) {
    const auto wanted = c.number(role::permits);
    if (!wanted) {
        return fails(wanted.error());
    }
    const auto deadline = c.number(role::deadline_ms);
    if (!deadline) {
        return fails(deadline.error());
    }
    const auto never = c.number(role::never_ms);
    if (!never) {
        return fails(never.error());
    }
    if (*wanted < 0) {
        return fails(not_an_integer);
    }
    const auto now = current(c, static_cast<size_t>(*wanted));
    if (!now) {
        return fails(now.error());
    }
    if (!now->free || *now->free < *wanted) {
        const bool known = !now->out.empty() && now->out.front().until != *never;
        return ended(outcome::refused, known ? now->out.front().until : -1);
    }
    const auto leases = c.key(role::leases);
    const std::string until = format_integer(*deadline);
    const auto ids = permit_ids(c);
    for (size_t i = 0; i < ids.size(); ++i) {
        const auto stored = c.table.hash_set(leases, {ids[i], until}, c.now);
        if (stored) {
            continue;
        }
        for (size_t undone = 0; undone < i; ++undone) {
            c.table.hash_remove(leases, ids[undone], c.now).value();
        }
        return fails(stored.error());
    }
    if (const auto left = add_free(c, -*wanted); !left) {
        return fails(left.error());
    }
    if (const auto end = c.table.lifetime_of(c.lock(), c.now).until) {
        c.table.expire({.key = leases, .when = *end}, c.now);
    }
    return result{.what = outcome::granted, .text = ids.front()};
}

answer leases_release(const call& c) {
    return c.script.arguments.repeats() ? release_several(c) : release_one(c);
}

answer leases_extend(const call& c) {
    const auto deadline = c.number(role::deadline_ms);
    if (!deadline) {
        return fails(deadline.error());
    }
    const auto now = current(c);
    if (!now) {
        return fails(now.error());
    }
    const std::string_view id = c.text(role::permit_id);
    if (find(now->out, id) == nullptr) {
        return ended(outcome::absent);
    }
    c.table.hash_set(c.key(role::leases), {id, format_integer(*deadline)}, c.now).value();
    return ended(outcome::renewed);
}

answer leases_available(const call& c) {
    const auto now = current(c);
    if (!now) {
        return fails(now.error());
    }
    if (!now->free) {
        return ended(outcome::absent);
    }
    return ended(now->took_back ? outcome::lapsed : outcome::found, *now->free);
}

answer leases_total(const call& c) {
    const auto now = current(c);
    if (!now) {
        return fails(now.error());
    }
    const int64_t out = static_cast<int64_t>(now->out.size());
    int64_t total = 0;
    if (now->free && __builtin_add_overflow(*now->free, out, &total)) {
        return fails(shards::lock_error::overflow);
    }
    return ended(outcome::found, total);
}

answer leases_out(const call& c) {
    const auto now = current(c);
    if (!now) {
        return fails(now.error());
    }
    return ended(outcome::found, static_cast<int64_t>(now->out.size()));
}

answer leases_ttl(const call& c) {
    const auto never = c.number(role::never_ms);
    const auto now_ms = c.number(role::now_ms);
    if (!never || !now_ms) {
        return fails(not_an_integer);
    }
    const auto now = current(c);
    if (!now) {
        return fails(now.error());
    }
    const lease* const mine = find(now->out, c.text(role::permit_id));
    if (mine == nullptr) {
        return ended(outcome::absent);
    }
    int64_t left = -1;
    if (mine->until != *never && __builtin_sub_overflow(mine->until, *now_ms, &left)) {
        return fails(not_an_integer);
    }
    return ended(outcome::found, left);
}

answer leases_set_total(const call& c) {
    const auto wanted = c.number(role::permits);
    if (!wanted) {
        return fails(wanted.error());
    }
    const auto free = free_permits(c);
    if (!free) {
        return fails(free.error());
    }
    const auto out = permits_out(c);
    if (!out) {
        return fails(out.error());
    }
    int64_t change = *wanted;
    if (*free && (__builtin_sub_overflow(change, static_cast<int64_t>(out->size()), &change) ||
                  __builtin_sub_overflow(change, **free, &change))) {
        return fails(shards::lock_error::overflow);
    }
    if (*free && change == 0) {
        return ended(outcome::released);
    }
    if (const auto count = add_free(c, change); !count) {
        return fails(count.error());
    }
    c.publish(c.text(role::permits));
    return ended(outcome::released);
}

}  // namespace lockkeeper::proxy::scripts
