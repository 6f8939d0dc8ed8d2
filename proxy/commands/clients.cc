#include <fmt/format.h>

#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/forwarder.hh"
#include "proxy/services.hh"

/// CLIENT: what connections are there, what they are called, and how to end them.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using std::chrono::duration_cast;
using std::chrono::seconds;

bool is_good_name(std::string_view name) {
    return std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
}

int64_t redirects_to(const client& who) {
    return who.tracked.on ? static_cast<int64_t>(who.tracked.redirect) : -1;
}

/// Which clients a CLIENT LIST or KILL is about; copied to every core.
struct selection {
    std::vector<uint64_t> ids{};
    std::optional<std::string> peer{};
    std::optional<std::string> local{};
    std::optional<std::string> user{};
    std::optional<std::string> type{};
    std::optional<int64_t> older_than_seconds{};
    std::optional<uint64_t> except{};

    bool has(const client& who) const {
        return !who.closing && (ids.empty() || std::ranges::find(ids, who.id) != ids.end()) &&
               (!peer || *peer == who.peer) && (!local || *local == who.local) &&
               (!user || *user == who.user->rights.name()) &&
               (!type ||
                equals_ignoring_case(*type, who.subscriptions() > 0 ? "pubsub" : "normal")) &&
               (!older_than_seconds ||
                duration_cast<seconds>(ss::lowres_clock::now() - who.connected_at).count() >=
                    *older_than_seconds) &&
               (!except || *except != who.id);
    }
};

bool is_client_type(std::string_view text) {
    for (const std::string_view known : {"normal", "master", "replica", "slave", "pubsub"}) {
        if (equals_ignoring_case(known, text)) {
            return true;
        }
    }
    return false;
}

ss::future<> list(client& who, const owned_request& args) {
    selection wanted;
    if (args.size() == 4 && equals_ignoring_case(args[2], "type")) {
        if (!is_client_type(args[3])) {
            who.reply.error({"ERR Unknown client type '", args[3], "'"});
            co_return;
        }
        wanted.type = std::string(args[3]);
    } else if (args.size() > 3 && equals_ignoring_case(args[2], "id")) {
        for (size_t i = 3; i < args.size(); ++i) {
            const auto id = protocol::parse_integer(args[i]);
            if (!id || *id < 1) {
                who.reply.error("ERR Invalid client ID");
                co_return;
            }
            wanted.ids.push_back(static_cast<uint64_t>(*id));
        }
    } else if (args.size() != 2) {
        reply_syntax_error(who.reply);
        co_return;
    }
    const auto lines = co_await who.all.everyone.map_reduce0(
        [wanted](clients& core) {
            std::map<uint64_t, std::string> some;
            core.for_each([&](client& one) {
                if (wanted.has(one)) {
                    some.emplace(one.id, describe_client(one) + "\n");
                }
            });
            return some;
        },
        std::map<uint64_t, std::string>{},
        [](std::map<uint64_t, std::string> sum, std::map<uint64_t, std::string> more) {
            sum.merge(more);
            return sum;
        });
    std::string text;
    for (const auto& [id, line] : lines) {
        text += line;
    }
    who.reply.verbatim("txt", text);
}

/// CLIENT KILL's filters; false if they make no sense, and then that has been said.
bool read_filters(client& who, const owned_request& args, selection& wanted) {
    wanted.except = who.id;
    for (size_t i = 2; i < args.size(); i += 2) {
        if (i + 1 == args.size()) {
            reply_syntax_error(who.reply);
            return false;
        }
        const std::string_view word = args[i];
        const std::string_view value = args[i + 1];
        if (equals_ignoring_case(word, "id")) {
            const auto id = protocol::parse_integer(value);
            if (!id || *id < 1) {
                who.reply.error("ERR client-id should be greater than 0");
                return false;
            }
            wanted.ids.push_back(static_cast<uint64_t>(*id));
        } else if (equals_ignoring_case(word, "addr")) {
            wanted.peer = std::string(value);
        } else if (equals_ignoring_case(word, "laddr")) {
            wanted.local = std::string(value);
        } else if (equals_ignoring_case(word, "user")) {
            if (!who.all.users.local().find(value)) {
                who.reply.error({"ERR No such user '", value, "'"});
                return false;
            }
            wanted.user = std::string(value);
        } else if (equals_ignoring_case(word, "type")) {
            if (!is_client_type(value)) {
                who.reply.error({"ERR Unknown client type '", value, "'"});
                return false;
            }
            wanted.type = std::string(value);
        } else if (equals_ignoring_case(word, "maxage")) {
            wanted.older_than_seconds = protocol::parse_integer(value);
            if (!wanted.older_than_seconds) {
                reply_not_an_integer(who.reply);
                return false;
            }
        } else if (equals_ignoring_case(word, "skipme") &&
                   (equals_ignoring_case(value, "yes") || equals_ignoring_case(value, "no"))) {
            wanted.except =
                equals_ignoring_case(value, "yes") ? std::optional(who.id) : std::nullopt;
        } else {
            reply_syntax_error(who.reply);
            return false;
        }
    }
    return true;
}

