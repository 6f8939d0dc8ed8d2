#include "shards/deadlock_watch.hh"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/util/log.hh>

#include "shards/background.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

ss::logger log("deadlocks");

/// Twice within the second that a circle may take to be found.
constexpr auto interval = 400ms;

}  // namespace

deadlock_watch::deadlock_watch(ss::sharded<lock_service>& locks)
    : _locks(locks), _timer([this] {
          background(_gate, log, "looking for deadlocks", [this] { return look(); });
      }) {}

void deadlock_watch::start() {
    _timer.arm(interval);
}

ss::future<> deadlock_watch::stop() {
    _timer.cancel();
    co_await _gate.close();
}

ss::future<> deadlock_watch::look() {
    auto edges = co_await _locks.map_reduce0(
        [](lock_service& core) { return core.waits(); }, std::vector<wait_edge>(),
        [](std::vector<wait_edge> all, std::vector<wait_edge> more) {
            std::ranges::move(more, std::back_inserter(all));
            return all;
        });
    const auto found = edges.empty() ? std::vector<deadlock>() : find_deadlocks(edges);
    std::set<std::vector<uint64_t>> circles;
    for (const deadlock& circle : found) {
        auto clients = circle.waits;
        std::ranges::sort(clients);
        const bool is_new = !_known.contains(clients);
        circles.insert(clients);
        auto keys = co_await _locks.map_reduce0(
            [waits = circle.waits, is_new](lock_service& core) {
                return core.note_deadlock(waits, is_new);
            },
            std::vector<std::string>(),
            [](std::vector<std::string> all, std::vector<std::string> more) {
                std::ranges::move(more, std::back_inserter(all));
                return all;
            });
        if (is_new) {
            log.warn("clients {} wait for each other: {}", fmt::join(circle.waits, ", "),
                     fmt::join(keys, ", "));
        }
    }
    _known = std::move(circles);
    if (!_gate.is_closed()) {
        _timer.arm(interval);
    }
}

}  // namespace lockkeeper::shards
