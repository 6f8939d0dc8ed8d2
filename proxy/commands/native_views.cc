#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sharded.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/expiry.hh"
#include "proxy/lock_views.hh"
#include "proxy/reload.hh"
#include "proxy/router.hh"
#include "proxy/services.hh"
#include "shards/core/glob.hh"

/// Looking at locks: who holds them, who is in line, which are hot; and breaking one.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::reply_writer;
using shards::holder_view;
using shards::instant;
using shards::lock_line;
using std::chrono::milliseconds;

int64_t whole_milliseconds(std::chrono::nanoseconds time) {
    return std::max<int64_t>(0, std::chrono::floor<milliseconds>(time).count());
}

// ---- one key ------------------------------------------------------------------------------------

/// LK.FENCE key: the fence of the present holder, nil if there is none.
void fence(const key_call& call) {
    const auto number = call.table().fence_of(call.key(1), call.now);
    number ? call.reply.integer(static_cast<int64_t>(*number)) : call.reply.null();
}

void reply_holder(reply_writer& reply, const holder_view& holder, instant now) {
    reply.map(8);
    reply.bulk("owner");
    reply.bulk(holder.owner);
    reply.bulk("fence");
    reply.integer(static_cast<int64_t>(holder.fence));
    reply.bulk("mode");
    reply.bulk(name_of(holder.mode));
    reply.bulk("holds");
    reply.integer(holder.holds);
    reply.bulk("permits");
    reply.integer(holder.permits);
    reply.bulk("ttl");
    reply.integer(milliseconds_left(holder.until, now));
    reply.bulk("held");
    reply.integer(whole_milliseconds(now - holder.since));
    reply.bulk("client");
    reply.integer(static_cast<int64_t>(holder.client));
}

/// LK.HOLDERS key: a map for each, in the order of their grants.
void holders(const key_call& call) {
    const auto all = call.table().holders(call.key(1), call.now);
    call.reply.array(all.size());
    for (const holder_view& each : all) {
        reply_holder(call.reply, each, call.now);
    }
}

/// LK.WAITERS key: a map for each of those who wait, in order, then those who poll.
void waiters(const key_call& call) {
    lock_line* const line = call.table().line_of(call.key(1));
    if (line == nullptr) {
        return call.reply.array(0);
    }
    call.reply.array(line->queue.size() + line->polling.size());
    for (const shards::waiter& each : line->queue) {
        call.reply.map(8);
        call.reply.bulk("owner");
        call.reply.bulk(each.owner);
        call.reply.bulk("kind");
        call.reply.bulk(each.is_parked ? "parked" : "waiting");
        call.reply.bulk("mode");
        call.reply.bulk(name_of(each.mode));
        call.reply.bulk("permits");
        call.reply.integer(each.permits);
        call.reply.bulk("priority");
        call.reply.integer(each.priority);
        call.reply.bulk("waited");
        call.reply.integer(whole_milliseconds(call.now - each.since));
        call.reply.bulk("client");
        call.reply.integer(static_cast<int64_t>(each.client));
        call.reply.bulk("deadlock");
        call.reply.integer(each.in_deadlock ? 1 : 0);
    }
    line->polling.for_each([&call](const shards::seats::view& each) {
        call.reply.map(4);
        call.reply.bulk("kind");
        call.reply.bulk("polling");
        call.reply.bulk("waited");
        call.reply.integer(whole_milliseconds(call.now - each.since));
        call.reply.bulk("pause");
        call.reply.integer(each.pause ? whole_milliseconds(*each.pause) : -1);
        call.reply.bulk("client");
        call.reply.integer(static_cast<int64_t>(each.client));
    });
}

/// LK.BREAK key [FENCE n]: 1, or 0 if there was nothing to break. Its holders are told that they
/// lost it. With a fence, that of the lock as somebody saw it: nil if it is another one by now.
void break_lock(const key_call& call) {
    if (call.args.size() > 2) {
        if (call.args.size() != 4 || !equals_ignoring_case(call.args[2], "fence")) {
            return reply_syntax_error(call.reply);
        }
        const auto fence = protocol::parse_integer(call.args[3]);
        if (!fence) {
            return reply_not_an_integer(call.reply);
        }
        const auto seen = look_at(call.locks, call.database, call.args[1], call.now);
        if (seen.holders > 0 && seen.fence != static_cast<uint64_t>(*fence)) {
            return call.reply.null();
        }
    }
    call.reply.integer(call.table().break_lock(call.key(1), call.now) ? 1 : 0);
}

