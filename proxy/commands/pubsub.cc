#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/peers.hh"
#include "proxy/services.hh"
#include "shards/core/glob.hh"

/// SUBSCRIBE and its kin.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;

/// Redis counts channels and patterns together, and channels of shards by themselves.
size_t counted(const client& who, channel_kind kind) {
    const auto of = [&who](channel_kind one) {
        return who.channels[static_cast<size_t>(one)].size();
    };
    return kind == channel_kind::shard ? of(kind)
                                       : of(channel_kind::channel) + of(channel_kind::pattern);
}

void confirm(client& who, std::string_view verb, std::optional<std::string_view> name,
             channel_kind kind) {
    who.reply.push(3);
    who.reply.bulk(verb);
    if (name) {
        who.reply.bulk(*name);
    } else {
        who.reply.null();
    }
    who.reply.integer(static_cast<int64_t>(counted(who, kind)));
}

void subscribe_to(client& who, const request& args, channel_kind kind, std::string_view verb) {
    if (kind == channel_kind::shard && who.holds_turns) {
        return who.reply.error(
            "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");  // within EXEC, as in Redis
    }
    const auto& names = who.channels[static_cast<size_t>(kind)];
    const auto added = std::ranges::count_if(
        args.begin() + 1, args.end(), [&](std::string_view name) { return !names.contains(name); });
    if (who.subscriptions() + static_cast<size_t>(added) > who.all.settings.limits.subscriptions) {
        return who.reply.error(
            "ERR TOOMANYSUBSCRIPTIONS this connection listens to as many channels as it may");
    }
    for (size_t i = 1; i < args.size(); ++i) {
        if (who.channels[static_cast<size_t>(kind)].emplace(args[i]).second) {
            who.all.messages.local().subscribe(kind, args[i], who);
        }
        confirm(who, verb, args[i], kind);
    }
}

void unsubscribe_from(client& who, const request& args, channel_kind kind, std::string_view verb) {
    auto& names = who.channels[static_cast<size_t>(kind)];
    std::vector<std::string> wanted(args.begin() + 1, args.end());
    if (wanted.empty()) {
        wanted.assign(names.begin(), names.end());
    }
    for (const std::string& name : wanted) {
        if (names.erase(name) > 0) {
            who.all.messages.local().unsubscribe(kind, name, who);
        }
        confirm(who, verb, name, kind);
    }
    if (wanted.empty()) {
        confirm(who, verb, std::nullopt, kind);
    }
}

void subscribe(client& who, const request& args) {
    subscribe_to(who, args, channel_kind::channel, "subscribe");
}
void psubscribe(client& who, const request& args) {
    subscribe_to(who, args, channel_kind::pattern, "psubscribe");
}
void ssubscribe(client& who, const request& args) {
    subscribe_to(who, args, channel_kind::shard, "ssubscribe");
}
void unsubscribe(client& who, const request& args) {
    unsubscribe_from(who, args, channel_kind::channel, "unsubscribe");
}
void punsubscribe(client& who, const request& args) {
    unsubscribe_from(who, args, channel_kind::pattern, "punsubscribe");
}
void sunsubscribe(client& who, const request& args) {
    unsubscribe_from(who, args, channel_kind::shard, "sunsubscribe");
}

ss::future<> publish_as(client& who, owned_request args, channel_kind kind) {
    const size_t told =
        co_await who.all.messages.local().publish(kind, std::string(args[1]), std::string(args[2]));
    who.all.links.local().publish({.where = kind == channel_kind::shard
                                                ? shards::announcement::space::shard_channel
                                                : shards::announcement::space::channel,
                                   .channel = std::string(args[1]),
                                   .payload = std::string(args[2])});
    who.reply.integer(static_cast<int64_t>(told));
}
ss::future<> publish(client& who, owned_request args) {
    return publish_as(who, std::move(args), channel_kind::channel);
}
ss::future<> spublish(client& who, owned_request args) {
    return publish_as(who, std::move(args), channel_kind::shard);
}

ss::future<std::set<std::string>> names_everywhere(services& all, channel_kind kind) {
    return all.messages.map_reduce0([kind](pubsub& core) { return core.names(kind); },
                                    std::set<std::string>{},
                                    [](std::set<std::string> sum, std::vector<std::string> more) {
                                        sum.insert(more.begin(), more.end());
                                        return sum;
                                    });
}

