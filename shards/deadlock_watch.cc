#include "shards/deadlock_watch.hh"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/maybe_yield.hh>
#include <seastar/util/log.hh>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "shards/background.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

ss::logger log("deadlocks");

/// A circle is found within twice this.
constexpr auto interval = 400ms;

/// Owners of one core that a look considers. Somebody waits for each of them, so there are seldom
/// more than a few hundred; beyond this a look sees only some circles.
constexpr size_t owners_max = 100'000;

using owner_set = std::unordered_set<uint64_t>;

/// Keys are whatever clients like; a log line is not.
std::string printable(std::string_view key) {
    constexpr size_t shown = 128;
    std::string text;
    for (const char c : key.substr(0, shown)) {
        if (c > ' ' && c < 0x7f && c != '\\') {
            text += c;
        } else {
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    return text;
}

uint64_t hash_of(const lock_service& locks, std::string_view owner) {
    return locks.hasher().place(owner).bucket.value;
}

bool counts(const waiter& who) {
    return !who.is_parked;  // ends by itself in a moment
}

/// Owners on this core that somebody waits for.
ss::future<owner_set> awaited_owners(lock_service& locks) {
    owner_set owners;
    for (uint64_t at = 0; at != lock_table::end_of_lines && owners.size() < owners_max;) {
        at = locks.table().visit_lines(at, [&](lock_line& line) {
            if (line.queue.empty()) {
                return;
            }
            for (const holder_view& each : locks.table().holders(line.key(), read_clock())) {
                owners.insert(hash_of(locks, each.owner));
            }
        });
        co_await ss::coroutine::maybe_yield();
    }
    co_return owners;
}

/// Those of them who wait on this core.
ss::future<owner_set> waiting_owners(lock_service& locks, owner_set awaited) {
    owner_set owners;
    for (uint64_t at = 0; at != lock_table::end_of_lines;) {
        at = locks.table().visit_lines(at, [&](lock_line& line) {
            for (const waiter& each : line.queue) {
                if (const uint64_t owner = hash_of(locks, each.owner); awaited.contains(owner)) {
                    owners.insert(owner);
                }
            }
        });
        co_await ss::coroutine::maybe_yield();
    }
    co_return owners;
}

struct seen_waits {
    std::vector<stuck_wait> waits;
    std::vector<wait_edge> edges;  ///< `wait` is an index of `waits`
};

uint64_t permits_of(const holder_view& holder) {
    return holder.permits * static_cast<uint64_t>(holder.holds);
}

/// How many have to come free before it can go on.
uint64_t permits_missing(const waiter& who, const std::vector<holder_view>& holders) {
    uint64_t taken = 0;
    for (const holder_view& each : holders) {
        taken += permits_of(each);
    }
    const uint64_t free = who.of - std::min<uint64_t>(who.of, taken);
    return who.permits - std::min<uint64_t>(who.permits, free);
}

/// The waits of `stuck` owners in one line: each waits for the one of them before it, the first for
/// the holders. Who stands between them holds nothing that matters, and passes the lock on.
void look_at_line(lock_service& locks, lock_line& line, const owner_set& stuck, seen_waits& seen) {
    const waiter* before = nullptr;
    for (const waiter& each : line.queue) {
        const uint64_t owner = hash_of(locks, each.owner);
        if (!counts(each) || !stuck.contains(owner)) {
            continue;
        }
        wait_edge edge{.waiter = owner, .since = each.since, .wait = seen.waits.size()};
        seen.waits.push_back(
            {.which = {.core = ss::this_shard_id(), .client = each.client, .since = each.since},
             .key = std::string(line.name()),
             .rule = line.policy().deadlocks});
        if (before != nullptr) {
            edge.holder = hash_of(locks, before->owner);
            edge.why = wait_reason::in_front;
            seen.edges.push_back(edge);
        } else {
            const bool is_permits = each.mode == lock_mode::permits;
            const auto holders = locks.table().holders(line.key(), read_clock());
            edge.why = is_permits ? wait_reason::one_of : wait_reason::held;
            edge.needs = is_permits ? permits_missing(each, holders) : 1;
            for (const holder_view& holder : holders) {
                edge.holder = hash_of(locks, holder.owner);
                edge.gives = permits_of(holder);
                if (edge.needs > 0) {
                    seen.edges.push_back(edge);
                }
            }
        }
        before = &each;
    }
}

ss::future<seen_waits> waits_of(lock_service& locks, owner_set stuck) {
    seen_waits seen;
    for (uint64_t at = 0; at != lock_table::end_of_lines;) {
        at = locks.table().visit_lines(
            at, [&](lock_line& line) { look_at_line(locks, line, stuck, seen); });
        co_await ss::coroutine::maybe_yield();
    }
    co_return seen;
}

}  // namespace

deadlock_watch::deadlock_watch(ss::sharded<lock_service>& locks)
    : _locks(locks), _timer([this] {
          background(_gate, log, "looking for deadlocks", [this] { return look_again_later(); });
      }) {}

void deadlock_watch::start() {
    _timer.arm(interval);
}

ss::future<> deadlock_watch::stop() {
    _timer.cancel();
    co_await _gate.close();
    _timer.cancel();
}

ss::future<> deadlock_watch::look_again_later() {
    return look().finally([this] {
        if (!_gate.is_closed()) {
            _timer.arm(interval);
        }
    });
}

ss::future<bool> deadlock_watch::somebody_waits() {
    return _locks.map_reduce0([](lock_service& locks) { return locks.table().waiters() > 0; },
                              false, std::logical_or<>());
}

ss::future<> deadlock_watch::look() {
    if (!co_await somebody_waits()) {
        _known.clear();
        _marked.clear();
        co_return;
    }
    auto circles = co_await find_circles();
    if (!circles.empty()) {
        const auto again = co_await find_circles();
        std::set<circle_id> still_there;
        const auto id_of = [](const circle& one) {
            circle_id id;
            for (const stuck_wait& each : one) {
                id.insert(each.which);
            }
            return id;
        };
        for (const circle& one : again) {
            still_there.insert(id_of(one));
        }
        std::erase_if(circles,
                      [&](const circle& one) { return !still_there.contains(id_of(one)); });
    }
    co_await judge(std::move(circles));
}

ss::future<std::vector<deadlock_watch::circle>> deadlock_watch::find_circles() {
    const auto merged = [](owner_set all, owner_set some) {
        all.merge(some);
        return all;
    };
    const auto awaited = co_await _locks.map_reduce0(
        [](lock_service& locks) { return awaited_owners(locks); }, owner_set(), merged);
    const auto stuck = co_await _locks.map_reduce0(
        [&awaited](lock_service& locks) { return waiting_owners(locks, awaited); }, owner_set(),
        merged);
    std::vector<circle> circles;
    if (stuck.empty()) {
        co_return circles;
    }
    seen_waits all;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        auto some = co_await _locks.invoke_on(
            core, [&stuck](lock_service& locks) { return waits_of(locks, stuck); });
        for (wait_edge& edge : some.edges) {
            edge.wait += all.waits.size();
            all.edges.push_back(edge);
        }
        std::ranges::move(some.waits, std::back_inserter(all.waits));
    }
    for (const deadlock& found : find_deadlocks(all.edges)) {
        circle one;
        for (const uint64_t wait : found.waits) {
            one.push_back(all.waits[wait]);
        }
        circles.push_back(std::move(one));
    }
    co_return circles;
}

