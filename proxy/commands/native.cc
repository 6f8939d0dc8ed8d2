#include <algorithm>
#include <numeric>
#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/at_home.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/forwarder.hh"
#include "proxy/lock_orders.hh"
#include "proxy/lock_wait.hh"
#include "proxy/services.hh"

/// The native verbs: locks with owners, queues and fences, for any client that can send a command.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;
using shards::lock_answer;
using shards::lock_order;
using std::chrono::milliseconds;

constexpr size_t owner_bytes_max = 1'024;

order_limits limits_of(const client& who) {
    return {.ttl_max = who.all.settings.leases.max_ttl,
            .wait_max = who.all.settings.limits.wait,
            .owner_bytes_max = owner_bytes_max,
            .is_from_proxy = !who.from_proxy.empty()};
}

// ---- one lock -----------------------------------------------------------------------------------

/// LK.ACQUIRE key owner [TTL ms] [WAIT ms] [SHARED | PERMITS n OF m] [PRIORITY p]
std::optional<lock_order> read_acquire(client& who, const request& args) {
    lock_order order{.database = who.database, .client = who.id};
    if (is_owner_too_long(args[2], limits_of(who), who.reply) ||
        !read_order_options(args, 3, "lk.acquire", limits_of(who), order, who.reply)) {
        return std::nullopt;
    }
    order.key = args[1];
    order.owner = args[2];
    return order;
}

/// The order has come over another link already, repeated once more than this one: its link was
/// slow and has been given up, and nobody waits at the other end of it.
bool is_late(const client& who, const lock_order& order) {
    return !order.number.empty() && who.all.everyone.local().orders.times_repeated(
                                        order.number, shards::read_clock()) > order.repeated;
}

ss::future<> acquire(client& who, owned_request args) {
    const auto views = args.views();
    auto order = read_acquire(who, request{views});
    if (!order) {
        co_return;
    }
    who.lives_with_locks = who.lives_with_locks || !order->ttl;
    if (who.holds_turns) {
        order->wait.reset();  // nothing waits within a transaction
    }
    who.all.everyone.local().note_order(who, order->number, order->repeated);
    if (is_late(who, *order)) {
        co_return reply_lock_error(who.reply, shards::lock_error::moved);
    }
    if (order->repeated > 0) {
        order->repeats = co_await given_before(who, order->number, order->repeated);
        who.order.fence = order->repeats.value_or(0);  // if we do not get any further
        if (who.gone.abort_requested()) {
            co_return end_wait_for_good(who);
        }
    }
    const auto answer = co_await wait_for_lock(who, *order);
    if (answer.how == lock_answer::end::granted && !order->number.empty()) {
        who.order.fence = answer.given.fence;
    } else if (answer.how != lock_answer::end::cancelled) {
        who.order.fence = 0;
    }
    reply_answer(who, answer);
}

/// LK.RELEASE key owner: holds left, nil if not the owner.
void release(const key_call& call) {
    const auto left = call.table().release_hold(call.key(1), call.args[2], call.now, call.client);
    if (!left) {
        return reply_lock_error(call.reply, left.error());
    }
    *left ? call.reply.integer(**left) : call.reply.null();
}

/// LK.EXTEND key owner ms: what is left now, nil if not the owner.
ss::future<> extend(client& who, owned_request args) {
    const auto ttl = read_ttl(args[3], "lk.extend", limits_of(who), who.reply);
    if (!ttl) {
        co_return;
    }
    const auto until = co_await who.all.locks.invoke_on(
        who.all.locks.local().core_of(args[1]),
        [ttl = *ttl, database = who.database, args](shards::lock_service& locks) {
            return locks.extend(database, std::string(args[1]), std::string(args[2]), ttl);
        });
    if (!until) {
        reply_lock_error(who.reply, until.error());
    } else if (*until) {
        who.reply.integer(told_ttl(**until, shards::read_clock()));
    } else {
        who.reply.null();
    }
}

// ---- several locks ------------------------------------------------------------------------------

struct several {
    std::vector<std::string> keys;
    std::string owner;
    size_t options = 0;  ///< where they begin
};

