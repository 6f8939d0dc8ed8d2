#include <fmt/format.h>

#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/services.hh"

/// CLIENT TRACKING and its kin: checked and remembered as Redis does it, without effect.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;

constexpr size_t prefixes_max = 1024;

bool overlap(std::string_view one, std::string_view other) {
    return one.starts_with(other) || other.starts_with(one);
}

/// The options behind ON or OFF; false if they make no sense, and then that has been said.
bool read_options(client& who, const owned_request& args, tracking& wanted) {
    for (size_t i = 3; i < args.size(); ++i) {
        const bool has_next = i + 1 < args.size();
        if (equals_ignoring_case(args[i], "redirect") && has_next) {
            if (wanted.redirect != 0) {
                who.reply.error("ERR A client can only redirect to a single other client");
                return false;
            }
            const auto id = protocol::parse_integer(args[++i]);
            if (!id) {
                reply_not_an_integer(who.reply);
                return false;
            }
            wanted.redirect = static_cast<uint64_t>(*id);
        } else if (equals_ignoring_case(args[i], "bcast")) {
            wanted.bcast = true;
        } else if (equals_ignoring_case(args[i], "optin")) {
            wanted.optin = true;
        } else if (equals_ignoring_case(args[i], "optout")) {
            wanted.optout = true;
        } else if (equals_ignoring_case(args[i], "noloop")) {
            wanted.noloop = true;
        } else if (equals_ignoring_case(args[i], "prefix") && has_next &&
                   wanted.prefixes.size() < prefixes_max) {
            wanted.prefixes.emplace_back(args[++i]);
        } else {
            reply_syntax_error(who.reply);
            return false;
        }
    }
    return true;
}

/// What Redis says about options that do not go together, or with what was chosen before.
std::string_view conflict(const tracking& now, const tracking& wanted) {
    if (!wanted.prefixes.empty() && !wanted.bcast) {
        return "ERR PREFIX option requires BCAST mode to be enabled";
    }
    if (now.on && now.bcast != wanted.bcast) {
        return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, "
               "and then re-enabling it with a different mode.";
    }
    if (wanted.bcast && (wanted.optin || wanted.optout)) {
        return "ERR OPTIN and OPTOUT are not compatible with BCAST";
    }
    if (wanted.optin && wanted.optout) {
        return "ERR You can't specify both OPTIN mode and OPTOUT mode";
    }
    if ((wanted.optin && now.optout) || (wanted.optout && now.optin)) {
        return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, "
               "and then re-enabling it with a different mode.";
    }
    return {};
}

/// Two prefixes for one key would tell of it twice.
bool prefixes_overlap(client& who, const tracking& wanted) {
    const auto& prefixes = wanted.prefixes;
    for (size_t i = 0; i < prefixes.size(); ++i) {
        for (const std::string& old : who.tracked.prefixes) {
            if (overlap(prefixes[i], old)) {
                who.reply.error({"ERR Prefix '", prefixes[i],
                                 "' overlaps with an existing prefix '", old,
                                 "'. Prefixes for a single client must not overlap."});
                return true;
            }
        }
        for (size_t other = i + 1; other < prefixes.size(); ++other) {
            if (overlap(prefixes[i], prefixes[other])) {
                who.reply.error({"ERR Prefix '", prefixes[i],
                                 "' overlaps with another provided prefix '", prefixes[other],
                                 "'. Prefixes for a single client must not overlap."});
                return true;
            }
        }
    }
    return false;
}

ss::future<bool> is_connected(client& who, uint64_t id) {
    return who.all.everyone.map_reduce0([id](clients& core) { return core.find(id) != nullptr; },
                                        false, std::logical_or<>());
}

}  // namespace

ss::future<> client_tracking(client& who, const owned_request& args) {
    tracking wanted;
    if (!read_options(who, args, wanted)) {
        co_return;
    }
    if (wanted.redirect != 0 && !co_await is_connected(who, wanted.redirect)) {
        who.reply.error("ERR The client ID you want redirect to does not exist");
        co_return;
    }
    if (equals_ignoring_case(args[2], "off")) {
        who.tracked = {};
        who.reply.ok();
        co_return;
    }
    if (!equals_ignoring_case(args[2], "on")) {
        reply_syntax_error(who.reply);
        co_return;
    }
    if (const auto problem = conflict(who.tracked, wanted); !problem.empty()) {
        who.reply.error(problem);
        co_return;
    }
    if (wanted.bcast && prefixes_overlap(who, wanted)) {
        co_return;
    }
    wanted.on = true;
    if (who.tracked.on) {
        wanted.prefixes.insert(wanted.prefixes.begin(), who.tracked.prefixes.begin(),
                               who.tracked.prefixes.end());
    }
    if (wanted.bcast && wanted.prefixes.empty()) {
        wanted.prefixes.emplace_back();  // all keys
    }
    who.tracked = std::move(wanted);
    who.reply.ok();
}

void client_caching(client& who, const owned_request& args) {
    const tracking& now = who.tracked;
    if (!now.on || (!now.optin && !now.optout)) {
        return who.reply.error(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN "
            "or OPTOUT mode enabled");
    }
    if (equals_ignoring_case(args[2], "yes")) {
        if (!now.optin) {
            return who.reply.error(
                "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
        }
    } else if (equals_ignoring_case(args[2], "no")) {
        if (!now.optout) {
            return who.reply.error(
                "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
        }
    } else {
        return reply_syntax_error(who.reply);
    }
    who.tracked.caching_at = who.commands_executed;
    who.reply.ok();
}

void client_getredir(client& who) {
    who.reply.integer(who.tracked.on ? static_cast<int64_t>(who.tracked.redirect) : -1);
}

void client_trackinginfo(client& who) {
    const tracking& now = who.tracked;
    const bool caching = now.caching_at == who.commands_executed;
    const std::pair<bool, std::string_view> possible[] = {
        {!now.on, "off"},
        {now.on, "on"},
        {now.bcast, "bcast"},
        {now.optin, "optin"},
        {caching && now.optin, "caching-yes"},
        {now.optout, "optout"},
        {caching && now.optout, "caching-no"},
        {now.noloop, "noloop"},
    };
    std::vector<std::string_view> flags;
    for (const auto& [chosen, name] : possible) {
        if (chosen) {
            flags.push_back(name);
        }
    }
    who.reply.map(3);
    who.reply.bulk("flags");
    who.reply.set(flags.size());
    for (const std::string_view flag : flags) {
        who.reply.bulk(flag);
    }
    who.reply.bulk("redirect");
    client_getredir(who);
    who.reply.bulk("prefixes");
    who.reply.array(now.prefixes.size());
    for (const std::string& prefix : now.prefixes) {
        who.reply.bulk(prefix);
    }
}

}  // namespace lockkeeper::proxy