ss::future<> deadlock_watch::judge(std::vector<circle> circles) {
    std::set<circle_id> present;
    std::set<wait_id> stuck;
    for (const circle& one : circles) {
        circle_id id;
        for (const stuck_wait& each : one) {
            id.insert(each.which);
        }
        if (!_known.contains(id)) {
            report(one);
        }
        const stuck_wait& newest = one.front();
        if (newest.rule == deadlock_rule::refuse) {
            co_await _locks.invoke_on(newest.which.core, [which = newest.which](lock_service& l) {
                return l.refuse_wait(which.client, which.since, lock_error::deadlock);
            });
            continue;
        }
        stuck.insert(id.begin(), id.end());
        present.insert(std::move(id));
    }
    _known = std::move(present);
    co_await mark(std::move(stuck));
}

ss::future<> deadlock_watch::mark(std::set<wait_id> stuck) {
    const auto tell = [this](wait_id which, bool is_in_one) {
        return _locks.invoke_on(which.core, [which, is_in_one](lock_service& locks) {
            locks.mark_deadlock(which.client, which.since, is_in_one);
        });
    };
    for (const wait_id& which : std::exchange(_marked, stuck)) {
        if (!stuck.contains(which)) {
            co_await tell(which, false);
        }
    }
    for (const wait_id& which : stuck) {
        co_await tell(which, true);
    }
}

/// Which clients wait for which keys. Never the owners: their names are tokens.
void deadlock_watch::report(const circle& one) {
    constexpr size_t shown_max = 10;
    std::string waits;
    for (size_t i = 0; i < std::min(one.size(), shown_max); ++i) {
        waits += fmt::format("{}client {} for {}", i == 0 ? "" : ", ", one[i].which.client,
                             printable(one[i].key));
    }
    if (one.size() > shown_max) {
        waits += fmt::format(", and {} more", one.size() - shown_max);
    }
    const bool refused = one.front().rule == deadlock_rule::refuse;
    log.warn("{} clients wait for each other: {}; {}", one.size(), waits,
             refused ? "the newest wait is refused" : "none of them will go on by itself");
    ++_locks.local().table().counted().deadlocks;
}

}  // namespace lockkeeper::shards
