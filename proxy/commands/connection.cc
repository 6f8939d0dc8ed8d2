#include <algorithm>
#include <limits>
#include <optional>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/util/log.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/services.hh"

/// About the connection itself: greeting, choosing, leaving.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;

ss::logger log("access");

/// What strangers make us say, they can make us say often.
ss::logger::rate_limit& seldom() {
    static thread_local ss::logger::rate_limit limit(std::chrono::seconds(1));
    return limit;
}

void ping(client& who, const request& args) {
    if (args.size() > 2) {
        return reply_wrong_arity(who.reply, "ping");
    }
    if (who.only_listens()) {
        who.reply.array(2);
        who.reply.bulk("pong");
        who.reply.bulk(args.size() == 1 ? std::string_view{} : args[1]);
    } else if (args.size() == 1) {
        who.reply.simple("PONG");
    } else {
        who.reply.bulk(args[1]);
    }
}

void echo(client& who, const request& args) {
    who.reply.bulk(args[1]);
}

void quit(client& who, const request&) {
    who.reply.ok();
    who.closing = true;
}

void reset(client& who, const request&) {
    who.reset();
    who.reply.simple("RESET");
}

void select(client& who, const request& args) {
    const auto number = protocol::parse_integer(args[1]);
    if (!number) {
        return reply_not_an_integer(who.reply);
    }
    if (*number < std::numeric_limits<int>::min() || *number > std::numeric_limits<int>::max()) {
        return who.reply.error(
            "ERR value is out of range, value must between -2147483648 and 2147483647");
    }
    if (*number < 0 || *number >= shards::lock_table_options{}.databases) {
        return who.reply.error("ERR DB index is out of range");
    }
    who.database = static_cast<uint32_t>(*number);
    who.reply.ok();
}

bool fails_too_often(const client& who) {
    return who.all.users.local().failures.are_too_many(
        who.address(), who.all.settings.limits.failed_logins_per_address, ss::lowres_clock::now());
}

/// Counts it for the address, and tells when the answers begin to be late.
void note_failure(client& who) {
    const uint32_t most = who.all.settings.limits.failed_logins_per_address;
    const uint32_t failures =
        who.all.users.local().failures.note(who.address(), ss::lowres_clock::now());
    if (most > 0 && failures == most) {
        log.log(ss::log_level::warn, seldom(),
                "{}: {} wrong passwords within a minute, answers to further ones are late",
                who.address(), failures);
    }
    if (who.holds_turns && fails_too_often(who)) {
        who.closing = true;  // others would have to wait with it
    }
}

/// Logs in, or says why not. Who guesses too often is no client. `command` is how it was tried.
bool log_in(client& who, std::string_view name, std::string_view password,
            std::string_view command) {
    user_roll& users = who.all.users.local();
    auto user = users.authenticate(name, password);
    if (!user) {
        constexpr size_t shown = 64;
        users.note({.why = denial::reason::authentication,
                    .in_transaction = who.multi.has_value(),
                    .object = std::string(command),
                    .user = std::string(name.substr(0, shown)),
                    .client = describe_client(who)});
        if (const auto meant = users.find(name)) {
            ++meant->counted->failed_logins;
        }
        who.reply.error("WRONGPASS invalid username-password pair or user is disabled.");
        ++who.failed_logins;
        note_failure(who);
        const uint32_t most = who.all.settings.limits.failed_logins;
        if (most > 0 && who.failed_logins >= most) {
            log.log(
                ss::log_level::warn, seldom(),
                "client {} at {}: {} wrong passwords, the last for user '{}', connection closed",
                who.id, who.peer, who.failed_logins, protocol::sanitised(name, shown));
            who.closing = true;
        }
        return false;
    }
    if (!who.become(std::move(user))) {
        who.reply.error(
            {"ERR TOOMANYCONNECTIONS user '", name, "' has as many connections as it may"});
        return false;
    }
    return true;
}

void auth(client& who, const request& args) {
    if (args.size() > 3) {
        return reply_syntax_error(who.reply);
    }
    if (args.size() == 2 && !who.all.users.local().standard()->rights.needs_password()) {
        return who.reply.error(
            "ERR AUTH <password> called without any password configured for the default user. Are "
            "you sure your "
            "configuration is correct?");
    }
    const bool has_name = args.size() == 3;
    if (log_in(who, has_name ? args[1] : "default", args[has_name ? 2 : 1], "AUTH")) {
        who.reply.ok();
    }
}

bool is_good_name(std::string_view name) {
    return std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
}

