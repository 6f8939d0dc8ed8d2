#include <fmt/format.h>

#include <bit>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/permission.hh"
#include "shards/core/glob.hh"

/// COMMAND: what the command table says, as Redis tells it.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;

struct flag_name {
    uint32_t flag;
    std::string_view name;
};
constexpr flag_name flag_names[] = {
    {flag_write, "write"},       {flag_readonly, "readonly"}, {flag_grows, "denyoom"},
    {flag_admin, "admin"},       {flag_pubsub, "pubsub"},     {flag_noscript, "noscript"},
    {flag_blocking, "blocking"}, {flag_loading, "loading"},   {flag_stale, "stale"},
    {flag_fast, "fast"},         {flag_no_auth, "no_auth"},   {flag_movable_keys, "movablekeys"},
};

void tell_categories(protocol::reply_writer& reply, const command_spec& spec) {
    const auto& commands = command_catalogue();
    const uint32_t about = commands[commands.find(spec.name).value()].categories;
    reply.set(static_cast<size_t>(std::popcount(about)));
    for (const access::named_category& one : access::categories()) {
        if (about & one.bit) {
            reply.simple(fmt::format("@{}", one.name));
        }
    }
}

void describe_command(protocol::reply_writer& reply, const command_spec& spec) {
    reply.array(10);
    reply.bulk(spec.name);
    reply.integer(spec.most == spec.least ? spec.least : -spec.least);
    size_t flags = 0;
    for (const auto& known : flag_names) {
        flags += spec.flags & known.flag ? 1 : 0;
    }
    reply.set(flags);
    for (const auto& known : flag_names) {
        if (spec.flags & known.flag) {
            reply.simple(known.name);
        }
    }
    reply.integer(spec.keys.first);
    reply.integer(spec.keys.last);
    reply.integer(spec.keys.step);
    tell_categories(reply, spec);
    reply.array(0);  // tips
    reply.array(0);  // key specifications
    reply.array(0);  // subcommands
}

void command_info(client& who, const request& args) {
    if (args.size() == 2) {
        who.reply.array(all_commands().size());
        for (const command_spec* spec : all_commands()) {
            describe_command(who.reply, *spec);
        }
        return;
    }
    who.reply.array(args.size() - 2);
    for (size_t i = 2; i < args.size(); ++i) {
        const command_spec* spec = find_command(args[i]);
        spec ? describe_command(who.reply, *spec) : who.reply.null();
    }
}

/// Redis' own manual tells what the commands mean; here is only which there are.
void command_docs(client& who, const request& args) {
    std::vector<const command_spec*> wanted;
    for (size_t i = 2; i < args.size(); ++i) {
        if (const command_spec* spec = find_command(args[i])) {
            wanted.push_back(spec);
        }
    }
    if (args.size() == 2) {
        wanted.assign(all_commands().begin(), all_commands().end());
    }
    who.reply.map(wanted.size());
    for (const command_spec* spec : wanted) {
        who.reply.bulk(spec->name);
        who.reply.map(2);
        who.reply.bulk("summary");
        who.reply.bulk("As in Redis, on lock keys.");
        who.reply.bulk("group");
        who.reply.bulk(spec->flags & flag_pubsub ? "pubsub"
                       : spec->keys.first        ? "generic"
                                                 : "server");
    }
}

void command_keys(client& who, const request& args) {
    const request inner{args.args.subspan(2)};
    const command_spec* spec = find_command(inner.name());
    if (!spec) {
        return who.reply.error("ERR Invalid command specified");
    }
    if (!takes(*spec, inner.size())) {
        return who.reply.error("ERR Invalid number of arguments specified for command");
    }
    const auto keys = spec->find_keys ? counted_keys(inner) : keys_of(*spec, inner);
    if (keys.empty() && !spec->find_keys) {
        return who.reply.error("ERR The command has no key arguments");
    }
    who.reply.array(keys.size());
    for (const std::string_view key : keys) {
        who.reply.bulk(key);
    }
}

/// COMMAND LIST [FILTERBY (MODULE name | ACLCAT category | PATTERN pattern)]. There are no modules,
/// so nothing is of one.
void command_list(client& who, const request& args) {
    std::vector<std::string_view> names;
    if (args.size() == 2) {
        for (const command_spec* spec : all_commands()) {
            names.push_back(spec->name);
        }
    } else if (args.size() != 5 || !equals_ignoring_case(args[2], "filterby")) {
        return reply_syntax_error(who.reply);
    } else if (equals_ignoring_case(args[3], "pattern")) {
        for (const command_spec* spec : all_commands()) {
            if (shards::glob_match(args[4], spec->name)) {
                names.push_back(spec->name);
            }
        }
    } else if (equals_ignoring_case(args[3], "aclcat")) {
        for (const access::catalogued& one : command_catalogue().all()) {
            if (one.categories & access::find_category(args[4])) {
                names.push_back(one.name);
            }
        }
    } else if (!equals_ignoring_case(args[3], "module")) {
        return reply_syntax_error(who.reply);
    }
    who.reply.array(names.size());
    for (const std::string_view name : names) {
        who.reply.bulk(name);
    }
}

void command_help(client& who) {
    reply_help(who.reply, "COMMAND",
               {"(no subcommand)", "    Details of all commands.", "COUNT",
                "    How many commands there are.", "DOCS [<command> ...]",
                "    In which group each command is.", "GETKEYS <command> [<arg> ...]",
                "    The keys among the arguments.", "INFO [<command> ...]",
                "    Details of some commands.", "LIST [FILTERBY PATTERN <pattern>]",
                "    The names of the commands."});
}

}  // namespace

void describe_commands(client& who, const request& args) {
    if (args.size() == 1) {
        const std::string_view as_info[] = {"command", "info"};
        return command_info(who, request{as_info});
    }
    const std::string_view what = args[1];
    if (equals_ignoring_case(what, "count")) {
        args.size() == 2 ? who.reply.integer(static_cast<int64_t>(all_commands().size()))
                         : reply_wrong_arity(who.reply, "command|count");
    } else if (equals_ignoring_case(what, "info")) {
        command_info(who, args);
    } else if (equals_ignoring_case(what, "docs")) {
        command_docs(who, args);
    } else if (equals_ignoring_case(what, "list")) {
        command_list(who, args);
    } else if (equals_ignoring_case(what, "getkeys")) {
        args.size() > 2 ? command_keys(who, args) : reply_wrong_arity(who.reply, "command|getkeys");
    } else if (equals_ignoring_case(what, "help")) {
        args.size() == 2 ? command_help(who) : reply_wrong_arity(who.reply, "command|help");
    } else {
        reply_unknown_subcommand(who.reply, "COMMAND", what);
    }
}

}  // namespace lockkeeper::proxy
