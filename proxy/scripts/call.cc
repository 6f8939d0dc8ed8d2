#include "proxy/scripts/call.hh"

#include <algorithm>
#include <chrono>
#include <limits>

#include "protocol/text.hh"

namespace lockkeeper::proxy::scripts {

using idioms::role;
using shards::expiry_change;
using shards::instant;
using std::chrono::milliseconds;

namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

}  // namespace

bool call::has(role wanted) const {
    return script.arguments.has(wanted) || script.keys.has(wanted);
}

std::string_view call::text(role wanted) const {
    if (const auto index = script.arguments.index_of(wanted)) {
        return arguments[*index];
    }
    if (const auto index = script.keys.index_of(wanted)) {
        return keys[*index];
    }
    return {};
}

attempt<int64_t> call::number_of(std::string_view text) {
    const auto number = protocol::parse_integer(text);
    if (!number) {
        return fails(not_an_integer);
    }
    return *number;
}

attempt<int64_t> call::number(role wanted) const {
    return number_of(text(wanted));
}

shards::lock_key call::named(std::string_view name) const {
    return {.database = database, .name = name, .hash = hasher.place(name).bucket};
}

role call::role_at(const idioms::layout& all, size_t index) {
    if (index < all.count) {
        return all.roles[index];
    }
    if (!all.repeats()) {
        return role::unused;
    }
    const size_t fixed = all.count - all.group;
    return all.roles[fixed + (index - fixed) % all.group];
}

int64_t call::milliseconds_until(std::optional<instant> end) const {
    return end ? std::chrono::ceil<milliseconds>(*end - now).count() : -1;
}

int64_t call::pttl(const shards::lock_key& of) const {
    const auto life = table.lifetime_of(of, now);
    return life.present ? milliseconds_until(life.until) : -2;
}

idioms::result call::refused(const shards::lock_key& what, std::string_view token) const {
    table.was_refused(what, client, token, now);
    int64_t left = pttl(what);
    if (left == -2) {
        // -1 would be told as "wait for a message": none comes when a reservation ends.
        left = std::max<int64_t>(1, milliseconds_until(table.open_again(what, now)));
    }
    return ended(idioms::outcome::refused, left);
}

attempt<instant> call::after(int64_t count) const {
    // Redis counts in Unix time: what does not fit there is refused, as it would be.
    if (count > most - wall_ms) {
        return fails(bad_pexpire);
    }
    return now + milliseconds(count);
}

attempt<instant> call::after(role wanted) const {
    const auto count = number(wanted);
    if (!count) {
        return fails(count.error());
    }
    return after(*count);
}

attempt<instant> call::at() const {
    const auto when = number(role::at_ms);
    if (!when) {
        return fails(when.error());
    }
    int64_t from_now = 0;
    if (__builtin_sub_overflow(*when, wall_ms, &from_now)) {
        return shards::start_of_time;  // Only what is long past can be that far away.
    }
    return now + milliseconds(from_now);
}

attempt<instant> call::new_end() const {
    if (has(role::at_ms)) {
        return at();
    }
    if (!has(role::ttl_s)) {
        return after(role::ttl_ms);
    }
    const auto seconds = number(role::ttl_s);
    if (!seconds) {
        return fails(seconds.error());
    }
    if (*seconds > (most - wall_ms) / 1000 ||
        *seconds < std::numeric_limits<int64_t>::min() / 1000) {
        return fails(bad_expire);
    }
    return now + milliseconds(*seconds * 1000);
}

attempt<expiry_change> call::end_by_set() const {
    if (has(role::at_ms)) {
        const auto end = at();
        if (!end) {
            return fails(end.error());
        }
        if (*number(role::at_ms) <= 0) {
            return fails(bad_set_expiry);
        }
        return expiry_change::at(*end);
    }
    const bool in_seconds = has(role::ttl_s);
    const role wanted = in_seconds ? role::ttl_s : role::ttl_ms;
    if (!has(wanted) || (behaviour().empty_ttl_is_none && text(wanted).empty())) {
        return expiry_change::never();
    }
    const auto count = number(wanted);
    if (!count) {
        return fails(count.error());
    }
    const int64_t unit = in_seconds ? 1000 : 1;
    if (*count <= 0 || *count > (most - wall_ms) / unit) {
        return fails(bad_set_expiry);
    }
    return expiry_change::at(now + milliseconds(*count * unit));
}

void call::publish() const {
    publish(has(role::message) ? text(role::message) : text(role::lock));
}

void call::publish(std::string_view payload) const {
    if (has(role::channel)) {
        publish_on(std::string(text(role::channel)), payload);
    }
}

void call::publish_freed() const {
    if (!has(role::channel)) {
        return;
    }
    publish();
    out.announcements.back().frees =
        shards::freed_lock{.database = database, .key = std::string(text(role::lock))};
}

void call::publish_on(std::string channel, std::string_view payload) const {
    using space = shards::announcement::space;
    const bool to_shard = protocol::equals_ignoring_case(text(role::publish_command), "spublish");
    out.announcements.push_back({.where = to_shard ? space::shard_channel : space::channel,
                                 .channel = std::move(channel),
                                 .payload = std::string(payload)});
}

}  // namespace lockkeeper::proxy::scripts
