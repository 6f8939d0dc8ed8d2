#include "proxy/pubsub.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/util/log.hh>

#include "shards/background.hh"
#include "shards/core/glob.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("pubsub");

}  // namespace

bool pubsub::subscribe(channel_kind kind, std::string_view name, subscriber& who) {
    return of(kind)[std::string(name)].insert(&who).second;
}

bool pubsub::unsubscribe(channel_kind kind, std::string_view name, subscriber& who) {
    auto& names = of(kind);
    const auto found = names.find(name);
    if (found == names.end() || found->second.erase(&who) == 0) {
        return false;
    }
    if (found->second.empty()) {
        names.erase(found);
    }
    return true;
}

ss::future<size_t> pubsub::publish(channel_kind kind, std::string channel, std::string payload) {
    size_t told = deliver(kind, channel, payload);
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        if (core == ss::this_shard_id()) {
            continue;
        }
        told += co_await container().invoke_on(core, [kind, channel, payload](pubsub& there) {
            return there.deliver(kind, channel, payload);
        });
    }
    co_return told;
}

/// To all cores at once: between two cores messages keep their order.
void pubsub::announce(shards::announcement what) {
    const channel_kind kind = what.where == shards::announcement::space::channel
                                  ? channel_kind::channel
                                  : channel_kind::shard;
    deliver(kind, what.channel, what.payload);
    if (ss::smp::count == 1 || _gate.is_closed()) {
        return;
    }
    shards::background(_gate, log, "announcing", [this, kind, what = std::move(what)] {
        return container().invoke_on_others(
            [kind, what](pubsub& there) { there.deliver(kind, what.channel, what.payload); });
    });
}

size_t pubsub::deliver(channel_kind kind, std::string_view channel, std::string_view payload) {
    size_t told = 0;
    if (const auto found = of(kind).find(channel); found != of(kind).end()) {
        for (subscriber* who : found->second) {
            who->deliver({.kind = kind, .pattern = {}, .channel = channel, .payload = payload});
            ++told;
        }
    }
    if (kind != channel_kind::channel) {
        return told;
    }
    for (const auto& [pattern, members] : of(channel_kind::pattern)) {
        if (!shards::glob_match(pattern, channel)) {
            continue;
        }
        for (subscriber* who : members) {
            who->deliver({.kind = channel_kind::pattern,
                          .pattern = pattern,
                          .channel = channel,
                          .payload = payload});
            ++told;
        }
    }
    return told;
}

size_t pubsub::subscribers(channel_kind kind, std::string_view name) const {
    const auto found = of(kind).find(name);
    return found == of(kind).end() ? 0 : found->second.size();
}

std::vector<std::string> pubsub::names(channel_kind kind) const {
    std::vector<std::string> all;
    for (const auto& [name, members] : of(kind)) {
        all.push_back(name);
    }
    return all;
}

}  // namespace lockkeeper::proxy
