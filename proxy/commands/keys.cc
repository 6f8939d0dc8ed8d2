#include <fmt/format.h>

#include <ranges>
#include <seastar/core/coroutine.hh>
#include <seastar/coroutine/maybe_yield.hh>

#include "protocol/text.hh"
#include "proxy/audit.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/expiry.hh"
#include "proxy/router.hh"
#include "proxy/services.hh"
#include "shards/core/glob.hh"

/// Keys of any kind: removal, existence, lifetime, and looking over all of them.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;

// ---- one or more keys
// -------------------------------------------------------------------------------------

void del(const key_call& call) {
    int64_t removed = 0;
    for (size_t i = 1; i < call.args.size(); ++i) {
        removed += call.table().remove(call.key(i), call.now, call.client) ? 1 : 0;
    }
    call.reply.integer(removed);
}

void exists(const key_call& call) {
    int64_t present = 0;
    for (size_t i = 1; i < call.args.size(); ++i) {
        present += call.table().exists(call.key(i), call.now) ? 1 : 0;
    }
    call.reply.integer(present);
}

/// DEL, UNLINK, EXISTS, TOUCH over several cores: each counts its own, in one step as seen by
/// everybody else.
ss::future<> count_over_cores(client& who, owned_request args) {
    const auto views = args.views();
    const command_spec& spec = *find_command(views[0]);
    const std::vector<std::string_view> keys(views.begin() + 1, views.end());
    std::vector<std::vector<std::string_view>> by_core(ss::smp::count);
    for (const std::string_view key : keys) {
        auto& share = by_core[who.all.locks.local().core_of(key)];
        if (share.empty()) {
            share.push_back(views[0]);
        }
        share.push_back(key);
    }
    int64_t sum = 0;
    co_await with_turns(who, cores_of(who.all, keys), [&]() -> ss::future<> {
        for (ss::shard_id core = 0; core < by_core.size(); ++core) {
            if (by_core[core].empty()) {
                continue;
            }
            core_batch batch;
            batch.items.push_back({&spec, who.database, protocol::version::resp2,
                                   owned_request(request{by_core[core]}), who.id});
            const auto replies = co_await run_on(who.all, core, std::move(batch), turn::have_it);
            // ":<number>\r\n", written by the two functions above.
            sum += protocol::parse_integer(replies[0].substr(1, replies[0].size() - 3)).value();
        }
    });
    who.reply.integer(sum);
}

// ---- lifetime
// ---------------------------------------------------------------------------------------------

void type(const key_call& call) {
    const auto kind = call.table().kind_of(call.key(1), call.now);
    if (!kind) {
        return call.reply.simple("none");
    }
    switch (*kind) {
        case shards::entry_kind::string:
            return call.reply.simple("string");
        case shards::entry_kind::hash:
            return call.reply.simple("hash");
        case shards::entry_kind::list:
            return call.reply.simple("list");
        case shards::entry_kind::holders:
            return call.reply.simple("lock");
    }
}

/// As Redis rounds: half a second up.
int64_t to_seconds(int64_t milliseconds) {
    return milliseconds < 0 ? milliseconds : (milliseconds + 500) / 1000;
}

int64_t left(const key_call& call) {
    return milliseconds_left(call.table().lifetime_of(call.key(1), call.now), call.now);
}
int64_t end(const key_call& call) {
    const int64_t remaining = left(call);
    return remaining < 0 ? remaining : wall_clock_ms() + remaining;
}

void ttl(const key_call& call) {
    call.reply.integer(to_seconds(left(call)));
}
void pttl(const key_call& call) {
    call.reply.integer(left(call));
}
void expiretime(const key_call& call) {
    call.reply.integer(to_seconds(end(call)));
}
void pexpiretime(const key_call& call) {
    call.reply.integer(end(call));
}
void persist(const key_call& call) {
    call.reply.integer(call.table().persist(call.key(1), call.now) ? 1 : 0);
}

