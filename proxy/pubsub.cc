#include "proxy/pubsub.hh"

#include <algorithm>
#include <iterator>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/util/log.hh>

#include "shards/background.hh"
#include "shards/core/glob.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("pubsub");

}  // namespace

channel_kind kind_of(shards::announcement::space where) {
    return where == shards::announcement::space::channel ? channel_kind::channel
                                                         : channel_kind::shard;
}

bool is_woken_before(const subscription& one, const subscription& other) {
    return one.is_likely != other.is_likely ? one.is_likely : one.turn < other.turn;
}

/// The clock is the same on all cores, so that turns can be compared; and never twice the same.
uint64_t pubsub::next_turn() {
    _last_turn = std::max(static_cast<uint64_t>(shards::read_clock().nanoseconds), _last_turn + 1);
    return _last_turn;
}

bool pubsub::subscribe(channel_kind kind, std::string_view name, subscriber& who) {
    listeners& known = of(kind)[std::string(name)];
    if (known.all.contains(&who)) {
        return false;
    }
    const uint64_t turn = next_turn();
    known.all.emplace(&who, listeners::place{.number = turn, .turn = turn});
    known.by_turn.emplace(turn, &who);
    return true;
}

bool pubsub::unsubscribe(channel_kind kind, std::string_view name, subscriber& who) {
    auto& names = of(kind);
    const auto found = names.find(name);
    if (found == names.end()) {
        return false;
    }
    listeners& known = found->second;
    const auto place = known.all.find(&who);
    if (place == known.all.end()) {
        return false;
    }
    known.by_turn.erase(place->second.turn);
    known.all.erase(place);
    if (known.all.empty()) {
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
void pubsub::broadcast(shards::announcement what) {
    const channel_kind kind = kind_of(what.where);
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
        for (const auto& [turn, who] : found->second.by_turn) {
            who->deliver({.kind = kind, .pattern = {}, .channel = channel, .payload = payload});
            ++told;
        }
    }
    if (kind != channel_kind::channel) {
        return told;
    }
    for (const auto& [pattern, known] : of(channel_kind::pattern)) {
        if (!shards::glob_match(pattern, channel)) {
            continue;
        }
        for (const auto& [turn, who] : known.by_turn) {
            who->deliver({.kind = channel_kind::pattern,
                          .pattern = pattern,
                          .channel = channel,
                          .payload = payload});
            ++told;
        }
    }
    return told;
}

/// In the order of turns, the first few of those who are likely to want the lock, and the first few
/// of the others.
struct pubsub::search {
    const wake_query& wanted;
    std::vector<subscription> likely{};
    std::vector<subscription> unlikely{};
    bool has_more = false;

    void look_at(channel_kind kind, const std::string& name, const listeners& known) {
        // Whom nothing tells apart are as good as each other: then nobody needs to be asked where
        // it is.
        const bool all_alike = kind != channel_kind::pattern || wanted.addresses.empty();
        size_t found = 0;
        for (const auto& [turn, who] : known.by_turn) {
            const uint64_t number = known.all.at(who).number;
            if (static_cast<int64_t>(number) > wanted.before.nanoseconds ||
                wanted.except.contains(number)) {
                continue;
            }
            if (all_alike && found == wanted.most) {
                has_more = true;
                return;
            }
            ++found;
            const bool is_likely =
                kind != channel_kind::pattern || wanted.addresses.contains(who->address());
            auto& some = is_likely ? likely : unlikely;
            if (!all_alike && some.size() >= wanted.most) {
                has_more = true;
                continue;
            }
            some.push_back({.core = ss::this_shard_id(),
                            .kind = kind,
                            .name = name,
                            .number = number,
                            .turn = turn,
                            .is_likely = is_likely});
        }
    }
};

wake_candidates pubsub::candidates(const wake_query& wanted) const {
    search all{.wanted = wanted};
    wake_candidates found;
    if (const auto exact = of(wanted.kind).find(wanted.channel); exact != of(wanted.kind).end()) {
        all.look_at(wanted.kind, exact->first, exact->second);
    }
    if (wanted.kind == channel_kind::channel) {
        for (const auto& [pattern, known] : of(channel_kind::pattern)) {
            if (shards::glob_match(pattern, wanted.channel)) {
                found.by_pattern = true;
                all.look_at(channel_kind::pattern, pattern, known);
            }
        }
    }
    found.first = std::move(all.likely);
    std::ranges::move(all.unlikely, std::back_inserter(found.first));
    std::ranges::sort(found.first, is_woken_before);
    found.has_more = all.has_more || found.first.size() > wanted.most;
    found.first.resize(std::min(found.first.size(), wanted.most));
    return found;
}

std::vector<uint64_t> pubsub::wake(const wake_query& wanted, std::string_view payload) {
    std::vector<uint64_t> told;
    for (const subscription& one : candidates(wanted).first) {
        if (wake_one(one, wanted.channel, payload)) {
            told.push_back(one.number);
        }
    }
    return told;
}

bool pubsub::wake_one(const subscription& whom, std::string_view channel,
                      std::string_view payload) {
    const auto found = of(whom.kind).find(whom.name);
    if (found == of(whom.kind).end()) {
        return false;
    }
    listeners& known = found->second;
    const auto in_line = known.by_turn.find(whom.turn);
    if (in_line == known.by_turn.end() || known.all.at(in_line->second).number != whom.number) {
        return false;
    }
    subscriber* const who = in_line->second;
    auto node = known.by_turn.extract(in_line);
    node.key() = next_turn();
    known.all.at(who).turn = node.key();
    known.by_turn.insert(std::move(node));
    who->deliver({.kind = whom.kind,
                  .pattern = whom.kind == channel_kind::pattern ? std::string_view(whom.name)
                                                                : std::string_view(),
                  .channel = channel,
                  .payload = payload});
    return true;
}

size_t pubsub::subscribers(channel_kind kind, std::string_view name) const {
    const auto found = of(kind).find(name);
    return found == of(kind).end() ? 0 : found->second.all.size();
}

std::vector<std::string> pubsub::names(channel_kind kind) const {
    std::vector<std::string> all;
    for (const auto& [name, known] : of(kind)) {
        all.push_back(name);
    }
    return all;
}

}  // namespace lockkeeper::proxy
