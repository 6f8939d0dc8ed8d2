#include "proxy/router.hh"

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sharded.hh>
#include <seastar/coroutine/as_future.hh>

#include "proxy/client.hh"
#include "proxy/leased_run.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

/// As session::fetch_keys() does for a session on the core of its keys.
void fetch_keys(shards::lock_service& locks, const core_batch& batch) {
    constexpr size_t short_pipeline = 4;
    if (batch.items.size() < short_pipeline ||
        !locks.table().is_worth_fetching(batch.items.front().database)) {
        return;
    }
    std::vector<shards::lock_key> keys;
    keys.reserve(batch.items.size());
    for (const auto& item : batch.items) {
        if (const auto views = item.request.views(); views.size() > 1) {
            keys.push_back({item.database, views[1], locks.hasher().place(views[1]).bucket});
        }
    }
    locks.table().fetch(keys);
}

core_replies run_all(shards::lock_service& locks, const core_batch& batch) {
    fetch_keys(locks, batch);
    core_replies replies;
    replies.ends.reserve(batch.items.size());
    for (const auto& item : batch.items) {
        const auto views = item.request.views();
        const protocol::request request{views};
        protocol::reply_writer writer(replies.bytes, item.spoken);
        const size_t mark = replies.bytes.size();
        const auto now = shards::read_clock();
        try {
            if (item.spec->flags & flag_grows && memory_is_short()) {
                reply_out_of_memory(writer);
            } else {
                item.spec->on_keys({request, item.database, locks, now, writer, item.client});
            }
        } catch (const std::bad_alloc&) {
            replies.bytes.truncate(mark);
            reply_out_of_memory(writer);
        }
        locks.settle(now);
        if (const auto refused = locks.table().take_polled()) [[unlikely]] {
            replies.polled.push_back(*refused);
        }
        replies.ends.push_back(replies.bytes.size());
    }
    return replies;
}

ss::future<core_replies> run_in_turn(shards::lock_service& locks, core_batch batch) {
    co_await locks.take_turn();
    auto replies = run_all(locks, batch);
    locks.give_turn();
    co_return replies;
}

}  // namespace

ss::future<core_replies> run_on(services& all, ss::shard_id core, core_batch batch, turn whose) {
    return all.locks.invoke_on(
        core, [batch = std::move(batch), whose](shards::lock_service& locks) mutable {
            if (locks.leases() != nullptr) {
                return run_leased(locks, std::move(batch), whose);
            }
            if (whose == turn::have_it || locks.turn_is_free()) {
                return ss::make_ready_future<core_replies>(run_all(locks, batch));
            }
            return run_in_turn(locks, std::move(batch));
        });
}

std::vector<ss::shard_id> cores_of(const services& all, const std::vector<std::string_view>& keys) {
    std::vector<ss::shard_id> cores;
    cores.reserve(keys.size());
    for (const std::string_view key : keys) {
        cores.push_back(all.locks.local().core_of(key));
    }
    std::ranges::sort(cores);
    cores.erase(std::ranges::unique(cores).begin(), cores.end());
    return cores;
}

std::optional<ss::shard_id> one_core_of(const services& all,
                                        const std::vector<std::string_view>& keys) {
    if (ss::smp::count == 1 || keys.empty()) {
        return ss::this_shard_id();
    }
    const ss::shard_id first = all.locks.local().core_of(keys.front());
    for (size_t i = 1; i < keys.size(); ++i) {
        if (all.locks.local().core_of(keys[i]) != first) {
            return std::nullopt;
        }
    }
    return first;
}

ss::future<> with_turns(client& who, std::vector<ss::shard_id> cores,
                        std::function<ss::future<>()> work) {
    if (who.holds_turns) {
        co_await work();
        co_return;
    }
    for (const ss::shard_id core : cores) {
        co_await who.all.locks.invoke_on(core, &shards::lock_service::take_turn);
    }
    who.holds_turns = true;
    auto done = co_await ss::coroutine::as_future(work());
    who.holds_turns = false;
    for (const ss::shard_id core : cores) {
        co_await who.all.locks.invoke_on(core, &shards::lock_service::give_turn);
    }
    done.get();
}

}  // namespace lockkeeper::proxy
