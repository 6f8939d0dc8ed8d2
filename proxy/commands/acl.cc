#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <system_error>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/permission.hh"
#include "proxy/services.hh"

/// ACL: who the users are and what they may do. They are those of the configuration file; what
/// would change them here is refused.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;

void list(client& who) {
    const auto& all = who.all.users.local().all();
    who.reply.array(all.size());
    for (const auto& [name, one] : all) {
        who.reply.bulk(one->rights.describe());
    }
}

void list_names(client& who) {
    const auto& all = who.all.users.local().all();
    who.reply.array(all.size());
    for (const auto& [name, one] : all) {
        who.reply.bulk(name);
    }
}

void tell_rules(protocol::reply_writer& reply, const access::selector& rights) {
    reply.bulk("commands");
    reply.bulk(rights.command_rules());
    reply.bulk("keys");
    reply.bulk(rights.key_rules());
    reply.bulk("channels");
    reply.bulk(rights.channel_rules());
}

void get_user(client& who, std::string_view name) {
    const auto one = who.all.users.local().find(name);
    if (!one) {
        return who.reply.null();
    }
    const access::user& rights = one->rights;
    auto& reply = who.reply;
    reply.map(6);
    reply.bulk("flags");
    reply.set(rights.needs_password() ? 1 : 2);
    reply.bulk(rights.is_enabled() ? "on" : "off");
    if (!rights.needs_password()) {
        reply.bulk("nopass");
    }
    reply.bulk("passwords");
    const auto digests = rights.passwords();
    reply.array(digests.size());
    for (const std::string& digest : digests) {
        reply.bulk(digest);
    }
    const auto selectors = rights.selectors();
    tell_rules(reply, selectors.front());
    reply.bulk("selectors");
    reply.array(selectors.size() - 1);
    for (const access::selector& more : selectors.subspan(1)) {
        reply.map(3);
        tell_rules(reply, more);
    }
}

void list_categories(client& who) {
    const auto all = access::categories();
    who.reply.array(all.size());
    for (const access::named_category& one : all) {
        who.reply.bulk(one.name);
    }
}

void list_category(client& who, std::string_view name) {
    const uint32_t bit = access::find_category(name);
    if (bit == 0) {
        return who.reply.error({"ERR Unknown category '", name, "'"});
    }
    std::vector<std::string_view> names;
    for (const access::catalogued& one : command_catalogue().all()) {
        if (one.categories & bit) {
            names.push_back(one.name);
        }
    }
    who.reply.array(names.size());
    for (const std::string_view one : names) {
        who.reply.bulk(one);
    }
}

/// A password for somebody to put into a file.
void draw_password(client& who, const owned_request& args) {
    constexpr int64_t bits_max = 4096;
    int64_t bits = 256;
    if (args.size() == 3) {
        const auto wanted = protocol::parse_integer(args[2]);
        if (!wanted) {
            return reply_not_an_integer(who.reply);
        }
        if (*wanted < 1 || *wanted > bits_max) {
            return who.reply.error(
                "ERR ACL GENPASS argument must be the number of bits for the output password, a "
                "positive number up to 4096");
        }
        bits = *wanted;
    }
    const auto digits = static_cast<size_t>((bits + 3) / 4);
    std::array<uint8_t, bits_max / 8> bytes{};
    for (size_t have = 0; have < bytes.size();) {
        const ssize_t drawn = getrandom(bytes.data() + have, bytes.size() - have, 0);
        if (drawn < 0) {
            throw std::system_error(errno, std::generic_category(), "getrandom");
        }
        have += static_cast<size_t>(drawn);
    }
    who.reply.bulk(fmt::format("{:02x}", fmt::join(bytes, "")).substr(0, digits));
}

void dry_run(client& who, const owned_request& args) {
    const auto user = who.all.users.local().find(args[2]);
    if (!user) {
        return who.reply.error({"ERR User '", args[2], "' not found"});
    }
    const auto views = args.views();
    const protocol::request inner{std::span(views).subspan(3)};
    const command_spec* const spec = find_command(inner.name());
    if (!spec || !number_of(*spec, inner)) {
        return who.reply.error({"ERR Command '", inner.name(), "' not found"});
    }
    if (!takes(*spec, inner.size())) {
        return reply_wrong_arity(who.reply, spec->name);
    }
    const auto refused = find_forbidden(user->rights, who, spec, inner);
    if (!refused) {
        return who.reply.ok();
    }
    const bool is_command = refused->why == denial::reason::command;
    who.reply.bulk(fmt::format("This user has no permissions to {} the '{}' {}",
                               is_command ? "run" : "access", refused->object,
                               is_command                            ? "command"
                               : refused->why == denial::reason::key ? "key"
                                                                     : "channel"));
}

