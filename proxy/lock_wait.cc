#include "proxy/lock_wait.hh"

#include <seastar/core/coroutine.hh>
#include <utility>

#include "proxy/at_home.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/draining.hh"
#include "proxy/lock_orders.hh"
#include "proxy/peers.hh"
#include "proxy/services.hh"
#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

using shards::lock_answer;
using shards::lock_order;
using shards::lock_service;

ss::future<lock_answer> acquire_at(client& who, ss::shard_id core, lock_order order) {
    if (core == ss::this_shard_id()) {
        return who.all.locks.local().acquire(std::move(order));
    }
    return who.all.locks.invoke_on(core, [order = std::move(order)](lock_service& locks) mutable {
        return locks.acquire(std::move(order));
    });
}

void cancel_at(client& who, ss::shard_id core) noexcept {
    // The service outlives every session.
    shards::abandon(who.all.locks.invoke_on(
        core, [id = who.id](lock_service& locks) { locks.cancel_wait(id); }));
}

ss::future<> take_back_at(client& who, ss::shard_id core, uint32_t database, std::string key,
                          std::string owner, uint64_t fence) {
    return who.all.locks.invoke_on(core, [database, key = std::move(key), owner = std::move(owner),
                                          fence](lock_service& locks) {
        return locks.take_back(shards::turn::wait_for_it, database, key, owner, fence);
    });
}

/// Waits, with everything that may end the wait.
ss::future<lock_answer> wait_at(client& who, ss::shard_id core, lock_order order) {
    const uint32_t database = order.database;
    // So does a client of another proxy when that one has something else to say for it.
    const bool ends_when_heard = order.is_parked || order.route == shards::order_route::as_home;
    const std::string key = order.key;
    const std::string owner = order.owner;
    if (who.gone.abort_requested()) {
        co_return lock_answer{.how = lock_answer::end::cancelled};
    }
    auto hung_up = who.gone.subscribe([&who, core]() noexcept { cancel_at(who, core); });
    who.end_reply();
    auto answered = acquire_at(who, core, std::move(order));
    if (!answered.available()) {
        who.blocked = true;
        if (ends_when_heard) {
            who.when_heard([&who, core] { cancel_at(who, core); });
        }
    }
    auto answer = co_await std::move(answered);
    who.blocked = false;
    if (ends_when_heard) {
        who.when_heard(nullptr);
    }
    if (answer.how == lock_answer::end::granted && who.gone.abort_requested()) {
        co_await take_back_at(who, core, database, key, owner, answer.given.fence);
        who.order.fence = 0;  // and need not be known again
        answer.how = lock_answer::end::cancelled;
    }
    co_return answer;
}

}  // namespace

namespace {

ss::future<lock_answer> acquire_once(client& who, ss::shard_id core, lock_order order) {
    return order.wait ? wait_at(who, core, std::move(order))
                      : acquire_at(who, core, std::move(order));
}

/// Where the lease is, wherever that moves while we wait. What was lost on the way, a link or a
/// place in line, is asked for again in the time that is left.
ss::future<lock_answer> follow(client& who, ss::shard_id core, lock_order order) {
    using end = lock_answer::end;
    const auto deadline = order.wait && order.wait->count() > 0 ? shards::read_clock() + *order.wait
                                                                : shards::end_of_time;
    shards::forward_journey journey(shards::forward_journey::if_unknown::ask_again);
    while (true) {
        auto answer = co_await acquire_once(who, core, order);
        const bool has_moved =
            answer.how == end::failed && answer.error == shards::lock_error::moved;
        if (answer.how != end::elsewhere && !has_moved) {
            co_return answer;
        }
        if (order.route == shards::order_route::as_home || order.is_parked) {
            answer.how = end::elsewhere;
            co_return answer;
        }
        if (has_moved) {
            journey.on_moved();
        } else {
            if (order.number.empty()) {
                order.number = who.all.links.local().new_order();
            }
            auto there = co_await acquire_at_home(who, answer.home, order);
            if (there) {
                co_return std::move(*there);
            }
            order.repeated += there.error() == forward_trouble::unknown ? 1 : 0;
            journey.on_trouble(there.error());
        }
        if (who.gone.abort_requested()) {
            co_return lock_answer{.how = end::cancelled};
        }
        if (deadline != shards::end_of_time) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - shards::read_clock());
            order.wait = std::max(left, std::chrono::milliseconds(1));
        }
        if (who.was_unblocked) {
            order.wait = std::chrono::milliseconds(1);  // unless it has been granted meanwhile
        }
        order.route = journey.route();
    }
}

/// Another proxy tells the client that nobody gave it the lock, and not why.
ss::future<lock_answer> follow_home(client& who, ss::shard_id core, lock_order order) {
    using end = lock_answer::end;
    who.was_unblocked = false;
    auto answer = co_await follow(who, core, std::move(order));
    if (std::exchange(who.was_unblocked, false)) {
        if (answer.how == end::refused) {
            answer.how = end::cancelled;
        } else if (answer.how != end::cancelled) {
            who.unblocked_with_error = false;
        }
    }
    co_return answer;
}

}  // namespace

ss::future<lock_answer> wait_for_lock(client& who, lock_order order) {
    const ss::shard_id core = who.all.locks.local().core_of(order.key);
    order.route = who.holds_turns ? shards::order_route::here : who.route();
    if (order.route != shards::order_route::here) {
        return follow_home(who, core, std::move(order));
    }
    if (!order.wait) {
        if (who.holds_turns) {
            // The turn is ours already: acquire() would wait for it.
            return who.all.locks.invoke_on(core,
                                           [order = std::move(order)](lock_service& locks) mutable {
                                               return locks.acquire_in_turn(std::move(order));
                                           });
        }
        return acquire_at(who, core, std::move(order));
    }
    return wait_at(who, core, std::move(order));
}

void end_wait_for_good(client& who) {
    // A client of another proxy is not told: its own proxy sees its channel end, and asks
    // elsewhere.
    if (draining::has_begun && who.from_proxy.empty()) {
        who.reply.error(
            "ERR STOPPING this server is stopping: ask another one, or again in a moment");
    }
    who.closing = true;  // what it sent behind this command is not for us to do
}

void reply_answer(client& who, const lock_answer& answer) {
    switch (answer.how) {
        case lock_answer::end::granted:
            return reply_grant(who.reply, answer.given, shards::read_clock());
        case lock_answer::end::failed:
            return answer.words.empty() ? reply_lock_error(who.reply, answer.error)
                                        : who.reply.error(answer.words);
        case lock_answer::end::elsewhere:
            return reply_lock_error(who.reply, shards::lock_error::moved);
        case lock_answer::end::refused:
            return who.reply.null_array();
        case lock_answer::end::cancelled:
            break;
    }
    if (who.gone.abort_requested()) {
        end_wait_for_good(who);
    } else if (std::exchange(who.unblocked_with_error, false)) {
        who.reply.error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
    } else {
        who.reply.null_array();
    }
}

}  // namespace lockkeeper::proxy