bool read_conditions(const key_call& call, shards::expire_request& wanted) {
    for (size_t i = 3; i < call.args.size(); ++i) {
        const std::string_view word = call.args[i];
        if (equals_ignoring_case(word, "nx")) {
            wanted.if_none = true;
        } else if (equals_ignoring_case(word, "xx")) {
            wanted.if_some = true;
        } else if (equals_ignoring_case(word, "gt")) {
            wanted.if_later = true;
        } else if (equals_ignoring_case(word, "lt")) {
            wanted.if_earlier = true;
        } else {
            call.reply.error({"ERR Unsupported option ", word});
            return false;
        }
    }
    if (wanted.if_none && (wanted.if_some || wanted.if_later || wanted.if_earlier)) {
        call.reply.error("ERR NX and XX, GT or LT options at the same time are not compatible");
        return false;
    }
    if (wanted.if_later && wanted.if_earlier) {
        call.reply.error("ERR GT and LT options at the same time are not compatible");
        return false;
    }
    return true;
}

void expire_as(const key_call& call, std::string_view command, time_unit unit, time_origin origin) {
    shards::expire_request wanted{.key = call.key(1), .when = {}};
    if (!read_conditions(call, wanted)) {
        return;
    }
    const auto number = protocol::parse_integer(call.args[2]);
    if (!number) {
        return reply_not_an_integer(call.reply);
    }
    const auto when = to_instant(*number, unit, origin, call.now);
    if (!when) {
        return call.reply.error({"ERR invalid expire time in '", command, "' command"});
    }
    wanted.when = *when;
    call.reply.integer(call.table().expire(wanted, call.now) ? 1 : 0);
}
void expire(const key_call& call) {
    expire_as(call, "expire", time_unit::seconds, time_origin::now);
}
void pexpire(const key_call& call) {
    expire_as(call, "pexpire", time_unit::milliseconds, time_origin::now);
}
void expireat(const key_call& call) {
    expire_as(call, "expireat", time_unit::seconds, time_origin::epoch);
}
void pexpireat(const key_call& call) {
    expire_as(call, "pexpireat", time_unit::milliseconds, time_origin::epoch);
}

// ---- all keys
// ---------------------------------------------------------------------------------------------

ss::future<size_t> keys_everywhere(services& all, uint32_t database) {
    return all.locks.map_reduce0(
        [database](shards::lock_service& core) { return core.table().size(database); }, size_t{0},
        std::plus<size_t>());
}

/// What is about all keys has the turn of every core: it sees a transaction whole or not at all,
/// and is seen so.
ss::future<> on_every_core(client& who, std::function<ss::future<>()> work) {
    const auto every = std::views::iota(ss::shard_id{0}, ss::smp::count);
    return with_turns(who, std::vector<ss::shard_id>(every.begin(), every.end()), std::move(work));
}

ss::future<> dbsize(client& who, owned_request) {
    size_t count = 0;
    co_await on_every_core(
        who, [&]() -> ss::future<> { count = co_await keys_everywhere(who.all, who.database); });
    who.reply.integer(static_cast<int64_t>(count));
}

ss::future<> flush_databases(client& who, uint32_t first, uint32_t last) {
    co_await on_every_core(who, [&who, first, last] {
        return who.all.locks.invoke_on_all([first, last](shards::lock_service& core) {
            for (uint32_t database = first; database <= last; ++database) {
                core.table().flush(database);
            }
        });
    });
    who.reply.ok();
}

bool is_flush_option(const owned_request& args) {
    return args.size() == 1 || (args.size() == 2 && (equals_ignoring_case(args[1], "async") ||
                                                     equals_ignoring_case(args[1], "sync")));
}

void audit_flush(const client& who, const owned_request& args) {
    const auto views = args.views();
    audit(who, *find_command(views.front()), protocol::request{views});
}

ss::future<> flushdb(client& who, owned_request args) {
    if (!is_flush_option(args)) {
        reply_syntax_error(who.reply);
        co_return;
    }
    audit_flush(who, args);
    co_await flush_databases(who, who.database, who.database);
}

ss::future<> flushall(client& who, owned_request args) {
    if (!is_flush_option(args)) {
        reply_syntax_error(who.reply);
        co_return;
    }
    audit_flush(who, args);
    co_await flush_databases(who, 0, shards::lock_table_options{}.databases - 1);
}

struct scan_filter {
    std::string pattern = "*";
    std::string type{};
    size_t count = 10;
};

std::string_view type_name(shards::entry_kind kind) {
    constexpr std::string_view names[] = {"string", "hash", "list", "lock"};
    return names[static_cast<size_t>(kind)];
}