std::string_view show(denial::reason why) {
    switch (why) {
        case denial::reason::authentication:
            return "auth";
        case denial::reason::command:
            return "command";
        case denial::reason::key:
            return "key";
        case denial::reason::channel:
            return "channel";
    }
    return "";
}

void write(protocol::reply_writer& reply, const denial& one) {
    reply.map(7);
    reply.bulk("count");
    reply.integer(static_cast<int64_t>(one.count));
    reply.bulk("reason");
    reply.bulk(show(one.why));
    reply.bulk("context");
    reply.bulk(one.in_transaction ? "multi" : "toplevel");
    reply.bulk("object");
    reply.bulk(one.object);
    reply.bulk("username");
    reply.bulk(one.user);
    reply.bulk("age-seconds");
    reply.number(std::chrono::duration<double>(ss::lowres_clock::now() - one.at).count());
    reply.bulk("client-info");
    reply.bulk(one.client);
}

/// The latest first, of all cores.
ss::future<> tell_denials(client& who, size_t most) {
    auto all = co_await who.all.users.map_reduce0(
        [](const user_roll& core) {
            return std::vector<denial>(core.denials().begin(), core.denials().end());
        },
        std::vector<denial>{},
        [](std::vector<denial> sum, std::vector<denial> more) {
            std::ranges::move(more, std::back_inserter(sum));
            return sum;
        });
    std::ranges::sort(all, std::greater(), &denial::at);
    all.resize(std::min(all.size(), most));
    who.reply.array(all.size());
    for (const denial& one : all) {
        write(who.reply, one);
    }
}

ss::future<> denials(client& who, const owned_request& args) {
    constexpr int64_t usual = 10;
    int64_t most = usual;
    if (args.size() == 3 && equals_ignoring_case(args[2], "reset")) {
        co_await who.all.users.invoke_on_all(&user_roll::forget_denials);
        who.reply.ok();
        co_return;
    }
    if (args.size() == 3) {
        const auto wanted = protocol::parse_integer(args[2]);
        if (!wanted) {
            reply_not_an_integer(who.reply);
            co_return;
        }
        most = std::max<int64_t>(*wanted, 0);
    }
    co_await tell_denials(who, static_cast<size_t>(most));
}

void help(client& who) {
    reply_help(who.reply, "ACL",
               {"CAT [<category>]", "    The categories, or the commands of one.",
                "DRYRUN <username> <command> [<arg> ...]",
                "    Whether the user may run the command; does not run it.", "GENPASS [<bits>]",
                "    A random password.", "GETUSER <username>", "    What a user may do.", "LIST",
                "    All users as lines of rules.", "LOG [<count> | RESET]",
                "    Who was refused lately, and why.", "USERS", "    The names of all users.",
                "WHOAMI", "    This connection's user."});
}

ss::future<> acl(client& who, owned_request args) {
    const std::string_view verb = args[1];
    const size_t size = args.size();
    const auto is = [&](std::string_view name, size_t least, size_t most) {
        return equals_ignoring_case(verb, name) && size >= least && size <= most;
    };
    if (is("whoami", 2, 2)) {
        who.reply.bulk(who.user->rights.name());
    } else if (is("list", 2, 2)) {
        list(who);
    } else if (is("users", 2, 2)) {
        list_names(who);
    } else if (is("getuser", 3, 3)) {
        get_user(who, args[2]);
    } else if (is("cat", 2, 2)) {
        list_categories(who);
    } else if (is("cat", 3, 3)) {
        list_category(who, args[2]);
    } else if (is("genpass", 2, 3)) {
        draw_password(who, args);
    } else if (is("dryrun", 4, SIZE_MAX)) {
        dry_run(who, args);
    } else if (is("log", 2, 3)) {
        co_await denials(who, args);
    } else if (is("help", 2, 2)) {
        help(who);
    } else {
        for (const std::string_view known :
             {"whoami", "list", "users", "getuser", "cat", "genpass", "dryrun", "log", "help"}) {
            if (equals_ignoring_case(verb, known)) {
                reply_wrong_arity(who.reply, fmt::format("acl|{}", known));
                co_return;
            }
        }
        for (const std::string_view known : {"SETUSER", "DELUSER", "LOAD", "SAVE"}) {
            if (equals_ignoring_case(verb, known)) {
                who.reply.error({"ERR ACL ", known,
                                 " is not supported: users are those of the configuration file; "
                                 "change it there"});
                co_return;
            }
        }
        reply_unknown_subcommand(who.reply, "ACL", verb);
    }
}

constexpr command_spec table[] = {
    {.name = "acl",
     .least = 2,
     .most = -1,
     .flags = flag_admin | flag_noscript | flag_loading | flag_stale,
     .in_time = acl},
};

}  // namespace

std::span<const command_spec> acl_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