/// Ends the chosen ones; the caller itself gets its reply first.
ss::future<size_t> kill_everywhere(client& who, selection wanted) {
    return who.all.everyone.map_reduce0(
        [wanted, own = who.id](clients& core) {
            size_t killed = 0;
            core.for_each([&](client& one) {
                if (!wanted.has(one)) {
                    return;
                }
                ++killed;
                if (one.id == own) {
                    one.closing = true;
                } else {
                    one.cut();
                }
            });
            return killed;
        },
        size_t{0}, std::plus<size_t>());
}

ss::future<> kill(client& who, const owned_request& args) {
    if (args.size() == 3) {
        selection wanted;
        wanted.peer = std::string(args[2]);
        if (co_await kill_everywhere(who, wanted) == 0) {
            who.reply.error("ERR No such client");
        } else {
            who.reply.ok();
        }
        co_return;
    }
    selection wanted;
    if (args.size() < 3 || !read_filters(who, args, wanted)) {
        if (args.size() < 3) {
            reply_wrong_arity(who.reply, "client|kill");
        }
        co_return;
    }
    const size_t killed = co_await kill_everywhere(who, wanted);
    who.reply.integer(static_cast<int64_t>(killed));
}

ss::future<> unblock(client& who, const owned_request& args) {
    bool with_error = false;
    if (args.size() == 4 && equals_ignoring_case(args[3], "error")) {
        with_error = true;
    } else if (args.size() != 3 &&
               !(args.size() == 4 && equals_ignoring_case(args[3], "timeout"))) {
        who.reply.error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        co_return;
    }
    const auto id = protocol::parse_integer(args[2]);
    if (!id) {
        reply_not_an_integer(who.reply);
        co_return;
    }
    if (*id < 1) {
        who.reply.integer(0);
        co_return;
    }
    const auto wanted = static_cast<uint64_t>(*id);
    // From the client's own core, so that it comes to the others after the request to wait.
    const bool is_blocked = co_await who.all.everyone.invoke_on(
        core_of_client(wanted), [wanted, with_error](clients& core) {
            client* one = core.find(wanted);
            if (!one || !one->blocked) {
                return ss::make_ready_future<bool>(false);
            }
            one->unblocked_with_error = with_error;
            one->was_unblocked = true;
            if (one->at_homes) {
                one->at_homes->say_that_there_is_more();  // it may wait there
            }
            return one->all.locks
                .invoke_on_all([wanted](shards::lock_service& locks) { locks.cancel_wait(wanted); })
                .then([] { return true; });
        });
    who.reply.integer(is_blocked ? 1 : 0);
}

void set_info(client& who, const owned_request& args) {
    const std::string_view attribute = args[2];
    const std::string_view value = args[3];
    if (!is_good_name(value)) {
        return who.reply.error({"ERR ", protocol::to_lower(attribute),
                                " cannot contain spaces, newlines or special characters."});
    }
    if (equals_ignoring_case(attribute, "lib-name")) {
        who.library_name = value;
    } else if (equals_ignoring_case(attribute, "lib-ver")) {
        who.library_version = value;
    } else {
        return who.reply.error({"ERR Unrecognized option '", attribute, "'"});
    }
    who.reply.ok();
}

void set_name(client& who, std::string_view name) {
    if (!is_good_name(name)) {
        return who.reply.error(
            "ERR Client names cannot contain spaces, newlines or special characters.");
    }
    who.name = name;
    who.reply.ok();
}

void set_replies(client& who, std::string_view mode) {
    if (equals_ignoring_case(mode, "on")) {
        who.replies = reply_mode::on;
        who.reply.ok();
    } else if (equals_ignoring_case(mode, "off")) {
        who.replies = reply_mode::off;
    } else if (equals_ignoring_case(mode, "skip")) {
        who.replies = who.replies == reply_mode::off ? reply_mode::off : reply_mode::skip_next;
    } else {
        reply_syntax_error(who.reply);
    }
}

void set_flag(client& who, bool& flag, std::string_view value) {
    if (equals_ignoring_case(value, "on")) {
        flag = true;
    } else if (equals_ignoring_case(value, "off")) {
        flag = false;
    } else {
        return reply_syntax_error(who.reply);
    }
    who.reply.ok();
}

void help(client& who) {
    reply_help(who.reply, "CLIENT",
               {"CACHING (YES|NO)",
                "    Accepted; nothing is tracked.",  //
                "CAPA <capability> ...",
                "    Accepted.",  //
                "GETNAME | SETNAME <name>",
                "    This connection's name.",
                "GETREDIR",
                "    The client that invalidations would be sent to.",
                "ID",
                "    This connection's number.",
                "INFO",
                "    This connection's line of LIST.",
                "KILL <address> | KILL <filter> <value> ...",
                "    End connections. Filters: ADDR, LADDR, ID, TYPE, USER, MAXAGE, SKIPME.",
                "LIST [TYPE <type> | ID <id> ...]",
                "    Connections of all cores.",
                "NO-EVICT (ON|OFF) | NO-TOUCH (ON|OFF)",
                "    Accepted; nothing is ever evicted.",
                "REPLY (ON|OFF|SKIP)",
                "    Whether commands are answered.",
                "SETINFO (LIB-NAME|LIB-VER) <value>",
                "    What the client's library is.",
                "TRACKING (ON|OFF) [options]",
                "    Accepted; nothing is ever invalidated.",
                "TRACKINGINFO",
                "    What TRACKING has chosen.",
                "UNBLOCK <id> [TIMEOUT|ERROR]",
                "    End the wait of a blocked client."});
}

