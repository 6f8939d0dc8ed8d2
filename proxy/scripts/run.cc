#include "proxy/scripts/run.hh"

#include <algorithm>
#include <array>

#include "proxy/scripts/families.hh"
#include "proxy/scripts/token.hh"
#include "shards/core/integer_text.hh"

namespace lockkeeper::proxy::scripts {

using idioms::operation;
using idioms::role;
using idioms::script_reply;

namespace {

answer carry_out(const call& c);

}  // namespace

/// Where masters stand behind the table, they hold the locks of a script; what it keeps beside them
/// (latches, queues, counters) is memory of ours.
answer run(const call& c) {
    if (wakes_sleepers(c.script) && c.has(role::lock)) {
        c.table.announced(c.lock());
    }
    if (!c.table.has_leases()) {
        return carry_out(c);
    }
    const auto names = lock_keys(c.script, c.keys);
    const std::vector<std::string_view> locks(names.begin(), names.end());
    c.table.lease_only(locks);
    auto done = carry_out(c);
    c.table.lease_only(std::nullopt);
    return done;
}

namespace {

answer carry_out(const call& c) {
    switch (c.script.op) {
        case operation::acquire_if_absent:
            return acquire_if_absent(c);
        case operation::acquire_or_renew:
            return acquire_or_renew(c);
        case operation::release_if_owner:
            return release_if_owner(c);
        case operation::extend_if_owner:
            return extend_if_owner(c);
        case operation::extend_or_create:
            return extend_or_create(c);
        case operation::take_over:
            return take_over(c);
        case operation::ttl_if_owner:
            return ttl_if_owner(c);
        case operation::value_and_ttl:
            return value_and_ttl(c);
        case operation::force_release:
            return force_release(c);
        case operation::force_release_all:
            return fails({.text = "ERR this script would release every lock of everybody; "
                                  "Lockkeeper does not carry it out. Delete the keys one by one"});
        case operation::acquire_all:
            return acquire_all(c);
        case operation::acquire_or_renew_all:
            return acquire_or_renew_all(c);
        case operation::extend_all:
            return extend_all(c);
        case operation::release_matching:
            return release_matching(c);
        case operation::release_all:
            return release_all(c);
        case operation::ttl_all:
            return ttl_all(c);
        case operation::expire_keys:
            return expire_keys(c);
        case operation::persist_keys:
            return persist_keys(c);
        case operation::reentrant_acquire:
            return reentrant_acquire(c);
        case operation::reentrant_release:
            return reentrant_release(c);
        case operation::reentrant_renew:
            return reentrant_renew(c);
        case operation::read_acquire:
            return read_acquire(c);
        case operation::read_release:
            return read_release(c);
        case operation::write_acquire:
            return write_acquire(c);
        case operation::write_release:
            return write_release(c);
        case operation::read_renew:
            return read_renew(c);
        case operation::read_force_release:
            return read_force_release(c);
        case operation::write_force_release:
            return write_force_release(c);
        case operation::read_is_locked:
            return read_is_locked(c);
        case operation::fair_try:
            return fair_try(c);
        case operation::fair_acquire:
            return fair_acquire(c);
        case operation::fair_leave:
            return fair_leave(c);
        case operation::fair_release:
            return fair_release(c);
        case operation::permits_acquire:
            return permits_acquire(c);
        case operation::permits_release:
            return permits_release(c);
        case operation::permits_drain:
            return permits_drain(c);
        case operation::permits_set_if_absent:
            return permits_set_if_absent(c);
        case operation::permits_add:
            return permits_add(c);
        case operation::leases_acquire:
            return leases_acquire(c);
        case operation::leases_release:
            return leases_release(c);
        case operation::leases_extend:
            return leases_extend(c);
        case operation::leases_available:
            return leases_available(c);
        case operation::leases_total:
            return leases_total(c);
        case operation::leases_out:
            return leases_out(c);
        case operation::leases_ttl:
            return leases_ttl(c);
        case operation::leases_set_total:
            return leases_set_total(c);
        case operation::slots_acquire:
            return slots_acquire(c);
        case operation::slots_renew:
            return slots_renew(c);
        case operation::slots_release:
            return slots_release(c);
        case operation::probe:
            return ended(idioms::outcome::released);
    }
    return fails({.text = "ERR this script is recognised, but not supported yet"});
}

}  // namespace

std::vector<std::string> lock_keys(const idioms::known_script& script,
                                   std::span<const std::string_view> keys) {
    std::vector<std::string> locks;
    for (size_t i = 0; i < keys.size(); ++i) {
        if (call::role_at(script.keys, i) == role::lock) {
            locks.emplace_back(keys[i]);
        }
    }
    return locks;
}

std::vector<std::string_view> stored_keys(const idioms::known_script& script,
                                          std::span<const std::string_view> keys, fences which) {
    // The holds of a read-write lock lie with it, and so does its latch.
    const bool latch_apart =
        script.op != operation::read_release && script.op != operation::write_release;
    std::vector<std::string_view> stored;
    stored.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
        switch (call::role_at(script.keys, i)) {
            case role::latch:
                if (!latch_apart) {
                    break;
                }
                [[fallthrough]];
            case role::lock:
            case role::leases:
            case role::queue:
            case role::signal:
                stored.push_back(keys[i]);
                break;
            case role::fence:
                if (which == fences::beside_locks) {
                    stored.push_back(keys[i]);
                }
                break;
            default:
                break;
        }
    }
    return stored;
}