// ---- all keys -----------------------------------------------------------------------------------

void reply_row(reply_writer& reply, const lock_row& row) {
    reply.map(10);
    reply.bulk("key");
    reply.bulk(row.key);
    reply.bulk("owner");
    reply.bulk(row.owner);
    reply.bulk("mode");
    reply.bulk(row.mode);
    reply.bulk("fence");
    reply.integer(static_cast<int64_t>(row.fence));
    reply.bulk("ttl");
    reply.integer(row.ttl);
    reply.bulk("held");
    reply.integer(whole_milliseconds(row.held));
    reply.bulk("holders");
    reply.integer(static_cast<int64_t>(row.holders));
    reply.bulk("waiters");
    reply.integer(static_cast<int64_t>(row.waiters));
    reply.bulk("polling");
    reply.integer(static_cast<int64_t>(row.polling));
    reply.bulk("handoffs");
    reply.integer(static_cast<int64_t>(row.hand_offs));
}

struct list_options {
    std::string pattern = "*";
    size_t count = 10;
    uint64_t cursor = 0;
};

bool read_list_options(client& who, const owned_request& args, list_options& wanted) {
    constexpr int64_t count_max = 1'000;
    for (size_t i = 1; i < args.size(); i += 2) {
        if (i + 1 == args.size()) {
            reply_syntax_error(who.reply);
            return false;
        }
        if (equals_ignoring_case(args[i], "match")) {
            wanted.pattern = args[i + 1];
            continue;
        }
        const bool is_count = equals_ignoring_case(args[i], "count");
        if (!is_count && !equals_ignoring_case(args[i], "cursor")) {
            reply_syntax_error(who.reply);
            return false;
        }
        const auto number = protocol::parse_integer(args[i + 1]);
        if (!number || *number < (is_count ? 1 : 0)) {
            is_count ? reply_not_an_integer(who.reply) : who.reply.error("ERR invalid cursor");
            return false;
        }
        if (is_count) {
            wanted.count = static_cast<size_t>(std::min(*number, count_max));
        } else {
            wanted.cursor = static_cast<uint64_t>(*number);
        }
    }
    return true;
}

struct list_page {
    uint64_t cursor = 0;
    std::vector<lock_row> rows;
};

list_page list_core(shards::lock_service& core, uint32_t database, uint64_t cursor,
                    const list_options& wanted) {
    const auto now = shards::read_clock();
    std::vector<std::string> names;
    list_page page;
    page.cursor = core.table().scan({.database = database, .cursor = cursor, .count = wanted.count},
                                    now, [&](const shards::scanned_entry& entry) {
                                        if (entry.kind != shards::entry_kind::list &&
                                            shards::glob_match(wanted.pattern, entry.name)) {
                                            names.emplace_back(entry.name);
                                        }
                                    });
    for (const std::string& name : names) {
        page.rows.push_back(look_at(core, database, name, now));
    }
    return page;
}

/// LK.LIST [MATCH pattern] [COUNT n] [CURSOR c]: [cursor, [lock...]], as SCAN does it.
ss::future<> list(client& who, owned_request args) {
    constexpr unsigned core_shift = 32;
    list_options wanted;
    if (!read_list_options(who, args, wanted)) {
        co_return;
    }
    auto core = static_cast<ss::shard_id>(wanted.cursor >> core_shift);
    const uint64_t within = wanted.cursor & 0xFFFF'FFFFU;
    list_page page;
    uint64_t next = 0;
    if (core < ss::smp::count) {
        page = co_await who.all.locks.invoke_on(
            core, [database = who.database, within, wanted](shards::lock_service& locks) {
                return list_core(locks, database, within, wanted);
            });
        if (page.cursor != 0) {
            next = (uint64_t{core} << core_shift) | page.cursor;
        } else if (core + 1 < ss::smp::count) {
            next = uint64_t{core + 1} << core_shift;
        }
    }
    who.reply.array(2);
    who.reply.bulk(std::to_string(next));
    who.reply.array(page.rows.size());
    for (const lock_row& row : page.rows) {
        reply_row(who.reply, row);
    }
}