/// numkeys key... owner
std::optional<several> read_several(client& who, const owned_request& args) {
    const auto count = protocol::parse_integer(args[1]);
    if (!count) {
        reply_not_an_integer(who.reply);
        return std::nullopt;
    }
    if (*count < 1) {
        who.reply.error("ERR numkeys should be greater than 0");
        return std::nullopt;
    }
    if (static_cast<uint64_t>(*count) + 3 > args.size()) {
        who.reply.error("ERR Number of keys can't be greater than number of args");
        return std::nullopt;
    }
    several all;
    const auto keys = static_cast<size_t>(*count);
    for (size_t i = 0; i < keys; ++i) {
        all.keys.emplace_back(args[2 + i]);
    }
    all.owner = args[2 + keys];
    all.options = 3 + keys;
    if (is_owner_too_long(all.owner, limits_of(who), who.reply)) {
        return std::nullopt;
    }
    auto sorted = all.keys;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
        who.reply.error("ERR the same key is given twice");
        return std::nullopt;
    }
    return all;
}

/// One client's way to several locks: one after the other in the order of their names, which is the
/// same for everybody, so that no two of them wait for each other. While it collects them they live
/// by the connection; when it has all, they get their time.
class collector {
public:
    collector(client& who, several wanted, lock_order options)
        : _who(who),
          _wanted(std::move(wanted)),
          _options(std::move(options)),
          _grants(_wanted.keys.size()),
          _homes(_wanted.keys.size()) {}

