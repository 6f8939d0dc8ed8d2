#include <algorithm>
#include <charconv>
#include <chrono>

#include "protocol/text.hh"
#include "proxy/scripts/families.hh"

/// Each read hold has a lease of its own in a string key, named as Redisson names it; it lies with
/// the lock, wherever its own name would hash to, for nobody else asks for it.
namespace lockkeeper::proxy::scripts {

using idioms::outcome;
using idioms::role;
using shards::expiry_change;
using shards::instant;
using shards::lock_key;

namespace {

constexpr std::string_view mode_field = "mode";

/// Holds of one owner that are looked at. A program that takes a read lock more often than this
/// without giving it back has lost count.
constexpr int64_t holds_max = 4096;

enum class mode : uint8_t { none, read, write };

attempt<mode> mode_of(const call& c, const lock_key& lock) {
    const auto field = c.table.hash_get(lock, mode_field, c.now);
    if (!field) {
        return fails(field.error());
    }
    if (!*field) {
        return mode::none;
    }
    return **field == "write" ? mode::write : mode::read;
}

/// `<lock in braces>:<owner>:rwlock_timeout:<number>`
std::string hold_name(std::string_view lock, std::string_view owner, int64_t number) {
    const bool braced = lock.contains('{');
    std::string name;
    name.reserve(lock.size() + owner.size() + 40);
    name += braced ? "" : "{";
    name += lock;
    name += braced ? ":" : "}:";
    name += owner;
    name += ":rwlock_timeout:";
    name += std::to_string(number);
    return name;
}

struct holder {
    std::string owner;
    int64_t holds;
};

/// Everybody in the hash, readers and writer.
attempt<std::vector<holder>> holders_of(const call& c, const lock_key& lock) {
    const auto fields = c.table.hash_fields(lock, c.now);
    if (!fields) {
        return fails(fields.error());
    }
    std::vector<holder> all;
    for (const auto& field : *fields) {
        const auto holds = protocol::parse_integer(field.value);
        if (field.name != mode_field && holds) {
            all.push_back({std::string(field.name), std::min(*holds, holds_max)});
        }
    }
    return all;
}

/// When the last of the read holds ends; nothing if none lives. A writer has no such leases.
std::optional<instant> last_end(const call& c, std::string_view lock,
                                const std::vector<holder>& all) {
    std::optional<instant> last;
    for (const holder& one : all) {
        for (int64_t number = one.holds; number > 0; --number) {
            const std::string name = hold_name(lock, one.owner, number);
            const auto life = c.table.lifetime_of(c.named(name), c.now);
            if (life.present) {
                last = std::max(last.value_or(shards::start_of_time),
                                life.until.value_or(shards::end_of_time));
            }
        }
    }
    return last;
}

void expire(const call& c, const lock_key& key, instant end) {
    c.table.expire({.key = key, .when = end}, c.now);
}

/// A read hold: one more in the hash, and a lease for it.
attempt<int64_t> add_hold(const call& c, const lock_key& lock, instant end) {
    const std::string_view owner = c.text(role::owner);
    const auto holds = c.table.hash_increment(lock, owner, 1, c.now);
    if (!holds) {
        return fails(holds.error());
    }
    const std::string name = hold_name(lock.name, owner, *holds);
    const auto leased =
        c.table.set({.key = c.named(name), .value = "1", .expiry = expiry_change::at(end)}, c.now);
    if (leased) {
        return *holds;
    }
    if (*holds == 1) {
        c.table.hash_remove(lock, owner, c.now).value();
    } else {
        c.table.hash_increment(lock, owner, -1, c.now).value();
    }
    return fails(leased.error());
}

answer delete_and_publish(const call& c, const lock_key& lock) {
    c.table.remove(lock, c.now);
    c.publish();
    return ended(outcome::released);
}

}  // namespace

answer read_acquire(const call& c) {
    const lock_key lock = c.lock();
    const auto held_in = mode_of(c, lock);
    if (!held_in) {
        return fails(held_in.error());
    }
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    if (*held_in == mode::write) {
        const auto writer = c.table.hash_get(lock, c.text(role::write_owner), c.now);
        if (!c.has(role::write_owner) || !writer.value()) {
            return ended(outcome::refused, c.pttl(lock));
        }
    }
    if (*held_in == mode::none) {
        if (const auto set = c.table.hash_set(lock, {mode_field, "read"}, c.now); !set) {
            return fails(set.error());
        }
    }
    if (const auto hold = add_hold(c, lock, *end); !hold) {
        if (*held_in == mode::none) {
            c.table.hash_remove(lock, mode_field, c.now).value();
        }
        return fails(hold.error());
    }
    const auto until = c.table.lifetime_of(lock, c.now).until;
    if (!c.behaviour().keeps_longer || !until || *until < *end) {
        expire(c, lock, *end);
    }
    return ended(outcome::granted);
}

namespace {

answer read_release_once(const call& c) {
    const lock_key lock = c.lock();
    const std::string_view owner = c.text(role::owner);
    const auto held_in = mode_of(c, lock);
    if (!held_in) {
        return fails(held_in.error());
    }
    if (*held_in == mode::none) {
        c.publish();
        return ended(outcome::absent);
    }
    if (!c.table.hash_get(lock, owner, c.now).value()) {
        return ended(outcome::refused);
    }
    std::optional<instant> asked;
    if (c.has(role::lease_ms)) {
        const auto end = c.after(role::lease_ms);
        if (!end) {
            return fails(end.error());
        }
        asked = *end;
    }
    const auto holds = c.table.hash_increment(lock, owner, -1, c.now);
    if (!holds) {
        return fails(holds.error());
    }
    if (*holds <= 0) {
        c.table.hash_remove(lock, owner, c.now).value();
    }
    const std::string given_back = hold_name(lock.name, owner, *holds + 1);
    c.table.remove(c.named(given_back), c.now);

    const auto all = holders_of(c, lock);
    if (!all) {
        return fails(all.error());
    }
    const outcome still = *holds > 0 ? outcome::kept : outcome::left;
    if (*held_in == mode::write && !all->empty()) {
        return ended(still);  // The writer's lease is that of the hash: it stays.
    }
    const auto last = last_end(c, lock.name, *all);
    if (!last) {
        return delete_and_publish(c, lock);
    }
    expire(c, lock, asked.value_or(*last));
    return ended(still);
}

answer write_release_once(const call& c) {
    const lock_key lock = c.lock();
    const std::string_view owner = c.text(role::owner);
    const auto held_in = mode_of(c, lock);
    if (!held_in) {
        return fails(held_in.error());
    }
    if (*held_in == mode::none) {
        c.publish();
        return ended(outcome::absent);
    }
    if (*held_in == mode::read || !c.table.hash_get(lock, owner, c.now).value()) {
        return ended(outcome::refused);
    }
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const auto holds = c.table.hash_increment(lock, owner, -1, c.now);
    if (!holds) {
        return fails(holds.error());
    }
    if (*holds > 0) {
        expire(c, lock, *end);
        return ended(outcome::kept);
    }
    c.table.hash_remove(lock, owner, c.now).value();
    const auto all = holders_of(c, lock);
    if (!all) {
        return fails(all.error());
    }
    if (!last_end(c, lock.name, *all)) {
        return delete_and_publish(c, lock);
    }
    c.table.hash_set(lock, {mode_field, "read"}, c.now).value();
    return ended(outcome::left);
}

}  // namespace

answer read_release(const call& c) {
    return with_latch(c, read_release_once);
}

answer write_acquire(const call& c) {
    const lock_key lock = c.lock();
    const std::string_view owner = c.text(role::owner);
    const auto held_in = mode_of(c, lock);
    if (!held_in) {
        return fails(held_in.error());
    }
    const bool mine = *held_in == mode::write && c.table.hash_get(lock, owner, c.now).value();
    if (*held_in != mode::none && !mine) {
        return ended(outcome::refused, c.pttl(lock));
    }
    const auto lease = c.number(role::lease_ms);
    if (!lease) {
        return fails(lease.error());
    }
    int64_t lifetime = *lease;
    if (mine && c.behaviour().adds_lease &&
        __builtin_add_overflow(lifetime, std::max<int64_t>(c.pttl(lock), 0), &lifetime)) {
        return fails(bad_pexpire);
    }
    const auto end = c.after(lifetime);
    if (!end) {
        return fails(end.error());
    }
    if (const auto set = c.table.hash_set(lock, {mode_field, "write"}, c.now); !set) {
        return fails(set.error());
    }
    if (const auto holds = c.table.hash_increment(lock, owner, 1, c.now); !holds) {
        if (!mine) {
            c.table.hash_remove(lock, mode_field, c.now).value();
        }
        return fails(holds.error());
    }
    expire(c, lock, *end);
    return ended(mine ? outcome::renewed : outcome::granted);
}

answer write_release(const call& c) {
    return with_latch(c, write_release_once);
}

namespace {

/// The owners named for each pair of keys: one each, or as many as a number before them says.
attempt<std::vector<std::span<const std::string_view>>> owners_by_pair(const call& c,
                                                                       size_t pairs) {
    std::vector<std::span<const std::string_view>> all;
    if (const auto first = c.script.arguments.index_of(role::owner)) {
        for (size_t i = 0; i < pairs; ++i) {
            all.push_back(c.arguments.subspan(*first + i, 1));
        }
        return all;
    }
    auto rest = c.arguments.subspan(c.script.arguments.index_of(role::owner_groups).value());
    for (size_t i = 0; i < pairs; ++i) {
        const auto count = rest.empty() ? fails(not_an_integer) : call::number_of(rest.front());
        if (!count) {
            return fails(count.error());
        }
        if (*count < 0 || static_cast<size_t>(*count) > rest.size() - 1) {
            return fails(not_an_integer);
        }
        all.push_back(rest.subspan(1, static_cast<size_t>(*count)));
        rest = rest.subspan(1 + static_cast<size_t>(*count));
    }
    return all;
}

attempt<outcome> renew_readers(const call& c, const lock_key& lock,
                               std::span<const std::string_view> owners, instant end) {
    const auto all = holders_of(c, lock);
    if (!all) {
        return fails(all.error());
    }
    const auto named = [&owners](const holder& one) {
        return std::ranges::find(owners, one.owner) != owners.end();
    };
    if (std::ranges::none_of(*all, named)) {
        return outcome::absent;
    }
    expire(c, lock, end);
    const bool only_named = c.has(role::owner_groups);
    for (const holder& one : *all) {
        if (only_named && !named(one)) {
            continue;
        }
        for (int64_t number = one.holds; number > 0; --number) {
            const std::string name = hold_name(lock.name, one.owner, number);
            expire(c, c.named(name), end);
        }
    }
    return outcome::renewed;
}

}  // namespace

answer read_renew(const call& c) {
    const auto end = c.after(role::lease_ms);
    if (!end) {
        return fails(end.error());
    }
    const size_t pairs = c.keys.size() / 2;
    const auto owners = owners_by_pair(c, pairs);
    if (!owners) {
        return fails(owners.error());
    }
    for (size_t i = 0; i < pairs; ++i) {
        const auto renewed = renew_readers(c, c.named(c.keys[2 * i]), (*owners)[i], *end);
        if (!renewed) {
            return fails(renewed.error());
        }
        c.out.each.push_back(ended(*renewed));
    }
    return c.out.each.front();
}

namespace {

answer force_release_in(const call& c, mode wanted) {
    const lock_key lock = c.lock();
    const auto held_in = mode_of(c, lock);
    if (!held_in) {
        return fails(held_in.error());
    }
    return *held_in == wanted ? delete_and_publish(c, lock) : ended(outcome::absent);
}

}  // namespace

answer read_force_release(const call& c) {
    return force_release_in(c, mode::read);
}

answer write_force_release(const call& c) {
    return force_release_in(c, mode::write);
}

answer read_is_locked(const call& c) {
    const lock_key lock = c.lock();
    const auto held_in = mode_of(c, lock);
    if (!held_in) {
        return fails(held_in.error());
    }
    const auto all = holders_of(c, lock);
    if (!all) {
        return fails(all.error());
    }
    const bool has_reader =
        std::ranges::any_of(*all, [](const holder& one) { return !one.owner.ends_with(":write"); });
    const bool locked = *held_in == mode::read || (*held_in == mode::write && has_reader);
    return ended(locked ? outcome::found : outcome::absent);
}

}  // namespace lockkeeper::proxy::scripts