void describe_server(client& who) {
    auto& reply = who.reply;
    reply.map(7);
    reply.bulk("server");
    reply.bulk("redis");
    reply.bulk("version");
    reply.bulk(who.all.settings.server.redis_version);
    reply.bulk("proto");
    reply.integer(static_cast<int64_t>(reply.spoken()));
    reply.bulk("id");
    reply.integer(static_cast<int64_t>(who.id));
    reply.bulk("mode");
    reply.bulk("standalone");
    reply.bulk("role");
    reply.bulk("master");
    reply.bulk("modules");
    reply.array(0);
}

/// HELLO [version [AUTH user password] [SETNAME name]]. Who has logged in stays so, as in Redis;
/// nothing else changes unless all of it is right.
void hello(client& who, const request& args) {
    auto spoken = who.reply.spoken();
    if (args.size() > 1) {
        const auto number = protocol::parse_integer(args[1]);
        if (!number) {
            return who.reply.error("ERR Protocol version is not an integer or out of range");
        }
        if (*number != 2 && *number != 3) {
            return who.reply.error("NOPROTO unsupported protocol version");
        }
        spoken = *number == 2 ? protocol::version::resp2 : protocol::version::resp3;
    }
    std::optional<std::string_view> name;
    for (size_t i = 2; i < args.size();) {
        if (equals_ignoring_case(args[i], "auth") && i + 2 < args.size()) {
            if (!log_in(who, args[i + 1], args[i + 2], "HELLO")) {
                return;
            }
            i += 3;
        } else if (equals_ignoring_case(args[i], "setname") && i + 1 < args.size()) {
            name = args[i + 1];
            if (!is_good_name(*name)) {
                return who.reply.error(
                    "ERR Client names cannot contain spaces, newlines or special characters.");
            }
            i += 2;
        } else {
            return who.reply.error({"ERR Syntax error in HELLO option '", args[i], "'"});
        }
    }
    if (!who.logged_in) {
        return who.reply.error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
            "HELLO AUTH <user> <pass> option can be used to authenticate the client and select the "
            "RESP protocol version at the same time");
    }
    if (name) {
        who.name = *name;
    }
    who.reply.set_version(spoken);
    describe_server(who);
}

/// From an address with too many wrong passwords; they are told so a second late. A right one is
/// answered at once, for others may be at that address too.
bool may_be_late(client& who, const request& args) {
    const bool has_password = args.size() > 2 || protocol::equals_ignoring_case(args[0], "auth");
    return has_password && fails_too_often(who);
}

template <void (*Command)(client&, const request&)>
ss::future<> answer_late(client& who, owned_request args) {
    constexpr std::chrono::seconds late{1};
    const auto views = args.views();
    const size_t mark = who.output.size();
    const uint32_t failed = who.failed_logins;
    Command(who, request{views});
    if (who.failed_logins == failed || who.holds_turns) {
        co_return;
    }
    const std::string answer(who.output.view().substr(mark));
    who.output.truncate(mark);
    try {
        co_await ss::sleep_abortable<ss::lowres_clock>(late, who.gone);
    } catch (const ss::sleep_aborted&) {
        // Nobody is there to be told.
    }
    who.output.append(answer);
}

constexpr uint16_t greeting = flag_noscript | flag_loading | flag_stale | flag_fast;

constexpr command_spec table[] = {
    {.name = "auth",
     .least = 2,
     .most = -1,
     .flags = greeting | flag_no_auth,
     .on_client = auth,
     .in_time = answer_late<auth>,
     .may_wait = may_be_late},
    {.name = "echo",
     .least = 2,
     .most = 2,
     .flags = flag_fast | flag_loading | flag_stale,
     .on_client = echo},
    {.name = "hello",
     .least = 1,
     .most = -1,
     .flags = greeting | flag_no_auth,
     .on_client = hello,
     .in_time = answer_late<hello>,
     .may_wait = may_be_late},
    {.name = "ping",
     .least = 1,
     .most = -1,
     .flags = flag_fast | flag_when_listening,
     .on_client = ping},
    {.name = "quit",
     .least = 1,
     .most = -1,
     .flags = greeting | flag_no_auth | flag_when_listening | flag_not_queued,
     .on_client = quit},
    {.name = "reset",
     .least = 1,
     .most = 1,
     .flags = greeting | flag_no_auth | flag_when_listening | flag_not_queued,
     .on_client = reset},
    {.name = "select",
     .least = 2,
     .most = 2,
     .flags = flag_loading | flag_stale | flag_fast,
     .on_client = select},
};

}  // namespace

std::span<const command_spec> connection_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
