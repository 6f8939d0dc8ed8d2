#include "proxy/at_home.hh"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/when_all.hh>

#include "proxy/away_holders.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/services.hh"
#include "shards/core/hash_tag.hh"
#include "shards/core/link_watch.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;
using shards::lock_answer;
using shards::lock_order;
using shards::lock_service;
using shards::order_route;

/// LK.ACQUIRE, as the order was given.
std::vector<std::string> words_of(const lock_order& order) {
    std::vector<std::string> words{"LK.ACQUIRE", order.key, order.owner};
    const auto add = [&words](std::string_view name, int64_t number) {
        words.emplace_back(name);
        words.push_back(fmt::format("{}", number));
    };
    if (order.ttl) {
        add("TTL", order.ttl->count());
    }
    if (order.wait) {
        add("WAIT", order.wait->count());
    }
    if (order.mode == shards::lock_mode::shared) {
        words.emplace_back("SHARED");
    } else if (order.mode == shards::lock_mode::permits) {
        add("PERMITS", order.permits);
        add("OF", order.of);
    }
    if (order.priority != 0) {
        add("PRIORITY", order.priority);
    }
    if (order.is_collected) {
        words.emplace_back("COLLECT");
    }
    if (order.confirms) {
        add("CONFIRM", static_cast<int64_t>(order.confirms->fence));
        words.emplace_back(order.confirms->how == shards::collected_as::fresh ? "FRESH" : "HELD");
        return words;
    }
    words.emplace_back(order.repeated > 0 ? "AGAIN" : "ORDER");
    words.push_back(order.number);
    if (order.repeated > 0) {
        words.push_back(fmt::to_string(order.repeated));
    }
    return words;
}

/// `asked`: when. The answer may have been on its way for as long as a process is paused or a
/// connection hangs, so its time counts from then: what a client is told must not end after what
/// the home will keep.
lock_answer to_answer(const protocol::reply& reply, std::string home, shards::instant asked) {
    using end = lock_answer::end;
    if (reply.is_error()) {
        return {.how = end::failed, .words = std::string(reply.text())};
    }
    const auto items = reply.items();
    if (items.size() != 3) {
        return {.how = end::refused};
    }
    const int64_t ttl = items[1].as_integer().value_or(0);
    lock_answer answer{.how = end::granted, .home = std::move(home)};
    answer.given.fence = static_cast<uint64_t>(items[0].as_integer().value_or(0));
    answer.given.until = ttl < 0 ? shards::end_of_time : asked + std::chrono::milliseconds(ttl);
    answer.given.holds = static_cast<uint32_t>(items[2].as_integer().value_or(1));
    return answer;
}

/// How much of its time a lock may lose to the wait for it, before the home is asked how much there
/// is left: a tenth. One without a TTL lives by the link, of which each end knows after a second
/// that it was there.
bool has_waited_long(const lock_answer& answer, const lock_order& order, shards::instant asked) {
    if (answer.how != lock_answer::end::granted) {
        return false;
    }
    const auto waited = shards::read_clock() - asked;
    return (!order.ttl && waited > shards::link_rules().between_signs) ||
           (answer.given.until != shards::end_of_time &&
            waited > (answer.given.until - asked) / 10);
}

constexpr std::chrono::milliseconds no_end{-1};