struct scan_page {
    uint64_t cursor = 0;
    size_t visited = 0;
    size_t bytes = 0;  ///< of the names
    std::vector<std::string> names;
};

/// Keys that are looked at before others get their turn: the longer the pattern, the fewer, for
/// matching a hostile one takes its length times the key's.
size_t keys_at_once(const scan_filter& filter) {
    constexpr size_t at_most = 128;
    constexpr size_t pattern_bytes = 1024;
    return std::max<size_t>(
        1, std::min(filter.count, at_most) / (1 + filter.pattern.size() * at_most / pattern_bytes));
}

scan_page scan_core(shards::lock_service& core, uint32_t database, uint64_t cursor,
                    const scan_filter& filter) {
    scan_page page;
    page.cursor = core.table().scan(
        {.database = database, .cursor = cursor, .count = keys_at_once(filter)},
        shards::read_clock(), [&](const shards::scanned_entry& entry) {
            ++page.visited;
            if ((filter.type.empty() || equals_ignoring_case(filter.type, type_name(entry.kind))) &&
                shards::glob_match(filter.pattern, entry.name)) {
                page.names.emplace_back(entry.name);
                page.bytes += entry.name.size();
            }
        });
    return page;
}

/// Enough names for one reply of SCAN; the cursor leads to the rest.
constexpr size_t scan_bytes_max = 256 * 1024;

// A cursor over all cores: the core above, the cursor within its table (below 2^32) beneath.
constexpr unsigned core_shift = 32;
constexpr size_t scan_count_max = 10'000;

bool read_scan_options(client& who, const owned_request& args, scan_filter& filter) {
    for (size_t i = 2; i < args.size(); i += 2) {
        if (i + 1 == args.size()) {
            reply_syntax_error(who.reply);
            return false;
        }
        if (equals_ignoring_case(args[i], "match")) {
            filter.pattern = args[i + 1];
        } else if (equals_ignoring_case(args[i], "type")) {
            filter.type = args[i + 1];
        } else if (equals_ignoring_case(args[i], "count")) {
            const auto count = protocol::parse_integer(args[i + 1]);
            if (!count) {
                reply_not_an_integer(who.reply);
                return false;
            }
            if (*count < 1) {
                reply_syntax_error(who.reply);
                return false;
            }
            filter.count = std::min(static_cast<size_t>(*count), scan_count_max);
        } else {
            reply_syntax_error(who.reply);
            return false;
        }
    }
    return true;
}

ss::future<> scan(client& who, owned_request args) {
    const auto cursor =
        args[1].empty() ? 0 : protocol::parse_integer(args[1]);  // as strtoul reads it
    if (!cursor || *cursor < 0) {
        who.reply.error("ERR invalid cursor");
        co_return;
    }
    scan_filter filter;
    if (!read_scan_options(who, args, filter)) {
        co_return;
    }
    // A page that one core does not fill goes on at the next.
    auto core = static_cast<ss::shard_id>(static_cast<uint64_t>(*cursor) >> core_shift);
    uint64_t within = static_cast<uint64_t>(*cursor) & 0xffff'ffffu;
    size_t visited = 0;
    size_t bytes = 0;
    std::vector<std::string> names;
    while (core < ss::smp::count && visited < filter.count && bytes < scan_bytes_max) {
        auto page = co_await who.all.locks.invoke_on(
            core, [database = who.database, within, filter](shards::lock_service& there) {
                return scan_core(there, database, within, filter);
            });
        // Of what lies there much may have expired: effort counts, not success. A core that has
        // been seen to its end was no effort.
        visited += page.cursor == 0 ? page.visited : std::max(page.visited, keys_at_once(filter));
        bytes += page.bytes;
        std::ranges::move(page.names, std::back_inserter(names));
        within = page.cursor;
        core += within == 0 ? 1 : 0;
        co_await ss::coroutine::maybe_yield();
    }
    const uint64_t next =
        core < ss::smp::count ? static_cast<uint64_t>(core) << core_shift | within : 0;
    who.reply.array(2);
    who.reply.bulk(fmt::format("{}", next));
    who.reply.array(names.size());
    for (const std::string& name : names) {
        who.reply.bulk(name);
    }
}