ss::future<> list_channels(client& who, channel_kind kind, std::optional<std::string> pattern) {
    auto names = co_await names_everywhere(who.all, kind);
    if (pattern) {
        std::erase_if(names,
                      [&](const std::string& name) { return !shards::glob_match(*pattern, name); });
    }
    who.reply.array(names.size());
    for (const std::string& name : names) {
        who.reply.bulk(name);
    }
}

ss::future<> count_subscribers(client& who, const owned_request& args, channel_kind kind) {
    std::vector<std::pair<std::string, size_t>> counts;
    for (size_t i = 2; i < args.size(); ++i) {
        std::string name(args[i]);
        const size_t count = co_await who.all.messages.map_reduce0(
            [kind, name](pubsub& core) { return core.subscribers(kind, name); }, size_t{0},
            std::plus<size_t>());
        counts.emplace_back(std::move(name), count);
    }
    who.reply.array(counts.size() * 2);
    for (const auto& [name, count] : counts) {
        who.reply.bulk(name);
        who.reply.integer(static_cast<int64_t>(count));
    }
}

ss::future<> ask_pubsub(client& who, owned_request args) {
    const std::string_view what = args[1];
    const auto pattern = args.size() > 2 ? std::optional(std::string(args[2])) : std::nullopt;
    if (equals_ignoring_case(what, "channels") && args.size() <= 3) {
        co_await list_channels(who, channel_kind::channel, pattern);
    } else if (equals_ignoring_case(what, "shardchannels") && args.size() <= 3) {
        co_await list_channels(who, channel_kind::shard, pattern);
    } else if (equals_ignoring_case(what, "numsub")) {
        co_await count_subscribers(who, args, channel_kind::channel);
    } else if (equals_ignoring_case(what, "shardnumsub")) {
        co_await count_subscribers(who, args, channel_kind::shard);
    } else if (equals_ignoring_case(what, "numpat") && args.size() == 2) {
        const auto patterns = co_await names_everywhere(who.all, channel_kind::pattern);
        who.reply.integer(static_cast<int64_t>(patterns.size()));
    } else if (equals_ignoring_case(what, "help") && args.size() == 2) {
        reply_help(who.reply, "PUBSUB",
                   {"CHANNELS [<pattern>]", "    Channels that somebody listens to.", "NUMPAT",
                    "    The number of patterns that somebody listens to.",
                    "NUMSUB [<channel> ...]", "    How many listen to each channel.",
                    "SHARDCHANNELS [<pattern>]", "    CHANNELS for SSUBSCRIBE.",
                    "SHARDNUMSUB [<channel> ...]", "    NUMSUB for SSUBSCRIBE."});
    } else {
        if (equals_ignoring_case(what, "numpat")) {
            reply_wrong_arity(who.reply, "pubsub|numpat");
        } else if (equals_ignoring_case(what, "channels") ||
                   equals_ignoring_case(what, "shardchannels")) {
            who.reply.error({"ERR unknown subcommand or wrong number of arguments for '", what,
                             "'. Try PUBSUB HELP."});
        } else {
            reply_unknown_subcommand(who.reply, "PUBSUB", what);
        }
    }
}

constexpr uint16_t listening =
    flag_pubsub | flag_noscript | flag_loading | flag_stale | flag_when_listening | flag_about_both;
constexpr uint16_t telling = flag_pubsub | flag_loading | flag_stale | flag_fast | flag_about_data;

constexpr command_spec table[] = {
    {.name = "psubscribe", .least = 2, .most = -1, .flags = listening, .on_client = psubscribe},
    {.name = "publish", .least = 3, .most = 3, .flags = telling, .in_time = publish},
    {.name = "pubsub",
     .least = 2,
     .most = -1,
     .flags = flag_pubsub | flag_loading | flag_stale | flag_about_data,
     .in_time = ask_pubsub},
    {.name = "punsubscribe", .least = 1, .most = -1, .flags = listening, .on_client = punsubscribe},
    {.name = "spublish", .least = 3, .most = 3, .flags = telling, .in_time = spublish},
    {.name = "ssubscribe", .least = 2, .most = -1, .flags = listening, .on_client = ssubscribe},
    {.name = "subscribe", .least = 2, .most = -1, .flags = listening, .on_client = subscribe},
    {.name = "sunsubscribe", .least = 1, .most = -1, .flags = listening, .on_client = sunsubscribe},
    {.name = "unsubscribe", .least = 1, .most = -1, .flags = listening, .on_client = unsubscribe},
};

}  // namespace

std::span<const command_spec> pubsub_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