bool wakes_sleepers(const idioms::known_script& script) {
    return std::ranges::any_of(
        std::array{role::channel, role::channel_prefix, role::signal},
        [&](role one) { return script.keys.index_of(one) || script.arguments.index_of(one); });
}

bool is_renewal(operation op) {
    return op == operation::reentrant_renew || op == operation::read_renew;
}

bool only_reads(operation op) {
    switch (op) {
        case operation::ttl_if_owner:
        case operation::value_and_ttl:
        case operation::ttl_all:
        case operation::read_is_locked:
        case operation::probe:
            return true;
        default:
            return false;
    }
}

bool only_acquires(operation op) {
    switch (op) {
        case operation::acquire_if_absent:
        case operation::acquire_all:
        case operation::reentrant_acquire:
        case operation::read_acquire:
        case operation::write_acquire:
        case operation::fair_try:
        case operation::fair_acquire:
        case operation::leases_acquire:
        case operation::slots_acquire:
            return true;
        default:
            return false;
    }
}

std::optional<one_try> as_try(const call& c) {
    switch (c.script.op) {
        case operation::acquire_if_absent:
        case operation::acquire_or_renew:
        case operation::acquire_all:
        case operation::acquire_or_renew_all:
            break;
        default:
            return std::nullopt;
    }
    const bool may_be_new = !c.has(role::allow_new) || c.text(role::allow_new) == "yes";
    const auto mine = token::of_caller(c);
    if (c.keys.size() != 1 || !may_be_new || !mine) {
        return std::nullopt;
    }
    const bool in_ms = c.has(role::ttl_ms);
    if (!in_ms && !c.has(role::ttl_s)) {
        return std::nullopt;
    }
    return one_try{.value = mine->value,
                   .ttl = c.text(in_ms ? role::ttl_ms : role::ttl_s),
                   .unit = std::chrono::milliseconds(in_ms ? 1 : 1'000),
                   .renews = c.script.op == operation::acquire_or_renew ||
                             c.script.op == operation::acquire_or_renew_all};
}

idioms::result granted_one() {
    return ended(idioms::outcome::granted, 1);
}

namespace {

void write_one(protocol::reply_writer& reply, const script_reply& what) {
    using kind = script_reply::kind;
    switch (what.what) {
        case kind::nil:
            return reply.null();
        case kind::integer:
            return reply.integer(what.number);
        case kind::status:
            return reply.simple(what.text);
        case kind::text:
            return reply.bulk(what.text);
        case kind::number_text:
            return reply.bulk(shards::format_integer(what.number));
        case kind::colon_number_text:
            return reply.bulk(":" + shards::format_integer(what.number));
        case kind::error:
            return what.text.contains(' ') ? reply.error(what.text)
                                           : reply.error({"ERR ", what.text});
        case kind::integer_pair:
            reply.array(2);
            reply.integer(what.number);
            return reply.integer(what.second);
        case kind::text_integer_pair:
            reply.array(2);
            reply.bulk(what.text);
            return reply.integer(what.number);
        case kind::nil_integer_pair:
            reply.array(2);
            reply.null();
            return reply.integer(what.number);
    }
}

}  // namespace

void write_reply(protocol::reply_writer& reply, const idioms::known_script& script,
                 const idioms::result& whole, std::span<const idioms::result> each) {
    if (script.replies != idioms::reply_map::each_one_zero) {
        return write_one(reply, idioms::reply_to(script.replies, whole));
    }
    reply.array(each.size());
    for (const idioms::result& one : each) {
        write_one(reply, idioms::reply_to(script.replies, one));
    }
}

}  // namespace lockkeeper::proxy::scripts
