#include "proxy/permission.hh"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

using access::catalogued;
using access::key_need;
using protocol::equals_ignoring_case;
using protocol::request;

catalogued from_flags(const command_spec& spec) {
    using namespace access;
    uint32_t about = spec.flags & flag_fast ? about_fast : about_slow;
    about |= spec.flags & flag_write ? about_write : 0u;
    about |= spec.flags & flag_readonly ? about_read : 0u;
    about |= spec.flags & flag_pubsub ? about_pubsub : 0u;
    about |= spec.flags & flag_blocking ? about_blocking : 0u;
    about |= spec.flags & flag_native ? about_lock : 0u;
    about |= spec.flags & flag_admin ? about_admin | about_dangerous : 0u;
    return {spec.name, about,
            spec.flags & flag_write      ? key_need::write
            : spec.flags & flag_readonly ? key_need::read
                                         : key_need::mention};
}

/// SET with GET tells the old value.
key_need need_of(const catalogued& command, const request& args) {
    if (command.name != "set") {
        return command.keys;
    }
    for (size_t i = 3; i < args.size(); ++i) {
        if (equals_ignoring_case(args[i], "get")) {
            return key_need::both;
        }
    }
    return command.keys;
}

bool is_script(const command_spec& spec) {
    return spec.name.starts_with("eval");
}

std::optional<forbidden> forbidden_key(const access::selector& rights, client& who,
                                       const command_spec& spec, const catalogued& command,
                                       const request& args) {
    auto keys = spec.find_keys ? spec.find_keys(who, args) : keys_of(spec, args);
    if (is_script(spec)) {
        if (keys.empty() && who.all.settings.data && !rights.allows_unknown()) {
            // Not one that we recognise: the upstream runs it, and whatever it does there is done
            // with our rights.
            return forbidden{denial::reason::command, std::string(spec.name)};
        }
        const auto named = counted_keys(args);
        keys.insert(keys.end(), named.begin(), named.end());
    }
    const key_need need = need_of(command, args);
    for (const std::string_view key : keys) {
        if (!rights.allows_key(key, need)) {
            return forbidden{denial::reason::key, std::string(key)};
        }
    }
    return std::nullopt;
}

/// (P|S)SUBSCRIBE and (S)PUBLISH name channels; giving a subscription up needs no right.
std::optional<forbidden> forbidden_channel(const access::selector& rights, const command_spec& spec,
                                           const request& args) {
    const bool is_pattern = spec.name == "psubscribe";
    const bool listens = is_pattern || spec.name == "subscribe" || spec.name == "ssubscribe";
    const bool tells = spec.name == "publish" || spec.name == "spublish";
    const size_t end = listens ? args.size() : tells ? 2 : 0;
    for (size_t i = 1; i < end; ++i) {
        if (is_pattern ? !rights.allows_channel_pattern(args[i])
                       : !rights.allows_channel(args[i])) {
            return forbidden{denial::reason::channel, std::string(args[i])};
        }
    }
    return std::nullopt;
}

std::optional<forbidden> find_forbidden_by(const access::selector& rights, size_t number,
                                           client& who, const command_spec& spec,
                                           const request& args) {
    const catalogued& command = command_catalogue()[number];
    if (!rights.allows(number)) {
        return forbidden{denial::reason::command, std::string(command.name)};
    }
    if (auto key = forbidden_key(rights, who, spec, command, args)) {
        return key;
    }
    return forbidden_channel(rights, spec, args);
}

/// What gives locks back or keeps them is never refused for its number: others wait for it.
bool is_exempt_from_rate(const command_spec& spec) {
    constexpr std::string_view giving_back[] = {"del",        "delex",         "delifeq",  "unlink",
                                                "lk.release", "lk.releaseall", "lk.extend"};
    return std::ranges::find(giving_back, spec.name) != std::end(giving_back);
}

bool is_beyond_rate(client& who) {
    const uint32_t most = who.user->rights.rate_max();
    if (most == 0) {
        return false;
    }
    const auto second = std::chrono::duration_cast<std::chrono::seconds>(
        ss::lowres_clock::now().time_since_epoch());
    return !who.user->load->take(most, static_cast<uint32_t>(second.count()));
}

