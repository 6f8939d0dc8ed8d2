#include "proxy/transaction_at_home.hh"

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <span>
#include <utility>

#include "protocol/text.hh"
#include "proxy/at_home.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/permission.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

using journey = shards::forward_journey;
using shards::order_route;

bool contains(const auto& all, const auto& one) {
    return std::ranges::find(all, one) != std::ranges::end(all);
}

owned_request command(std::string_view name) {
    const std::string_view words[] = {name};
    return owned_request(protocol::request{words});
}

/// Whether other proxies matter at all.
bool is_alone(const client& who) {
    return who.route() == order_route::here || who.all.locks.local().leases() == nullptr;
}

constexpr std::string_view are_apart =
    "EXECABORT Transaction discarded because its keys are at different proxies.";
constexpr std::string_view must_stay =
    "EXECABORT Transaction discarded because another proxy has its keys, and not all of its "
    "commands can be carried out there.";

std::vector<key_name> keys_in(client& who, const transaction& all) {
    std::vector<key_name> keys;
    for (const auto& queued : all.commands) {
        const auto views = queued.request.views();
        const protocol::request args{views};
        for (const std::string_view key : queued.spec->find_keys ? queued.spec->find_keys(who, args)
                                                                 : keys_of(*queued.spec, args)) {
            key_name name{who.database, std::string(home_key(key))};
            if (!contains(keys, name)) {
                keys.push_back(std::move(name));
            }
        }
    }
    return keys;
}

std::vector<key_name> watched_keys(const client& who) {
    std::vector<key_name> keys;
    for (const watched_key& key : who.watched) {
        keys.push_back({key.database, std::string(home_key(key.name))});
    }
    return keys;
}

/// What is about this connection, or about all keys, means this proxy. A lock that would live by
/// the connection is looked after as the answer to LK.ACQUIRE only.
bool can_be_sent(const transaction::queued& queued) {
    const command_spec& spec = *queued.spec;
    if (spec.name == "lk.acquire" || spec.name == "lk.acquireall") {
        const auto words = queued.request.views();
        const auto keys = spec.name == "lk.acquireall" ? protocol::parse_integer(words[1]) : 0;
        const size_t first = 3 + static_cast<size_t>(std::max<int64_t>(keys.value_or(0), 0));
        const auto options = std::span(words).subspan(std::min(first, words.size()));
        return std::ranges::any_of(options, [](std::string_view word) {
            return protocol::equals_ignoring_case(word, "ttl");
        });
    }
    constexpr std::string_view without_keys[] = {"echo", "ping", "publish", "time"};
    return spec.keys.first != 0 || spec.find_keys != nullptr || contains(without_keys, spec.name);
}

bool is_one_home(const key_places& places) {
    return !places.any_here && places.homes.size() == 1;
}

ss::future<> forget_homes(client& who, std::vector<key_name> keys, std::string home,
                          forward_trouble why) {
    for (const key_name& key : keys) {
        co_await forget_home(who, key.database, key.name, home, why);
    }
}

struct sent {
    forward_result result;
    uint64_t conversation;  ///< in which it was said
};

/// `only_in`: in that conversation or not at all.
ss::future<sent> send(client& who, std::string home, std::vector<owned_request> commands,
                      std::optional<uint64_t> only_in = std::nullopt) {
    auto hung_up = who.gone.subscribe([&who]() noexcept { who.homes().cut(); });
    auto answer = who.homes().call_together(home, commands, only_in);
    // Another one may have begun by the time of the answer, and would know nothing of it.
    const uint64_t conversation = who.homes().conversation_with(home);
    co_return sent{co_await std::move(answer), conversation};
}

/// EXEC's answer if what was watched is not as it was.
void reply_changed(client& who) {
    who.reply.null_array();
}

/// `watched_in`: the conversation that knows what is watched.
ss::future<forward_result> execute(client& who, std::string home, const transaction& all,
                                   std::optional<uint64_t> watched_in = std::nullopt) {
    std::vector<owned_request> commands;
    commands.reserve(all.commands.size() + 3);
    if (!watched_in) {
        commands.push_back(command("UNWATCH"));  // what was watched and then given up
    }
    commands.push_back(command("MULTI"));
    for (const auto& queued : all.commands) {
        commands.push_back(queued.request);
    }
    commands.push_back(command("EXEC"));
    co_return (co_await send(who, std::move(home), std::move(commands), watched_in)).result;
}

/// What another proxy sent us is for us only if nobody else has any of it.
ss::future<bool> watched_as_home(client& who, std::vector<key_name> keys) {
    auto places = co_await places_of(who, std::move(keys), true);
    if (!places.any_here && places.homes.empty() && !who.watched.empty()) {
        places.any_here = (co_await places_of(who, watched_keys(who), false)).any_here;
    }
    if (places.any_here && places.homes.empty()) {
        co_return false;
    }
    reply_lock_error(who.reply, shards::lock_error::moved);
    co_return true;
}

ss::future<bool> executed_as_home(client& who, std::vector<key_name> keys) {
    const auto watched = co_await places_of(who, watched_keys(who), true);
    if (!watched.homes.empty()) {
        reply_changed(who);
        co_return true;
    }
    const bool is_about_none = keys.empty() && who.watched.empty();
    const auto own = co_await places_of(who, std::move(keys), true);
    if (own.homes.empty() && (own.any_here || watched.any_here || is_about_none)) {
        co_return false;
    }
    reply_lock_error(who.reply, shards::lock_error::moved);
    co_return true;
}