ss::future<> client_command(client& who, owned_request args) {
    const std::string_view verb = args[1];
    const size_t size = args.size();
    if (who.tracked.caching_at + 1 == who.commands_executed) {
        who.tracked.caching_at = who.commands_executed;
    }
    const auto is = [&](std::string_view name, size_t least, size_t most) {
        return equals_ignoring_case(verb, name) && size >= least && size <= most;
    };
    constexpr size_t any = SIZE_MAX;
    if (is("id", 2, 2)) {
        who.reply.integer(static_cast<int64_t>(who.id));
    } else if (is("setname", 3, 3)) {
        set_name(who, args[2]);
    } else if (is("getname", 2, 2)) {
        who.name.empty() ? who.reply.null() : who.reply.bulk(who.name);
    } else if (is("setinfo", 4, 4)) {
        set_info(who, args);
    } else if (is("info", 2, 2)) {
        who.reply.verbatim("txt", describe_client(who) + "\n");
    } else if (is("list", 2, any)) {
        co_await list(who, args);
    } else if (is("kill", 3, any)) {
        co_await kill(who, args);
    } else if (is("unblock", 3, 4)) {
        co_await unblock(who, args);
    } else if (is("reply", 3, 3)) {
        set_replies(who, args[2]);
    } else if (is("no-evict", 3, 3)) {
        set_flag(who, who.no_evict, args[2]);
    } else if (is("no-touch", 3, 3)) {
        set_flag(who, who.no_touch, args[2]);
    } else if (is("tracking", 3, any)) {
        co_await client_tracking(who, args);
    } else if (is("caching", 3, 3)) {
        client_caching(who, args);
    } else if (is("trackinginfo", 2, 2)) {
        client_trackinginfo(who);
    } else if (is("help", 2, 2)) {
        help(who);
    } else if (is("capa", 3, any)) {
        who.reply.ok();
    } else if (is("getredir", 2, 2)) {
        client_getredir(who);
    } else {
        for (const std::string_view known :
             {"id", "setname", "getname", "setinfo", "info", "list", "kill", "unblock", "reply",
              "no-evict", "no-touch", "tracking", "caching", "trackinginfo", "help", "capa",
              "getredir"}) {
            if (equals_ignoring_case(verb, known)) {
                reply_wrong_arity(who.reply, fmt::format("client|{}", known));
                co_return;
            }
        }
        reply_unknown_subcommand(who.reply, "CLIENT", verb);
    }
}

constexpr command_spec table[] = {
    {.name = "client",
     .least = 2,
     .most = -1,
     .flags = flag_admin | flag_noscript | flag_loading | flag_stale,
     .in_time = client_command},
};

}  // namespace

/// In Redis' fields and order.
std::string describe_client(const client& who) {
    const auto now = ss::lowres_clock::now();
    const size_t queued = who.multi ? who.multi->bytes : 0;
    std::string flags;
    flags += who.subscriptions() > 0 ? "P" : "";
    flags += who.multi ? "x" : "";
    flags += who.blocked ? "b" : "";
    flags += who.no_evict ? "e" : "";
    flags += who.no_touch ? "T" : "";
    flags += who.tracked.on ? "t" : "";
    flags += who.tracked.bcast ? "B" : "";
    return fmt::format(
        "id={} addr={} laddr={} fd=-1 name={} age={} idle={} flags={} db={} sub={} psub={} ssub={} "
        "multi={} qbuf={} "
        "qbuf-free=0 argv-mem=0 multi-mem={} rbs=0 rbp=0 obl={} oll={} omem={} tot-mem={} events=r "
        "cmd={} user={} "
        "redir={} resp={} lib-name={} lib-ver={}",
        who.id, who.peer, who.local, who.name,
        duration_cast<seconds>(now - who.connected_at).count(),
        duration_cast<seconds>(now - who.last_heard).count(), flags.empty() ? "N" : flags,
        who.database, who.channels[0].size(), who.channels[1].size(), who.channels[2].size(),
        who.multi ? static_cast<int64_t>(who.multi->commands.size()) : -1, who.unexecuted, queued,
        who.output.size(), who.being_written > 0 ? 1 : 0, who.being_written,
        who.unexecuted + queued + who.output.size() + who.being_written, who.last_command,
        who.user->rights.name(), redirects_to(who), static_cast<int>(who.reply.spoken()),
        who.library_name, who.library_version);
}

std::span<const command_spec> client_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