std::string to_upper(std::string_view name) {
    std::string upper(name);
    for (char& c : upper) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    }
    return upper;
}

void explain(client& who, const forbidden& what) {
    switch (what.why) {
        case denial::reason::command:
            return who.reply.error(
                {"NOPERM this user has no permissions to run the '", what.object, "' command"});
        case denial::reason::key:
            return who.reply.error(
                "NOPERM this user has no permissions to access one of the keys used as arguments");
        case denial::reason::channel:
            return who.reply.error(
                "NOPERM this user has no permissions to access one of the channels used as "
                "arguments");
        case denial::reason::authentication:
            return who.reply.error("WRONGPASS invalid username-password pair or user is disabled.");
    }
}

}  // namespace

const access::catalogue& command_catalogue() {
    static const access::catalogue all = [] {
        access::catalogue commands;
        for (const command_spec* spec : all_commands()) {
            commands.add(from_flags(*spec));
        }
        return commands;
    }();
    return all;
}

std::optional<size_t> number_of(const command_spec& spec, const request& args) {
    const auto& commands = command_catalogue();
    if (args.size() > 1) {
        const auto whole = commands.find(
            fmt::format("{}|{}", spec.name, protocol::to_lower(args[1].substr(0, 64))));
        if (whole) {
            return whole;
        }
        if (!commands.subcommands(spec.name).empty()) {
            return std::nullopt;
        }
    }
    return commands.find(spec.name);
}

std::optional<forbidden> find_forbidden(const access::user& rights, client& who,
                                        const command_spec* spec, const request& args) {
    if (!spec) {
        constexpr size_t shown = 128;
        return rights.may_do_everything()
                   ? std::nullopt
                   : std::optional(
                         forbidden{denial::reason::command,
                                   protocol::to_lower(protocol::sanitised(args.name(), shown))});
    }
    if (spec->flags & flag_no_auth) {
        return std::nullopt;  // how one gets other rights must be open to everybody
    }
    const auto number = number_of(*spec, args);
    if (!number) {
        return std::nullopt;
    }
    std::optional<forbidden> refused;
    for (const access::selector& one : rights.selectors()) {
        auto by_this = find_forbidden_by(one, *number, who, *spec, args);
        if (!by_this) {
            return std::nullopt;
        }
        // The one that came nearest tells why.
        if (!refused || by_this->why > refused->why) {
            refused = std::move(by_this);
        }
    }
    return refused;
}

bool is_permitted(client& who, const command_spec* spec, const request& args) {
    if (spec && spec->flags & flag_no_auth) {
        return true;
    }
    if (!who.logged_in) {
        who.reply.error("NOAUTH Authentication required.");
        return false;
    }
    if (!(spec && is_exempt_from_rate(*spec)) && is_beyond_rate(who)) {
        ++who.user->counted->rate_limited;
        who.reply.error({"ERR RATELIMITED user '", who.user->rights.name(),
                         "' sends more commands than it may, try again in a second"});
        return false;
    }
    if (spec && !number_of(*spec, args)) {
        reply_unknown_subcommand(who.reply, to_upper(spec->name), args[1]);
        return false;
    }
    auto refused = find_forbidden(who.user->rights, who, spec, args);
    if (!refused) {
        return true;
    }
    explain(who, *refused);
    ++who.user->counted->denied;
    who.all.users.local().note({.why = refused->why,
                                .in_transaction = who.multi.has_value(),
                                .object = std::move(refused->object),
                                .user = who.user->rights.name(),
                                .client = describe_client(who)});
    return false;
}

bool is_still_permitted(client& who, const transaction& all) {
    return who.free_hand || std::ranges::none_of(all.commands, [&who](const auto& queued) {
               const auto views = queued.request.views();
               return find_forbidden(who.user->rights, who, queued.spec, request{views})
                   .has_value();
           });
}

}  // namespace lockkeeper::proxy
