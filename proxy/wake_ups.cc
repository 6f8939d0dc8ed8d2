#include "proxy/wake_ups.hh"

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/log.hh>
#include <span>

#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

ss::logger log("wake-ups");

/// How long one who was told may take to come: many round trips in a data centre, and little beside
/// what a waiter waits. A wide area is told of by the doubling.
constexpr auto claim_window = 20ms;

/// The same for the first in a queue, who may listen at another proxy of the fleet: nobody tells
/// whether he does, only whether he comes.
constexpr auto claim_window_elsewhere = 500ms;

/// Rounds of one core; a release beyond that is told to all at once.
constexpr size_t rounds_max = 10'000;

/// Of a crowd in line, the first few tell well enough where those are who want the lock.
constexpr size_t addresses_max = 256;

/// How long one who was called may be silent until it is looked at again whether he still listens.
constexpr auto longest_look = 1s;

bool is_head(shards::lock_service& locks, const shards::queue_head& who) {
    const auto now = shards::read_clock();
    const auto fields = locks.table().hash_fields(locks.key(who.database, who.queue), now);
    const bool is = fields && !fields->empty() && fields->front().name == who.owner;
    locks.settle(now);
    return is;
}

std::optional<std::string> without_head(shards::lock_service& locks,
                                        const shards::queue_head& gone) {
    auto& table = locks.table();
    const auto now = shards::read_clock();
    const auto key = locks.key(gone.database, gone.queue);
    std::optional<std::string> next;
    const auto fields = table.hash_fields(key, now);
    if (fields && !fields->empty() && fields->front().name == gone.owner) {
        if (fields->size() > 1) {
            next = std::string((*fields)[1].name);
        }
        // Queues are kept beside locks: no master holds them.
        table.lease_only(std::span<const std::string_view>());
        (void)table.hash_remove(key, gone.owner, now);
        table.lease_only(std::nullopt);
    }
    locks.settle(now);
    return next;
}

}  // namespace

struct wake_ups::round {
    shards::announcement what;
    subject about;
    uint64_t number;
    shards::instant begun;
    std::vector<uint64_t> asked;           ///< clients that had asked for the lock in vain
    std::vector<std::set<uint64_t>> told;  ///< numbers of subscriptions, by core
    std::set<std::string, std::less<>> addresses{};
    bool knows_addresses = false;

    /// For those on this core who do not know yet.
    wake_query query(ss::shard_id core, size_t most) const {
        return {.kind = kind_of(what.where),
                .channel = what.channel,
                .before = begun,
                .addresses = addresses,
                .except = told[core],
                .most = most};
    }
};

void wake_ups::announce(shards::announcement what) {
    if (what.calls && !_gate.is_closed()) {
        return shards::background(
            _gate, log, "calling the first in a queue",
            [this, what = std::move(what)]() mutable { return call_head(std::move(what)); });
    }
    if (_pass_on) {
        _pass_on(what);
    }
    hear(std::move(what));
}

void wake_ups::hear(shards::announcement what) {
    if (!what.frees) {
        return _messages.local().broadcast(std::move(what));
    }
    const ss::shard_id owner = _locks.local().core_of(what.frees->key);
    if (owner == ss::this_shard_id()) {
        return begin(std::move(what));
    }
    if (_gate.is_closed()) {
        return;
    }
    shards::background(
        _gate, log, "passing on a wake-up", [this, owner, what = std::move(what)]() mutable {
            return container().invoke_on(owner, [what = std::move(what)](wake_ups& there) mutable {
                there.begin(std::move(what));
            });
        });
}

void wake_ups::begin(shards::announcement what) {
    if (_gate.is_closed()) {
        return;
    }
    if (_newest.size() >= rounds_max) {
        return _messages.local().broadcast(std::move(what));
    }
    // Now, for the next command may be that of somebody who asked before and takes it.
    auto asked = who_asked(*what.frees);
    shards::background(_gate, log, "waking a listener",
                       [this, what = std::move(what), asked = std::move(asked)]() mutable {
                           return run(std::move(what), std::move(asked));
                       });
}

