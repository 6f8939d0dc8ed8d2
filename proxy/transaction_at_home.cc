#include "proxy/transaction_at_home.hh"

#include <algorithm>
#include <seastar/core/coroutine.hh>

#include "proxy/at_home.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/permission.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

using journey = shards::forward_journey;
using shards::order_route;

owned_request command(std::string_view name) {
    const std::string_view words[] = {name};
    return owned_request(protocol::request{words});
}

/// Whether other proxies matter at all.
bool is_alone(const client& who) {
    return who.route() == order_route::here || who.all.locks.local().leases() == nullptr;
}

std::vector<std::string> keys_in(client& who, const transaction& all) {
    std::vector<std::string> keys;
    for (const auto& queued : all.commands) {
        const auto views = queued.request.views();
        const protocol::request args{views};
        const auto more = queued.spec->find_keys ? queued.spec->find_keys(who, args)
                                                 : keys_of(*queued.spec, args);
        keys.insert(keys.end(), more.begin(), more.end());
    }
    return keys;
}

/// What is about this connection, or about all keys, means this proxy. A lock that would live by
/// the connection is looked after as the answer to LK.ACQUIRE only.
bool can_be_sent(const transaction::queued& queued) {
    const command_spec& spec = *queued.spec;
    const bool has_keys = spec.keys.first != 0 || spec.find_keys != nullptr;
    return (has_keys || spec.name == "publish") && !spec.name.starts_with("lk.");
}

std::vector<std::string_view> homes_keys(const std::vector<std::string>& keys) {
    std::vector<std::string_view> views(keys.begin(), keys.end());
    std::ranges::transform(views, views.begin(), home_key);
    return views;
}

ss::future<forward_result> send(client& who, const std::string& home,
                                std::vector<owned_request> commands) {
    auto hung_up = who.gone.subscribe([&who]() noexcept { who.homes().cut(); });
    co_return co_await who.homes().call_together(home, commands);
}

/// EXEC's answer if what was watched is not as it was.
void reply_changed(client& who) {
    who.reply.null_array();
}

/// The keys that we watch have changed if another proxy has one of them now.
ss::future<bool> any_watched_moved(client& who) {
    for (const watched_key& key : who.watched) {
        if (co_await home_of(who, {home_key(key.name)}, key.database)) {
            co_return true;
        }
    }
    co_return false;
}

/// `was_watched`: the conversation must know it still.
ss::future<forward_result> execute(client& who, const std::string& home, const transaction& all,
                                   bool was_watched) {
    std::vector<owned_request> commands;
    commands.reserve(all.commands.size() + 3);
    if (!was_watched) {
        commands.push_back(command("UNWATCH"));  // what was watched and then given up
    }
    commands.push_back(command("MULTI"));
    for (const auto& queued : all.commands) {
        commands.push_back(queued.request);
    }
    commands.push_back(command("EXEC"));
    return send(who, home, std::move(commands));
}

}  // namespace

ss::future<bool> watched_at_home(client& who, const owned_request& watch) {
    if (is_alone(who)) {
        co_return false;
    }
    const auto words = watch.views();
    const std::vector<std::string> names(words.begin() + 1, words.end());
    auto keys = homes_keys(names);
    if (who.route() == order_route::as_home) {
        if (co_await any_here(who, keys)) {
            co_return false;
        }
        reply_lock_error(who.reply, shards::lock_error::moved);
        co_return true;
    }
    if (!who.watched.empty()) {
        co_return false;
    }
    const auto home = co_await home_of(who, keys, who.database);
    const bool is_first = !who.watched_away;
    if (!home ||
        (!is_first && (who.watched_away->home != *home ||
                       who.watched_away->conversation != who.homes().conversation_with(*home)))) {
        co_return false;
    }
    std::vector<owned_request> commands;
    if (is_first) {
        commands.push_back(command("UNWATCH"));
    }
    commands.push_back(watch);
    const auto result = co_await send(who, *home, std::move(commands));
    if (!result) {
        for (const std::string_view key : keys) {
            co_await forget_home(who, who.database, std::string(key), *home, result.error());
        }
        co_return false;
    }
    if (!result->is_error()) {
        who.watched_away = {.home = *home, .conversation = who.homes().conversation_with(*home)};
    }
    who.reply.value(*result);
    co_return true;
}

ss::future<bool> executed_at_home(client& who, const transaction& all) {
    if (is_alone(who)) {
        co_return false;
    }
    const auto names = keys_in(who, all);
    auto keys = homes_keys(names);
    if (who.route() == order_route::as_home) {
        for (const watched_key& key : who.watched) {
            keys.push_back(home_key(key.name));
        }
        if (co_await any_here(who, keys)) {
            co_return false;
        }
        reply_lock_error(who.reply, shards::lock_error::moved);
        co_return true;
    }
    const auto away = std::exchange(who.watched_away, std::nullopt);
    const auto refuse_without_rights = [&] {
        const bool may = is_still_permitted(who, all);
        if (!may) {
            who.reply.error(rights_changed);
        }
        return !may;
    };
    const bool can_go = std::ranges::all_of(all.commands, can_be_sent);
    if (away) {
        if (who.homes().conversation_with(away->home) != away->conversation) {
            reply_changed(who);
            co_return true;
        }
        if (!can_go || !who.watched.empty()) {
            who.reply.error(
                "EXECABORT Transaction discarded because its keys are at different proxies.");
            co_return true;
        }
        if (refuse_without_rights()) {
            co_return true;
        }
        const auto result = co_await execute(who, away->home, all, true);
        if (result) {
            who.reply.value(*result);
        } else if (result.error() == forward_trouble::unknown) {
            who.reply.error(home_lost);
        } else {
            reply_changed(who);
        }
        co_return true;
    }
    if (co_await any_watched_moved(who)) {
        reply_changed(who);
        co_return true;
    }
    const auto home = can_go && who.watched.empty() && !keys.empty()
                          ? co_await home_of(who, keys, who.database)
                          : std::nullopt;
    if (!home) {
        co_return false;
    }
    if (refuse_without_rights()) {
        co_return true;
    }
    const auto result = co_await execute(who, *home, all, false);
    if (result) {
        who.reply.value(*result);
        co_return true;
    }
    for (const std::string_view key : keys) {
        co_await forget_home(who, who.database, std::string(key), *home, result.error());
    }
    if (journey(journey::if_unknown::tell, 1).on_trouble(result.error()) ==
        journey::next::tell_unknown) {
        who.reply.error(home_lost);
        co_return true;
    }
    co_return false;
}

}  // namespace lockkeeper::proxy
