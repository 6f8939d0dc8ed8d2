#include <algorithm>
#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/lint_report.hh"
#include "proxy/services.hh"
#include "proxy/slow_report.hh"

/// What went wrong, or is about to: long waits and holds, and dangerous habits.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using shards::slow_event;

int64_t microseconds(std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

void reply_face(protocol::reply_writer& reply, std::string_view name, const client_face& who) {
    reply.bulk(name);
    reply.bulk(!who.name.empty() ? who.name : who.address);
}

/// A map for each, the newest first.
void reply_native(client& who, const std::vector<slow_row>& rows) {
    who.reply.array(rows.size());
    for (const slow_row& row : rows) {
        const slow_event& event = row.event;
        const bool is_wait = event.what == slow_event::kind::wait;
        auto& reply = who.reply;
        reply.map(13);
        reply.bulk("id");
        reply.integer(static_cast<int64_t>(row.id()));
        reply.bulk("time");
        reply.integer(row.unix_ms);
        reply.bulk("kind");
        reply.bulk(is_wait ? "wait" : "hold");
        reply.bulk("us");
        reply.integer(microseconds(event.took));
        reply.bulk("database");
        reply.integer(event.database);
        reply.bulk("key");
        reply.bulk(event.key);
        reply.bulk("owner");
        reply.bulk(event.owner);
        reply_face(reply, "client", row.client);
        reply.bulk("end");
        reply.bulk(event.end);
        reply.bulk("in-line");
        reply.integer(static_cast<int64_t>(event.in_line));
        reply.bulk(is_wait ? "blocked-by" : "blocked");
        reply.bulk(event.other);
        reply_face(reply, is_wait ? "blocked-by-client" : "blocked-client", row.other);
        reply.bulk(is_wait ? "blocked-by-us" : "blocked-us");
        reply.integer(microseconds(event.other_took));
    }
}

/// As Redis' SLOWLOG GET has it: id, time, microseconds, arguments, address, name.
void reply_as_redis(client& who, const std::vector<slow_row>& rows) {
    who.reply.array(rows.size());
    for (const slow_row& row : rows) {
        const slow_event& event = row.event;
        const bool is_wait = event.what == slow_event::kind::wait;
        auto& reply = who.reply;
        reply.array(6);
        reply.integer(static_cast<int64_t>(row.id()));
        reply.integer(row.unix_ms / 1000);
        reply.integer(microseconds(event.took));
        reply.array(event.other.empty() ? 4 : 6);
        reply.bulk(is_wait ? "WAIT" : "HOLD");
        reply.bulk(event.key);
        reply.bulk(event.owner);
        reply.bulk(event.end);
        if (!event.other.empty()) {
            reply.bulk(is_wait ? "BLOCKED-BY" : "BLOCKED");
            reply.bulk(event.other);
        }
        reply.bulk(row.client.address);
        reply.bulk(row.client.name);
    }
}

ss::future<> slow_log(client& who, owned_request args,
                      void (*show)(client&, const std::vector<slow_row>&), std::string_view name) {
    if (equals_ignoring_case(args[1], "get") && args.size() <= 3) {
        int64_t most = 10;
        if (args.size() == 3) {
            const auto number = protocol::parse_integer(args[2]);
            if (!number || *number < -1) {
                who.reply.error("ERR count should be greater than or equal to -1");
                co_return;
            }
            most = *number;
        }
        show(who, co_await slow_events(who.all, most < 0 ? SIZE_MAX : static_cast<size_t>(most)));
    } else if (equals_ignoring_case(args[1], "len") && args.size() == 2) {
        who.reply.integer(static_cast<int64_t>(co_await count_slow_events(who.all)));
    } else if (equals_ignoring_case(args[1], "reset") && args.size() == 2) {
        co_await forget_slow_events(who.all);
        who.reply.ok();
    } else if (equals_ignoring_case(args[1], "help") && args.size() == 2) {
        reply_help(who.reply, name,
                   {"GET [<count>]",
                    "    Long waits for locks and long holds (slow.wait, slow.hold), the newest "
                    "first.",
                    "    10 of them, or as many as asked for; -1 means all.", "LEN",
                    "    How many there are.", "RESET", "    Forgets them."});
    } else {
        reply_unknown_subcommand(who.reply, name, args[1]);
    }
}

ss::future<> slowlog(client& who, owned_request args) {
    return slow_log(who, std::move(args), reply_as_redis, "SLOWLOG");
}

ss::future<> native_slowlog(client& who, owned_request args) {
    return slow_log(who, std::move(args), reply_native, "LK.SLOWLOG");
}

/// LK.LINT [RESET]: a map for each habit of some clients with some keys, the most frequent first.
ss::future<> lint_command(client& who, owned_request args) {
    if (args.size() == 2 && equals_ignoring_case(args[1], "reset")) {
        co_await forget_lint(who.all);
        who.reply.ok();
        co_return;
    }
    if (args.size() == 2) {
        reply_syntax_error(who.reply);
        co_return;
    }
    const auto rows = co_await lint(who.all);
    auto& reply = who.reply;
    reply.array(rows.size());
    for (const lint_row& row : rows) {
        const habit_words& words = words_of(row.what);
        reply.map(9);
        reply.bulk("habit");
        reply.bulk(words.name);
        reply.bulk("what");
        reply.bulk(words.what);
        reply.bulk("database");
        reply.integer(row.database);
        reply.bulk("keys");
        reply.bulk(row.pattern);
        reply.bulk("example");
        reply.bulk(row.example);
        reply.bulk("client");
        reply.bulk(row.client);
        reply.bulk("count");
        reply.integer(static_cast<int64_t>(row.count));
        reply.bulk("last");
        reply.integer(row.last_ms_ago);
        reply.bulk("advice");
        reply.bulk(words.advice);
    }
}

constexpr uint32_t for_admins = flag_admin | flag_noscript | flag_loading | flag_stale;

constexpr command_spec table[] = {
    {.name = "lk.lint",
     .least = 1,
     .most = 2,
     .flags = flag_native | for_admins,
     .in_time = lint_command},
    {.name = "lk.slowlog",
     .least = 2,
     .most = -1,
     .flags = flag_native | for_admins,
     .in_time = native_slowlog},
    {.name = "slowlog", .least = 2, .most = -1, .flags = for_admins, .in_time = slowlog},
};

}  // namespace

std::span<const command_spec> observing_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