/// What LK.HOLDERS says of this grant: how long it lasts. Nothing: it is over.
std::optional<std::chrono::milliseconds> time_left(const protocol::reply& holders,
                                                   const std::string& owner, uint64_t fence) {
    for (const protocol::reply& each : holders.items()) {
        const auto fields = each.items();
        std::string_view whose;
        std::optional<int64_t> ttl;
        std::optional<int64_t> given;
        for (size_t i = 0; i + 1 < fields.size(); i += 2) {
            const std::string_view name = fields[i].text();
            whose = name == "owner" ? fields[i + 1].text() : whose;
            given = name == "fence" ? fields[i + 1].as_integer() : given;
            ttl = name == "ttl" ? fields[i + 1].as_integer() : ttl;
        }
        if (whose == owner && given == static_cast<int64_t>(fence) && ttl) {
            // It was rounded up.
            return *ttl < 0 ? no_end : std::chrono::milliseconds(std::max<int64_t>(*ttl - 1, 0));
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view home_key(std::string_view key) {
    return key.starts_with("redisson_") ? shards::hash_tag(key) : key;
}

ss::future<std::optional<std::string>> home_of(client& who, std::vector<std::string_view> keys,
                                               uint32_t database) {
    std::optional<std::string> home;
    for (const std::string_view key : keys) {
        auto found = co_await who.all.locks.invoke_on(
            who.all.locks.local().core_of(key),
            [database, name = std::string(key)](lock_service& locks) {
                return locks.leases()->locate(database, name, locks.key(database, name).hash);
            });
        if (found.is_here) {
            co_return std::nullopt;
        }
        if (!home) {
            home = std::move(found.home);
        }
    }
    co_return home;
}

namespace {

/// What came from another proxy waits for a round that is under way.
ss::future<shards::lease_keeper::place> place_on(lock_service& locks, order_route route,
                                                 key_name key, bool anew) {
    const auto hash = locks.key(key.database, key.name).hash;
    if (route == order_route::as_home &&
        co_await locks.leases()->comes_to_be_here(key.database, key.name, hash)) {
        co_return shards::lease_keeper::place{.is_here = true};
    }
    co_return co_await locks.leases()->locate(key.database, key.name, hash, anew);
}

/// Whether one of them is here, or comes to be; there may be none.
ss::future<bool> any_here(client& who, std::vector<std::string> keys) {
    for (const std::string& key : keys) {
        const bool is_here = co_await who.all.locks.invoke_on(
            who.all.locks.local().core_of(key),
            [database = who.database, name = key](lock_service& locks) {
                return locks.leases()->comes_to_be_here(database, name,
                                                        locks.key(database, name).hash);
            });
        if (is_here) {
            co_return true;
        }
    }
    co_return keys.empty();
}

}  // namespace

ss::future<key_places> places_of(client& who, std::vector<key_name> keys, bool anew) {
    const order_route route = who.route();
    std::vector<ss::future<shards::lease_keeper::place>> asked;
    asked.reserve(keys.size());
    for (key_name& key : keys) {
        const ss::shard_id core = who.all.locks.local().core_of(key.name);
        asked.push_back(
            who.all.locks.invoke_on(core, [route, key = std::move(key), anew](lock_service& locks) {
                return place_on(locks, route, key, anew);
            }));
    }
    key_places all;
    for (auto& found : co_await ss::when_all_succeed(asked.begin(), asked.end())) {
        all.any_here = all.any_here || found.is_here;
        if (found.home && std::ranges::find(all.homes, *found.home) == all.homes.end()) {
            all.homes.push_back(std::move(*found.home));
        }
    }
    co_return all;
}

ss::future<std::optional<forward_result>> ask_home(client& who, std::vector<std::string> keys,
                                                   shards::forward_journey::if_unknown rule,
                                                   home_question ask) {
    using journey = shards::forward_journey;
    const uint32_t database = who.database;
    journey way(rule);
    while (true) {
        const auto home = co_await home_of(who, {keys.begin(), keys.end()}, database);
        if (!home) {
            co_return std::nullopt;
        }
        auto hung_up = who.gone.subscribe([&who]() noexcept { who.homes().cut(); });
        const auto result = co_await ask(*home);
        if (result || who.gone.abort_requested()) {
            co_return result;
        }
        for (const std::string& key : keys) {
            co_await forget_home(who, database, key, *home, result.error());
        }
        switch (way.on_trouble(result.error())) {
            case journey::next::tell_unknown:
                co_return result;
            case journey::next::do_here:
                co_return std::nullopt;
            case journey::next::look_again:
                break;
        }
    }
}

shards::forward_journey::if_unknown rule_if_unknown(const owned_request& request) {
    using enum shards::forward_journey::if_unknown;
    const auto views = request.views();
    const command_spec* const spec = find_command(views[0]);
    return spec && may_be_repeated(*spec, protocol::request{views}) ? ask_again : tell;
}

ss::future<> forget_home(client& who, uint32_t database, std::string key, std::string home,
                         forward_trouble why) {
    return who.all.locks.invoke_on(
        who.all.locks.local().core_of(key),
        [database, key, home = std::move(home), why](lock_service& locks) {
            locks.leases()->forget_home(locks.key(database, key), home, why);
        });
}

ss::future<bool> done_at_home(client& who, const owned_request& request,
                              std::vector<std::string_view> keys) {
    const order_route route = who.route();
    std::vector<std::string> names(keys.size());
    std::ranges::transform(keys, names.begin(), home_key);
    if (route == order_route::here || who.holds_turns ||
        who.all.locks.local().leases() == nullptr) {
        co_return false;
    }
    if (route == order_route::as_home) {
        if (co_await any_here(who, std::move(names))) {
            co_return false;
        }
        reply_lock_error(who.reply, shards::lock_error::moved);
        co_return true;
    }
    const auto answered = co_await ask_home(
        who, std::move(names), rule_if_unknown(request), [&who, &request](const std::string& home) {
            const auto views = request.views();
            auto answer = who.homes().call(home, protocol::request{views});
            who.has_more ? who.homes().say_that_there_is_more()
                         : who.when_heard([&who] { who.homes().say_that_there_is_more(); });
            return std::move(answer).finally([&who] { who.when_heard(nullptr); });
        });
    if (!answered) {
        co_return false;
    }
    *answered ? who.reply.value(**answered) : who.reply.error(home_lost);
    co_return true;
}

ss::future<std::expected<lock_answer, forward_trouble>> acquire_at_home(client& who,
                                                                        std::string home,
                                                                        lock_order order) {
    const auto words = words_of(order);
    const std::vector<std::string_view> views(words.begin(), words.end());
    if (who.gone.abort_requested()) {
        co_return lock_answer{.how = lock_answer::end::cancelled};
    }
    auto hung_up = who.gone.subscribe([&who]() noexcept { who.homes().cut(); });
    who.end_reply();
    who.blocked = order.wait.has_value();
    const auto asked = shards::read_clock();
    const auto result = co_await who.homes().call(home, protocol::request{views},
                                                  {.may_last = order.wait.has_value()});
    who.blocked = false;
    if (who.gone.abort_requested()) {
        // The conversation has ended with it, and so has the wait there.
        co_return lock_answer{.how = lock_answer::end::cancelled};
    }
    if (!result) {
        co_await forget_home(who, order.database, order.key, home, result.error());
        co_return std::unexpected(result.error());
    }
    auto answer = to_answer(*result, home, asked);
    if (has_waited_long(answer, order, asked)) {
        const std::vector<std::string_view> question{"LK.HOLDERS", order.key};
        const auto looked = shards::read_clock();
        const auto holders = co_await who.homes().call(home, protocol::request{question});
        if (who.gone.abort_requested()) {
            co_return lock_answer{.how = lock_answer::end::cancelled};
        }
        if (!holders) {
            // That it had been granted the home knows if it is asked again by its number.
            co_return std::unexpected(holders.error() == forward_trouble::not_home
                                          ? forward_trouble::not_home
                                          : forward_trouble::unknown);
        }
        const auto left = time_left(*holders, order.owner, answer.given.fence);
        if (!left) {
            co_return std::unexpected(forward_trouble::not_home);  // it was over before it came
        }
        answer.given.until = *left == no_end ? shards::end_of_time : looked + *left;
    }
    // One of several that the client had before lives by what it lived by.
    const bool is_bound = !order.ttl && !(order.is_collected && answer.given.holds > 1);
    if (answer.how == lock_answer::end::granted && is_bound) {
        if (!who.homes().is_talking_to(home)) {
            // It lives by a conversation that has ended meanwhile.
            co_return std::unexpected(forward_trouble::unknown);
        }
        who.away.granted(answer.home, order.database, order.key, order.owner, answer.given.fence);
        away_holders::here().add(who);
    }
    co_return answer;
}

ss::future<lock_answer> confirm_at_home(client& who, std::string home, lock_order order) {
    const auto words = words_of(order);
    const std::vector<std::string_view> views(words.begin(), words.end());
    const auto asked = shards::read_clock();
    const auto result = co_await who.homes().call(home, protocol::request{views});
    if (!result) {
        co_return lock_answer{};
    }
    auto answer = to_answer(*result, home, asked);
    if (answer.how == lock_answer::end::granted) {
        if (!order.ttl) {
            who.away.granted(home, order.database, order.key, order.owner, answer.given.fence);
        } else if (order.confirms->how == shards::collected_as::fresh) {
            who.away.gone(order.database, order.key, order.owner);
        }
    }
    co_return answer;
}

ss::future<std::optional<uint64_t>> given_before(client& who, std::string number, uint32_t times) {
    // Who waits by it ends as soon as its wait is cancelled.
    const auto now = shards::read_clock();
    const auto give_up = now + 5s;
    const auto is_there = [&] {
        return who.all.everyone.map_reduce0(
            [number, now, times](clients& some) {
                some.orders.repeated(number, times, now + orders_are_remembered, now);
                return some.end_order(number, times);
            },
            false, std::logical_or<>());
    };
    while (co_await is_there() && !who.gone.abort_requested() && shards::read_clock() < give_up) {
        co_await ss::sleep(1ms);
    }
    co_return co_await who.all.everyone.map_reduce0(
        [number](clients& some) { return some.orders.take(number, shards::read_clock()); },
        std::optional<uint64_t>(),
        [](std::optional<uint64_t> one, std::optional<uint64_t> other) {
            return one ? one : other;
        });
}

}  // namespace lockkeeper::proxy
