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

bool are_covers(const std::vector<shards::wanted_lease>& wanted) {
    return std::ranges::all_of(wanted, &shards::wanted_lease::is_cover);
}

leased_attempt try_item(shards::lock_service& locks, const core_batch::item& item,
                        protocol::output& bytes) {
    const auto views = item.request.views();
    const protocol::request request{views};
    protocol::reply_writer writer(bytes, item.spoken);
    return try_leased(*item.spec,
                      {request, item.database, locks, shards::read_clock(), writer, item.client},
                      bytes);
}

void refuse(const core_batch::item& item, protocol::output& bytes) {
    protocol::reply_writer writer(bytes, item.spoken);
    reply_lock_error(writer, shards::lock_error::no_lease);
}

/// Where a command belongs whose keys are not here. Which key is a lock the caller need not know:
/// those beside one are on no master.
ss::future<std::optional<std::string>> home_of(shards::lock_service& locks,
                                               const core_batch::item& item, bool may_ask) {
    shards::lease_keeper& leases = *locks.leases();
    const auto now = shards::read_clock();
    for (const std::string& name : item.keys) {
        if (leases.is_here(locks.key(item.database, name), now)) {
            co_return std::nullopt;
        }
    }
    for (const std::string& name : item.keys) {
        if (auto home = leases.known_home(locks.key(item.database, name), now)) {
            co_return home;
        }
    }
    for (size_t i = 0; may_ask && i < item.keys.size(); ++i) {
        const std::string& name = item.keys[i];
        if (auto home = co_await leases.find_home(item.database, name,
                                                  locks.key(item.database, name).hash)) {
            co_return home;
        }
    }
    co_return std::nullopt;
}

ss::future<bool> is_home(shards::lock_service& locks, const core_batch::item& item) {
    for (const std::string& name : item.keys) {
        if (co_await locks.leases()->comes_to_be_here(item.database, name,
                                                      locks.key(item.database, name).hash)) {
            co_return true;
        }
    }
    co_return item.keys.empty();
}

/// What else is to be known of a command that was carried out.
struct run_notes {
    std::string home{};  ///< another proxy that is to do it
    std::optional<shards::polled_try> polled{};
};

ss::future<> run_one(shards::lock_service& locks, const core_batch::item& item,
                     protocol::output& bytes, turn whose, run_notes& notes) {
    using enum shards::order_route;
    shards::lease_keeper& leases = *locks.leases();
    shards::lease_keeper::kept keep(leases);
    const auto route = leases.finds_homes() ? item.route : here;
    if (route == as_home && !co_await is_home(locks, item)) {
        protocol::reply_writer writer(bytes, item.spoken);
        reply_lock_error(writer, shards::lock_error::moved);
        co_return;
    }
    // Who takes a lock finds out by trying; who looks at it would take it for free.
    if (route == to_home) {
        const auto words = item.request.views();
        const bool tries_first = item.spec->finds_out_by_trying &&
                                 item.spec->finds_out_by_trying(protocol::request{words});
        if (auto found = co_await home_of(locks, item, !tries_first)) {
            notes.home = std::move(*found);
            co_return;
        }
    }
    const auto began = shards::read_clock();
    if (!item.wanted.empty()) {
        const auto outcome = co_await leases.see_to(item.wanted, keep);
        if (item.answer && outcome == lease_outcome::ready) {
            bytes.append(*item.answer);
            co_return;
        }
        if (item.answer || outcome == lease_outcome::unreachable) {
            refuse(item, bytes);
            co_return;
        }
    }
    const size_t mark = bytes.size();
    for (bool is_last = false;; is_last = shards::read_clock() - began > leases.patience()) {
        const bool takes_turn = whose == turn::wait_for_it && !locks.turn_is_free();
        if (takes_turn) {
            co_await locks.take_turn();
        }
        // The last time, what somebody else has had a moment ago is taken for his still.
        leases.ask_masters(!is_last);
        auto tried = try_item(locks, item, bytes);
        leases.ask_masters(true);
        notes.polled = tried.polled;
        if (takes_turn) {
            locks.give_turn();
        }
        if (tried.how == leased_attempt::end::answered) {
            co_return;
        }
        const auto outcome = co_await leases.see_to(std::move(tried.wanted), keep);
        const bool is_done = tried.how == leased_attempt::end::uncovered;
        if (is_done && outcome == lease_outcome::ready) {
            co_return;
        }
        if (is_done || is_last || outcome == lease_outcome::unreachable) {
            break;
        }
        if (route == to_home && outcome == lease_outcome::elsewhere) {
            if (auto found = co_await home_of(locks, item, true)) {
                notes.home = std::move(*found);
                co_return;
            }
        }
    }
    bytes.truncate(mark);
    refuse(item, bytes);
}

void add(core_replies& replies, size_t index, run_notes& notes, core_batch& batch) {
    if (!notes.home.empty()) {
        replies.homes.push_back({index, std::move(notes.home), std::move(batch.items[index])});
    }
    if (notes.polled) {
        replies.polled.push_back(*notes.polled);
    }
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

leased_attempt try_leased(const command_spec& spec, const key_call& call, protocol::output& bytes) {
    const size_t mark = bytes.size();
    try {
        if (spec.flags & flag_grows && memory_is_short()) {
            reply_out_of_memory(call.reply);
        } else {
            spec.on_keys(call);
        }
    } catch (const std::bad_alloc&) {
        bytes.truncate(mark);
        reply_out_of_memory(call.reply);
    }
    leased_attempt tried{.how = leased_attempt::end::answered,
                         .wanted = call.locks.leases()->take_wanted(),
                         .polled = call.locks.table().take_polled()};
    call.locks.settle(call.now);
    if (!tried.wanted.empty()) {
        tried.how = are_covers(tried.wanted) ? leased_attempt::end::uncovered
                                             : leased_attempt::end::not_run;
    }
    if (tried.how == leased_attempt::end::not_run) {
        bytes.truncate(mark);
    }
    return tried;
}

ss::future<core_replies> run_leased(shards::lock_service& locks, core_batch batch, turn whose) {
    if (batch.items.size() == 1) {
        core_replies only;
        run_notes notes;
        co_await run_one(locks, batch.items.front(), only.bytes, whose, notes);
        only.ends.push_back(only.bytes.size());
        add(only, 0, notes, batch);
        co_return only;
    }
    std::vector<protocol::output> written(batch.items.size());
    std::vector<run_notes> notes(batch.items.size());
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
        auto done = run_one(locks, item, written[i], whose, notes[i]);
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
    for (size_t i = 0; i < notes.size(); ++i) {
        add(replies, i, notes[i], batch);
    }
    co_return replies;
}

}  // namespace lockkeeper::proxy
