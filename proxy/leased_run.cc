#include "proxy/leased_run.hh"

#include <algorithm>
#include <new>
#include <seastar/core/coroutine.hh>
#include <set>
#include <string_view>
#include <utility>

#include "proxy/client.hh"

namespace lockkeeper::proxy {

namespace {

using shards::lease_outcome;

/// Runs it once. What it wants of the masters.
std::vector<shards::wanted_lease> run_once(shards::lock_service& locks,
                                           const core_batch::item& item, protocol::output& bytes) {
    const auto views = item.request.views();
    const protocol::request request{views};
    const size_t mark = bytes.size();
    protocol::reply_writer writer(bytes, item.spoken);
    const auto now = shards::read_clock();
    try {
        if (item.spec->flags & flag_grows && memory_is_short()) {
            reply_out_of_memory(writer);
        } else {
            item.spec->on_keys({request, item.database, locks, now, writer, item.client});
        }
    } catch (const std::bad_alloc&) {
        bytes.truncate(mark);
        reply_out_of_memory(writer);
    }
    auto wanted = locks.leases()->take_wanted();
    locks.settle(now);
    return wanted;
}

ss::future<> run_one(shards::lock_service& locks, const core_batch::item& item,
                     protocol::output& bytes, turn whose) {
    shards::lease_keeper::kept keep(*locks.leases());
    const auto began = shards::read_clock();
    for (bool is_last = false;;
         is_last = shards::read_clock() - began > locks.leases()->patience()) {
        const bool takes_turn = whose == turn::wait_for_it && !locks.turn_is_free();
        if (takes_turn) {
            co_await locks.take_turn();
        }
        // The last time, what somebody else has had a moment ago is taken for his still.
        locks.leases()->ask_masters(!is_last);
        auto wanted = run_once(locks, item, bytes);
        locks.leases()->ask_masters(true);
        if (takes_turn) {
            locks.give_turn();
        }
        if (wanted.empty()) {
            co_return;
        }
        const bool is_done = std::ranges::all_of(wanted, &shards::wanted_lease::is_cover);
        const auto outcome = co_await locks.leases()->see_to(std::move(wanted), keep);
        if (is_done && outcome == lease_outcome::ready) {
            co_return;
        }
        bytes.truncate(0);
        if (is_done || is_last || outcome == lease_outcome::unreachable) {
            break;
        }
    }
    protocol::reply_writer writer(bytes, item.spoken);
    reply_lock_error(writer, shards::lock_error::no_lease);
}

ss::future<> wait_for_all(std::vector<ss::future<>>& under_way) {
    std::exception_ptr trouble;
    for (auto& each : under_way) {
        try {
            co_await std::move(each);
        } catch (...) {
            trouble = std::current_exception();
        }
    }
    under_way.clear();
    if (trouble) {
        std::rethrow_exception(trouble);
    }
}

}  // namespace

ss::future<core_replies> run_leased(shards::lock_service& locks, core_batch batch, turn whose) {
    std::vector<protocol::output> written(batch.items.size());
    std::vector<ss::future<>> under_way;
    std::set<std::string, std::less<>> busy;
    for (size_t i = 0; i < batch.items.size(); ++i) {
        const auto& item = batch.items[i];
        const auto views = item.request.views();
        const auto keys = keys_of(*item.spec, protocol::request{views});
        const bool meets = keys.empty() || std::ranges::any_of(keys, [&](std::string_view key) {
                               return busy.contains(key);
                           });
        if (meets && !under_way.empty()) {
            co_await wait_for_all(under_way);
            busy.clear();
        }
        auto done = run_one(locks, item, written[i], whose);
        if (done.available() || keys.empty()) {
            co_await std::move(done);
            continue;
        }
        under_way.push_back(std::move(done));
        busy.insert(keys.begin(), keys.end());
    }
    co_await wait_for_all(under_way);
    core_replies replies;
    replies.ends.reserve(written.size());
    for (const protocol::output& each : written) {
        replies.bytes.append(each.view());
        replies.ends.push_back(replies.bytes.size());
    }
    co_return replies;
}

}  // namespace lockkeeper::proxy