ss::future<> wake_ups::run(shards::announcement what, std::vector<uint64_t> asked) {
    round now{.what = std::move(what),
              .about = {},
              .number = ++_rounds,
              .begun = shards::read_clock(),
              .asked = std::move(asked),
              .told = std::vector<std::set<uint64_t>>(ss::smp::count)};
    now.about = {*now.what.frees, now.what.channel};
    _newest[now.about] = now.number;
    auto& counted = _everyone.local().counted.woken;
    ++counted.rounds;
    bool failed = false;
    try {
        co_await wake_by_and_by(now);
    } catch (const ss::sleep_aborted&) {
        // The server stops, and with it every wait.
    } catch (const std::exception& problem) {
        log.warn("a wake-up goes to all who listen: {}", problem.what());
        failed = true;
    }
    if (is_newest(now)) {
        _newest.erase(now.about);
    }
    ++counted.rounds_ended;
    if (failed) {
        _messages.local().broadcast(std::move(now.what));
    }
}

template <typename Work>
auto wake_ups::at_queue(const shards::queue_head& which, Work work)
    -> ss::future<std::invoke_result_t<Work, shards::lock_service&>> {
    // A script that has borrowed the queue brings it back before this.
    return _locks.invoke_on(
        _locks.local().core_of(which.queue), [work = std::move(work)](shards::lock_service& there) {
            return there.in_turn(shards::turn::wait_for_it, [&there, work] { return work(there); });
        });
}

ss::future<> wake_ups::call_head(shards::announcement what) {
    const std::pair queue{what.calls->database, what.calls->queue};
    const uint64_t number = ++_calls;
    _newest_call[queue] = number;
    try {
        while (!co_await is_answered(what, number)) {
            auto next = co_await drop_head(*what.calls);
            if (!next) {
                break;
            }
            what.channel = what.calls->channel_prefix + ":" + *next;
            what.calls->owner = std::move(*next);
        }
    } catch (const ss::sleep_aborted&) {
        // The server stops, and with it every wait.
    }
    if (is_newest_call(queue, number)) {
        _newest_call.erase(queue);
    }
}

/// False: who was called does not listen, and has not come. A message that is written to the
/// connection of one who has just died counts as heard, so he is watched until he has come.
ss::future<bool> wake_ups::is_answered(shards::announcement what, uint64_t number) {
    if (!co_await is_heard(what)) {
        if (_pass_on) {
            _pass_on(what);
        }
        // Perhaps he joined the queue a moment ago and has not subscribed yet. If he comes too late
        // for this look, he finds himself out of the queue and joins it again.
        co_await ss::sleep_abortable<ss::lowres_clock>(
            _pass_on ? claim_window_elsewhere : claim_window, _stopping);
        if (!co_await is_heard(what)) {
            co_return false;
        }
    }
    const std::pair queue{what.calls->database, what.calls->queue};
    for (ss::lowres_clock::duration pause = claim_window;;
         pause = std::min<ss::lowres_clock::duration>(2 * pause, longest_look)) {
        co_await ss::sleep_abortable<ss::lowres_clock>(pause, _stopping);
        if (!is_newest_call(queue, number)) {
            co_return true;  // the next call watches
        }
        const bool waits = co_await at_queue(
            *what.calls, [who = *what.calls](auto& there) { return is_head(there, who); });
        if (!waits) {
            co_return true;
        }
        if (!co_await is_listened_to(what)) {
            co_return false;
        }
    }
}

bool wake_ups::is_newest_call(const std::pair<uint32_t, std::string>& queue,
                              uint64_t number) const {
    const auto found = _newest_call.find(queue);
    return found != _newest_call.end() && found->second == number;
}

/// Those who listen to patterns hear it too, but have no place in the queue.
ss::future<bool> wake_ups::is_heard(shards::announcement what) {
    co_await _messages.local()
        .publish(kind_of(what.where), what.channel, what.payload)
        .discard_result();
    co_return co_await is_listened_to(std::move(what));
}