// KEYS answers in one piece, so it has bounds of its own: who has more keys than that wants SCAN.
constexpr size_t keys_listed_max = 100'000;
constexpr size_t keys_listed_bytes_max = 8 * 1024 * 1024;

ss::future<> keys(client& who, owned_request args) {
    scan_filter filter{.pattern = std::string(args[1]), .type = {}, .count = 1'000};
    std::vector<std::string> names;
    size_t bytes = 0;
    const auto too_many = [&] {
        return names.size() > keys_listed_max || bytes > keys_listed_bytes_max;
    };
    co_await on_every_core(who, [&]() -> ss::future<> {
        for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
            uint64_t cursor = 0;
            do {
                auto page = co_await who.all.locks.invoke_on(
                    core, [database = who.database, cursor, filter](shards::lock_service& there) {
                        return scan_core(there, database, cursor, filter);
                    });
                cursor = page.cursor;
                bytes += page.bytes;
                std::ranges::move(page.names, std::back_inserter(names));
                co_await ss::coroutine::maybe_yield();
            } while (cursor != 0 && !too_many());
        }
    });
    if (too_many()) {
        who.reply.error("ERR too many keys match; use SCAN");
        co_return;
    }
    // A key may be seen twice while the table grows; KEYS tells each once.
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    who.reply.array(names.size());
    for (const std::string& name : names) {
        who.reply.bulk(name);
    }
}

constexpr uint16_t reads = flag_readonly | flag_fast;
constexpr uint16_t writes = flag_write | flag_fast;
constexpr key_positions first{1, 1, 1};
constexpr key_positions every{1, -1, 1};

constexpr command_spec table[] = {
    {.name = "dbsize", .least = 1, .most = 1, .flags = reads | flag_about_data, .in_time = dbsize},
    {.name = "del",
     .least = 2,
     .most = -1,
     .flags = flag_write | flag_adds_up,
     .keys = every,
     .on_keys = del,
     .in_time = count_over_cores},
    {.name = "exists",
     .least = 2,
     .most = -1,
     .flags = reads | flag_adds_up,
     .keys = every,
     .on_keys = exists,
     .in_time = count_over_cores},
    {.name = "expire", .least = 3, .most = -1, .flags = writes, .keys = first, .on_keys = expire},
    {.name = "expireat",
     .least = 3,
     .most = -1,
     .flags = writes,
     .keys = first,
     .on_keys = expireat},
    {.name = "expiretime",
     .least = 2,
     .most = 2,
     .flags = reads,
     .keys = first,
     .on_keys = expiretime},
    {.name = "flushall",
     .least = 1,
     .most = -1,
     .flags = flag_write | flag_about_data,
     .in_time = flushall},
    {.name = "flushdb",
     .least = 1,
     .most = -1,
     .flags = flag_write | flag_about_data,
     .in_time = flushdb},
    {.name = "keys",
     .least = 2,
     .most = 2,
     .flags = flag_readonly | flag_about_data,
     .in_time = keys},
    {.name = "persist", .least = 2, .most = 2, .flags = writes, .keys = first, .on_keys = persist},
    {.name = "pexpire", .least = 3, .most = -1, .flags = writes, .keys = first, .on_keys = pexpire},
    {.name = "pexpireat",
     .least = 3,
     .most = -1,
     .flags = writes,
     .keys = first,
     .on_keys = pexpireat},
    {.name = "pexpiretime",
     .least = 2,
     .most = 2,
     .flags = reads,
     .keys = first,
     .on_keys = pexpiretime},
    {.name = "pttl", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = pttl},
    {.name = "scan",
     .least = 2,
     .most = -1,
     .flags = flag_readonly | flag_about_data,
     .in_time = scan},
    {.name = "touch",
     .least = 2,
     .most = -1,
     .flags = reads | flag_adds_up,
     .keys = every,
     .on_keys = exists,
     .in_time = count_over_cores},
    {.name = "ttl", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = ttl},
    {.name = "type", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = type},
    {.name = "unlink",
     .least = 2,
     .most = -1,
     .flags = writes | flag_adds_up,
     .keys = every,
     .on_keys = del,
     .in_time = count_over_cores},
};

}  // namespace

std::span<const command_spec> key_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