/// LK.TOP [n]: the locks that most clients are in line for.
ss::future<> top(client& who, owned_request args) {
    size_t most = 10;
    if (args.size() == 2) {
        const auto number = protocol::parse_integer(args[1]);
        if (!number || *number < 1) {
            reply_not_an_integer(who.reply);
            co_return;
        }
        most = static_cast<size_t>(std::min<int64_t>(*number, 1'000));
    }
    const auto rows = co_await hottest_locks(who.all, who.database, most);
    who.reply.array(rows.size());
    for (const lock_row& row : rows) {
        reply_row(who.reply, row);
    }
}

// ---- the fleet ----------------------------------------------------------------------------------

/// LK.STRIPES: for each stripe its name and a map for each master, as this core sees them.
ss::future<> stripes(client& who, owned_request) {
    const shards::fleet* const masters = who.all.locks.local().masters();
    if (masters == nullptr) {
        who.reply.array(0);
        co_return;
    }
    const auto now = shards::read_clock();
    const auto all = masters->states();
    who.reply.array(all.size());
    for (const auto& stripe : all) {
        who.reply.map(2);
        who.reply.bulk("stripe");
        who.reply.bulk(stripe.name);
        who.reply.bulk("masters");
        who.reply.array(stripe.masters.size());
        for (const auto& each : stripe.masters) {
            who.reply.map(8);
            who.reply.bulk("address");
            who.reply.bulk(each.link.address);
            who.reply.bulk("state");
            who.reply.bulk(name_of(each.standing));
            who.reply.bulk("reason");
            who.reply.bulk(each.link.connected ? each.reason : each.link.last_error);
            who.reply.bulk("quarantined");
            who.reply.integer(each.until ? whole_milliseconds(*each.until - now) : 0);
            who.reply.bulk("votes");
            who.reply.integer(static_cast<int64_t>(each.votes));
            who.reply.bulk("refusals");
            who.reply.integer(static_cast<int64_t>(each.refusals));
            who.reply.bulk("epochs");
            who.reply.integer(static_cast<int64_t>(each.epoch_bumps));
            who.reply.bulk("connected");
            who.reply.integer(each.link.connected ? 1 : 0);
        }
    }
}

constexpr uint32_t reads = flag_native | flag_readonly | flag_fast;
constexpr key_positions first{1, 1, 1};

/// LK.RELOAD: as a SIGHUP, and the answer tells what became of it.
ss::future<> reload(client& who, owned_request) {
    const auto ended = co_await reloader::ask();
    if (ended && ended->applied) {
        who.reply.simple(ended->text);
    } else {
        who.reply.error({"ERR ", ended ? std::string_view(ended->text) : "not serving yet"});
    }
}

constexpr command_spec table[] = {
    {.name = "lk.break",
     .least = 2,
     .most = 4,
     .flags = flag_native | flag_write | flag_admin,
     .keys = first,
     .on_keys = break_lock},
    {.name = "lk.fence", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = fence},
    {.name = "lk.holders",
     .least = 2,
     .most = 2,
     .flags = reads,
     .keys = first,
     .on_keys = holders},
    {.name = "lk.list",
     .least = 1,
     .most = -1,
     .flags = flag_native | flag_readonly,
     .in_time = list},
    {.name = "lk.reload",
     .least = 1,
     .most = 1,
     .flags = flag_native | flag_admin | flag_noscript | flag_no_multi,
     .in_time = reload},
    {.name = "lk.stripes",
     .least = 1,
     .most = 1,
     .flags = flag_native | flag_readonly,
     .in_time = stripes},
    {.name = "lk.top", .least = 1, .most = 2, .flags = flag_native | flag_readonly, .in_time = top},
    {.name = "lk.waiters",
     .least = 2,
     .most = 2,
     .flags = reads,
     .keys = first,
     .on_keys = waiters},
};

}  // namespace

std::span<const command_spec> native_view_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