ss::future<bool> wake_ups::is_listened_to(shards::announcement what) {
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        if (co_await _messages.invoke_on(core, [&what](const pubsub& there) {
                return there.subscribers(kind_of(what.where), what.channel) > 0;
            })) {
            co_return true;
        }
    }
    co_return false;
}

ss::future<std::optional<std::string>> wake_ups::drop_head(shards::queue_head gone) {
    return at_queue(gone,
                    [gone](shards::lock_service& there) { return without_head(there, gone); });
}

ss::future<> wake_ups::wake_by_and_by(round& now) {
    for (size_t more = 1;;) {
        auto found = co_await find(now, more);
        if (found.first.empty() || !is_newest(now) || _stopping.abort_requested()) {
            co_return;
        }
        if (co_await tell(now, found.first) < found.first.size()) {
            continue;  // some have just left: the next ones, at once
        }
        if (!found.has_more) {
            co_return;  // all know
        }
        co_await ss::sleep_abortable<ss::lowres_clock>(claim_window, _stopping);
        if (!is_newest(now) || !is_free(*now.what.frees)) {
            co_return;
        }
        more *= 2;
    }
}

ss::future<wake_candidates> wake_ups::find(round& now, size_t most) {
    auto found = co_await ask_all_cores(now, most);
    if (found.by_pattern && !now.knows_addresses) {
        co_await look_where_they_are(now);
        if (!now.addresses.empty()) {
            found = co_await ask_all_cores(now, most);
        }
    }
    co_return found;
}

ss::future<wake_candidates> wake_ups::ask_all_cores(const round& now, size_t most) {
    wake_candidates all;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        auto some = co_await _messages.invoke_on(
            core, [query = now.query(core, most)](const pubsub& there) {
                return there.candidates(query);
            });
        std::ranges::move(some.first, std::back_inserter(all.first));
        all.has_more |= some.has_more;
        all.by_pattern |= some.by_pattern;
    }
    std::ranges::sort(all.first, is_woken_before);
    all.has_more |= all.first.size() > most;
    all.first.resize(std::min(all.first.size(), most));
    co_return all;
}

std::vector<uint64_t> wake_ups::who_asked(const shards::freed_lock& lock) {
    auto& locks = _locks.local();
    std::vector<uint64_t> ids;
    if (const auto* const line = locks.table().line_of(locks.key(lock.database, lock.key))) {
        line->polling.for_each([&ids](const shards::seats::view& each) {
            if (ids.size() < addresses_max && each.client != 0) {
                ids.push_back(each.client);
            }
        });
    }
    return ids;
}

ss::future<> wake_ups::look_where_they_are(round& now) {
    now.knows_addresses = true;
    now.addresses = co_await _everyone.local().addresses(std::move(now.asked));
}

/// Tells as many on each core as were found there; how many that were. Each core chooses anew, at
/// once: many rounds on one channel find the same listener, and those that came too late for it
/// would all have to begin again.
ss::future<size_t> wake_ups::tell(round& now, const std::vector<subscription>& found) {
    std::vector<size_t> on_core(ss::smp::count);
    for (const subscription& one : found) {
        ++on_core[one.core];
    }
    size_t told = 0;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        if (on_core[core] == 0) {
            continue;
        }
        const auto numbers = co_await _messages.invoke_on(
            core, [query = now.query(core, on_core[core]), payload = now.what.payload](
                      pubsub& there) { return there.wake(query, payload); });
        now.told[core].insert(numbers.begin(), numbers.end());
        _everyone.local().counted.woken.told += numbers.size();
        told += numbers.size();
    }
    co_return told;
}

bool wake_ups::is_newest(const round& now) const {
    const auto found = _newest.find(now.about);
    return found != _newest.end() && found->second == now.number;
}

bool wake_ups::is_free(const shards::freed_lock& lock) {
    auto& locks = _locks.local();
    const auto now = shards::read_clock();
    const bool is_held = locks.table().exists(locks.key(lock.database, lock.key), now);
    locks.settle(now);  // the look may have found that it has expired
    return !is_held;
}

ss::future<> wake_ups::stop() {
    _stopping.request_abort();
    return _gate.close();
}

}  // namespace lockkeeper::proxy