bool lacks_rights(client& who, const transaction& all) {
    const bool may = is_still_permitted(who, all);
    if (!may) {
        who.reply.error(rights_changed);
    }
    return !may;
}

/// Nowhere else can it be carried out.
ss::future<> execute_where_watched(client& who, const transaction& all, watch_away away) {
    if (away.conversation == 0 || who.homes().conversation_with(away.home) != away.conversation) {
        co_return reply_changed(who);
    }
    if (!std::ranges::all_of(all.commands, can_be_sent)) {
        co_return who.reply.error(must_stay);
    }
    // Of what it watches the home knows whether it is there still.
    auto others = keys_in(who, all);
    std::erase_if(others, [&](const key_name& key) { return contains(away.keys, key); });
    const auto places = co_await places_of(who, std::move(others), true);
    const bool are_there = std::ranges::all_of(
        places.homes, [&](const std::string& home) { return home == away.home; });
    if (places.any_here || !are_there) {
        co_return who.reply.error(are_apart);
    }
    if (lacks_rights(who, all)) {
        co_return;
    }
    const auto result = co_await execute(who, away.home, all, away.conversation);
    if (result) {
        who.reply.value(*result);
    } else if (result.error() == forward_trouble::unknown) {
        who.reply.error(home_lost);
    } else {
        reply_changed(who);
    }
}

}  // namespace

ss::future<bool> watched_at_home(client& who, const owned_request& watch) {
    if (is_alone(who)) {
        co_return false;
    }
    std::vector<key_name> keys;
    const auto words = watch.views();
    for (const std::string_view word : std::span(words).subspan(1)) {
        keys.push_back({who.database, std::string(home_key(word))});
    }
    if (who.route() == order_route::as_home) {
        co_return co_await watched_as_home(who, std::move(keys));
    }
    // To watch twice is to watch once.
    journey way(journey::if_unknown::ask_again);
    bool anew = false;
    while (!who.watches_apart) {
        const auto places = co_await places_of(who, keys, anew);
        auto& away = who.watched_away;
        if (places.homes.empty() && !away) {
            co_return false;
        }
        const bool is_with_others =
            away ? !places.any_here && (places.homes.empty() || places.homes.front() == away->home)
                 : who.watched.empty() && !places.any_here;
        if (!is_with_others || places.homes.size() > 1) {
            who.watches_apart = std::exchange(anew, true);
            continue;
        }
        const std::string home = away ? away->home : places.homes.front();
        std::vector<owned_request> commands;
        if (!away) {
            commands.push_back(command("UNWATCH"));
        }
        commands.push_back(watch);
        const auto [result, conversation] =
            co_await send(who, home, std::move(commands),
                          away ? std::optional(away->conversation) : std::nullopt);
        if (result && result->is_error()) {
            who.reply.value(*result);
            co_return true;
        }
        if (result) {
            if (!away) {
                away = {.home = home, .conversation = conversation, .keys = {}};
            }
            away->keys.insert(away->keys.end(), keys.begin(), keys.end());
            who.reply.value(*result);
            co_return true;
        }
        if (result.error() == forward_trouble::not_home && !anew) {
            anew = true;  // one of them has gone elsewhere, or all
            continue;
        }
        if (away) {
            away->conversation = 0;
            break;
        }
        co_await forget_homes(who, keys, home, result.error());
        if (who.gone.abort_requested() ||
            way.on_trouble(result.error()) == journey::next::do_here) {
            co_return false;
        }
    }
    who.reply.ok();  // EXEC will tell
    co_return true;
}

ss::future<bool> executed_at_home(client& who, const transaction& all) {
    if (is_alone(who)) {
        co_return false;
    }
    auto keys = keys_in(who, all);
    if (who.route() == order_route::as_home) {
        co_return co_await executed_as_home(who, std::move(keys));
    }
    auto away = std::exchange(who.watched_away, std::nullopt);
    if (std::exchange(who.watches_apart, false)) {
        who.reply.error(are_apart);
        co_return true;
    }
    if (away) {
        co_await execute_where_watched(who, all, std::move(*away));
        co_return true;
    }
    // What we watch has changed if another proxy has it now.
    const auto watched = watched_keys(who);
    if (!(co_await places_of(who, watched, false)).homes.empty() &&
        !(co_await places_of(who, watched, true)).homes.empty()) {
        reply_changed(who);
        co_return true;
    }
    std::erase_if(keys, [&](const key_name& key) { return contains(watched, key); });
    journey way(journey::if_unknown::tell);
    bool anew = false;
    while (true) {
        const auto places = co_await places_of(who, keys, anew);
        if (places.homes.empty()) {
            co_return false;
        }
        const bool can_go = std::ranges::all_of(all.commands, can_be_sent);
        if (!can_go || !is_one_home(places) || !who.watched.empty()) {
            if (!std::exchange(anew, true)) {
                continue;
            }
            who.reply.error(is_one_home(places) && who.watched.empty() ? must_stay : are_apart);
            co_return true;
        }
        if (lacks_rights(who, all)) {
            co_return true;
        }
        const auto result = co_await execute(who, places.homes.front(), all);
        if (result) {
            who.reply.value(*result);
            co_return true;
        }
        if (result.error() != forward_trouble::not_home || std::exchange(anew, true)) {
            co_await forget_homes(who, keys, places.homes.front(), result.error());
        }
        switch (way.on_trouble(result.error())) {
            case journey::next::tell_unknown:
                who.reply.error(home_lost);
                co_return true;
            case journey::next::do_here:
                co_return false;
            case journey::next::look_again:
                break;
        }
    }
}

}  // namespace lockkeeper::proxy