    ss::future<> run() {
        std::vector<size_t> order(_wanted.keys.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::sort(order, {}, [this](size_t i) { return _wanted.keys[i]; });
        const auto start = shards::read_clock();
        _who.lives_with_locks = true;
        for (const size_t i : order) {
            auto one = _options;
            one.key = _wanted.keys[i];
            one.owner = _wanted.owner;
            one.ttl.reset();
            if (one.wait && one.wait->count() > 0) {
                const auto waited = std::chrono::floor<milliseconds>(shards::read_clock() - start);
                one.wait = std::max(*one.wait - waited, milliseconds(1));
            }
            const auto answer = co_await wait_for_lock(_who, std::move(one));
            if (answer.how != lock_answer::end::granted) {
                co_await give_back();
                reply_answer(_who, answer);
                co_return;
            }
            _grants[i] = answer.given;
            _homes[i] = answer.home;
            _taken.push_back(i);
        }
        if (_options.ttl && !co_await set_ttls()) {
            co_await give_back();
            _who.reply.null_array();
            co_return;
        }
        reply();
    }

private:
    /// Does something to one of our keys, on its core.
    template <typename Work>
    auto on_key(size_t i, Work work) {
        return _who.all.locks.invoke_on(_who.all.locks.local().core_of(_wanted.keys[i]),
                                        [work, database = _who.database, name = _wanted.keys[i],
                                         owner = _wanted.owner](shards::lock_service& locks) {
                                            const auto now = shards::read_clock();
                                            auto done = work(locks, locks.key(database, name),
                                                             std::string_view(owner), now);
                                            locks.settle(now);
                                            return done;
                                        });
    }

    /// The same at the proxy that has given it. Its number, if it gave one.
    ss::future<std::optional<int64_t>> ask_home(size_t i, std::string_view verb,
                                                std::optional<int64_t> argument) {
        const std::string number = std::to_string(argument.value_or(0));
        std::vector<std::string_view> words{verb, _wanted.keys[i], _wanted.owner};
        if (argument) {
            words.push_back(number);
        }
        const auto result = co_await _who.homes().call(_homes[i], request{words});
        co_return result ? result->as_integer() : std::nullopt;
    }

    ss::future<bool> set_ttls() {
        for (const size_t i : _taken) {
            if (!_homes[i].empty()) {
                // It counts from when the home was asked: the answer may have been long on its way.
                const auto asked = shards::read_clock();
                const auto left = co_await ask_home(i, "LK.EXTEND", _options.ttl->count());
                if (!left) {
                    co_return false;
                }
                _grants[i].until = asked + milliseconds(*left);
                continue;
            }
            const auto until = co_await on_key(
                i, [ttl = *_options.ttl](auto& locks, auto key, auto owner, auto now) {
                    return locks.table().extend_hold(key, owner, ttl, now);
                });
            if (!until || !*until) {
                co_return false;  // one of them has been taken from us meanwhile
            }
            _grants[i].until = **until;
        }
        co_return true;
    }

    ss::future<> give_back() {
        for (const size_t i : _taken) {
            if (!_homes[i].empty()) {
                co_await ask_home(i, "LK.RELEASE", std::nullopt);
                continue;
            }
            co_await on_key(i, [](auto& locks, auto key, auto owner, auto now) {
                return locks.table().release_hold(key, owner, now);
            });
        }
        _taken.clear();
    }

    /// [[fence, ...], ttl], in the order of the request.
    void reply() {
        const auto now = shards::read_clock();
        shards::instant until = shards::end_of_time;
        for (const shards::grant& each : _grants) {
            until = std::min(until, each.until);
        }
        _who.reply.array(2);
        _who.reply.array(_grants.size());
        for (const shards::grant& each : _grants) {
            _who.reply.integer(static_cast<int64_t>(each.fence));
        }
        _who.reply.integer(told_ttl(until, now));
    }

    client& _who;
    several _wanted;
    lock_order _options;
    std::vector<shards::grant> _grants;
    std::vector<std::string> _homes;  ///< the proxy that has given it; empty: ours
    std::vector<size_t> _taken;
};

ss::future<> acquire_all(client& who, owned_request args) {
    auto wanted = read_several(who, args);
    if (!wanted) {
        co_return;
    }
    lock_order options{.database = who.database, .client = who.id};
    const auto views = args.views();
    if (!read_order_options(request{views}, wanted->options, "lk.acquireall", limits_of(who),
                            options, who.reply)) {
        co_return;
    }
    if (options.mode != shards::lock_mode::exclusive) {
        reply_syntax_error(who.reply);
        co_return;
    }
    if (who.holds_turns) {
        options.wait.reset();
    }
    collector all(who, std::move(*wanted), std::move(options));
    co_await all.run();
}

/// One of several locks, if another proxy has it: each key has a home of its own.
ss::future<std::optional<forward_result>> release_at_home(client& who, std::string key,
                                                          std::string owner) {
    if (who.holds_turns || who.route() != shards::order_route::to_home ||
        who.all.locks.local().leases() == nullptr) {
        co_return std::nullopt;
    }
    std::vector<std::string> keys{std::string(home_key(key))};
    co_return co_await ask_home(who, std::move(keys), shards::forward_journey::if_unknown::tell,
                                [&](const std::string& home) {
                                    const std::string_view words[] = {"LK.RELEASE", key, owner};
                                    return who.homes().call(home, request{words});
                                });
}

ss::future<> release_all(client& who, owned_request args) {
    auto wanted = read_several(who, args);
    if (!wanted) {
        co_return;
    }
    if (wanted->options != args.size()) {
        reply_syntax_error(who.reply);
        co_return;
    }
    int64_t released = 0;
    bool is_known = true;
    for (const std::string& name : wanted->keys) {
        if (const auto there = co_await release_at_home(who, name, wanted->owner)) {
            is_known = is_known && *there;
            released += *there && (*there)->as_integer() ? 1 : 0;
            continue;
        }
        const auto left = co_await who.all.locks.invoke_on(
            who.all.locks.local().core_of(name),
            [name, owner = wanted->owner, database = who.database](shards::lock_service& locks) {
                const auto now = shards::read_clock();
                auto holds = locks.table().release_hold(locks.key(database, name), owner, now);
                locks.settle(now);
                return holds;
            });
        released += left && *left ? 1 : 0;
    }
    is_known ? who.reply.integer(released) : who.reply.error(home_lost);
}

std::vector<std::string_view> several_keys(client&, const request& args) {
    std::vector<std::string_view> keys;
    const auto count = protocol::parse_integer(args[1]);
    if (count && *count > 0 && static_cast<uint64_t>(*count) + 2 < args.size()) {
        for (size_t i = 0; i < static_cast<size_t>(*count); ++i) {
            keys.push_back(args[2 + i]);
        }
    }
    return keys;
}

constexpr uint32_t writes = flag_native | flag_write | flag_fast | flag_noscript;
constexpr uint32_t waits = flag_native | flag_write | flag_grows | flag_blocking | flag_noscript;
constexpr key_positions first{1, 1, 1};

constexpr command_spec table[] = {
    {.name = "lk.acquire",
     .least = 3,
     .most = -1,
     .flags = waits,
     .keys = first,
     .in_time = acquire},
    {.name = "lk.acquireall",
     .least = 4,
     .most = -1,
     .flags = waits | flag_movable_keys,
     .in_time = acquire_all,
     .find_keys = several_keys},
    {.name = "lk.extend", .least = 4, .most = 4, .flags = writes, .keys = first, .in_time = extend},
    {.name = "lk.release",
     .least = 3,
     .most = 3,
     .flags = writes,
     .keys = first,
     .on_keys = release},
    {.name = "lk.releaseall",
     .least = 4,
     .most = -1,
     .flags = writes | flag_movable_keys | flag_finds_homes,
     .in_time = release_all,
     .find_keys = several_keys},
};

}  // namespace

std::span<const command_spec> native_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
