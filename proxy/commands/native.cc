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
#include "proxy/router.hh"
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

/// One of several locks, of which the proxy of this client has all now.
ss::future<> confirm_for_proxy(client& who, lock_order order) {
    const auto given = co_await who.all.locks.invoke_on(
        who.all.locks.local().core_of(order.key), [order](shards::lock_service& locks) mutable {
            return locks.confirm(turn::wait_for_it, std::move(order));
        });
    if (!given) {
        reply_lock_error(who.reply, given.error());
    } else if (*given) {
        reply_grant(who.reply, **given, shards::read_clock());
    } else {
        who.reply.null_array();
    }
}

ss::future<> acquire(client& who, owned_request args) {
    const auto views = args.views();
    auto order = read_acquire(who, request{views});
    if (!order) {
        co_return;
    }
    who.lives_with_locks = who.lives_with_locks || !order->ttl;
    if (order->confirms) {
        co_return co_await confirm_for_proxy(who, std::move(*order));
    }
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
        [ttl = *ttl, database = who.database, args,
         whose = who.holds_turns ? turn::have_it : turn::wait_for_it](shards::lock_service& locks) {
            return locks.extend(whose, database, std::string(args[1]), std::string(args[2]), ttl);
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
/// by the connection, and what the owner had before stays as it was; when it has all, they get
/// their time. If one has been lost by then, it has none.
class collector {
public:
    collector(client& who, several wanted, lock_order options)
        : _who(who),
          _wanted(std::move(wanted)),
          _options(std::move(options)),
          _all(_wanted.keys.size()) {}

    ss::future<> run() {
        std::vector<size_t> order(_wanted.keys.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::sort(order, {}, [this](size_t i) { return _wanted.keys[i]; });
        const auto start = shards::read_clock();
        _who.lives_with_locks = true;
        for (const size_t i : order) {
            auto one = order_of(i);
            one.is_collected = true;
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
            _all[i] = {.given = answer.given, .home = answer.home};
            if (_all[i].is_fresh()) {
                note_conversation(_all[i]);
            }
            _taken.push_back(i);
        }
        auto answer = co_await confirm_all();
        if (answer.how == lock_answer::end::granted && ends() <= shards::read_clock()) {
            answer = {};
        }
        if (answer.how != lock_answer::end::granted) {
            co_await give_back();
            reply_answer(_who, answer);
            co_return;
        }
        reply();
    }

private:
    struct taken {
        shards::grant given{};
        std::string home{};                      ///< the proxy that has given it; empty: ours
        std::optional<uint64_t> conversation{};  ///< if it lives by one there

        bool is_fresh() const { return given.holds == 1; }
    };

    lock_order order_of(size_t i) const {
        auto one = _options;
        one.key = _wanted.keys[i];
        one.owner = _wanted.owner;
        return one;
    }

    void note_conversation(taken& one) {
        if (!one.home.empty()) {
            one.conversation = _who.homes().conversation_with(one.home);
        }
    }

    template <typename Work>
    auto on_core_of(size_t i, Work work) {
        return _who.all.locks.invoke_on(_who.all.locks.local().core_of(_wanted.keys[i]),
                                        std::move(work));
    }

    turn whose_turn() const { return _who.holds_turns ? turn::have_it : turn::wait_for_it; }

    /// As far as that is known without asking another proxy.
    ss::future<bool> is_there(size_t i) {
        const taken& one = _all[i];
        if (!one.home.empty()) {
            // It ends with the conversation that it lives by, even if another one has begun.
            const uint64_t present = _who.homes().conversation_with(one.home);
            return ss::make_ready_future<bool>(!one.conversation ||
                                               (present != 0 && present == *one.conversation));
        }
        return on_core_of(i,
                          [database = _who.database, key = _wanted.keys[i], owner = _wanted.owner,
                           fence = one.given.fence](shards::lock_service& locks) {
                              return locks.table().holds(locks.key(database, key), owner, fence,
                                                         shards::read_clock());
                          });
    }

    ss::future<lock_answer> confirm(size_t i) {
        auto order = order_of(i);
        order.confirms = {.fence = _all[i].given.fence,
                          .how = _all[i].is_fresh() ? shards::collected_as::fresh
                                                    : shards::collected_as::held_before};
        if (!_all[i].home.empty()) {
            order.wait.reset();
            co_return co_await confirm_at_home(_who, _all[i].home, std::move(order));
        }
        const auto given = co_await on_core_of(i, [whose = whose_turn(), order = std::move(order)](
                                                      shards::lock_service& locks) mutable {
            return locks.confirm(whose, std::move(order));
        });
        if (!given) {
            co_return lock_answer{.how = lock_answer::end::failed, .error = given.error()};
        }
        co_return *given ? lock_answer{.how = lock_answer::end::granted, .given = **given}
                         : lock_answer{};
    }

    /// First all are looked at and the fresh ones confirmed, so that what the owner had before is
    /// hardly ever made longer for nothing.
    ss::future<lock_answer> confirm_all() {
        for (const size_t i : _taken) {
            if (!co_await is_there(i)) {
                co_return lock_answer{};
            }
        }
        for (const bool fresh_ones : {true, false}) {
            for (const size_t i : _taken) {
                if (_all[i].is_fresh() != fresh_ones) {
                    continue;
                }
                auto answer = co_await confirm(i);
                if (answer.how != lock_answer::end::granted) {
                    co_return answer;
                }
                _all[i].given.until = answer.given.until;
                if (!_options.ttl) {
                    note_conversation(_all[i]);
                }
            }
        }
        for (const size_t i : _taken) {
            if (!_options.ttl && !co_await is_there(i)) {
                co_return lock_answer{};  // its link broke while others were asked
            }
        }
        co_return lock_answer{.how = lock_answer::end::granted};
    }

    ss::future<> give_back() {
        for (const size_t i : _taken) {
            if (!_all[i].home.empty()) {
                const std::string_view words[] = {"LK.RELEASE", _wanted.keys[i], _wanted.owner};
                co_await _who.homes().call(_all[i].home, request{words}).discard_result();
                continue;
            }
            co_await on_core_of(i, [whose = whose_turn(), database = _who.database,
                                    key = _wanted.keys[i], owner = _wanted.owner,
                                    fence = _all[i].given.fence](shards::lock_service& locks) {
                return locks.take_back(whose, database, key, owner, fence);
            });
        }
        _taken.clear();
    }

    /// Of the one that ends first.
    shards::instant ends() const {
        return std::ranges::min_element(_all, {}, [](const taken& one) { return one.given.until; })
            ->given.until;
    }

    /// [[fence, ...], ttl], in the order of the request.
    void reply() {
        _who.reply.array(2);
        _who.reply.array(_all.size());
        for (const taken& each : _all) {
            _who.reply.integer(static_cast<int64_t>(each.given.fence));
        }
        _who.reply.integer(told_ttl(ends(), shards::read_clock()));
    }

    client& _who;
    several _wanted;
    lock_order _options;
    std::vector<taken> _all;
    std::vector<size_t> _taken;  ///< which of them are ours
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
            [name, owner = wanted->owner, database = who.database,
             whose =
                 who.holds_turns ? turn::have_it : turn::wait_for_it](shards::lock_service& locks) {
                return locks.in_turn(whose, [&locks, name, owner, database] {
                    const auto now = shards::read_clock();
                    auto holds = locks.table().release_hold(locks.key(database, name), owner, now);
                    locks.settle(now);
                    return holds;
                });
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
