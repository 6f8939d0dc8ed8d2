#include "proxy/slow_report.hh"

#include <algorithm>
#include <iterator>
#include <map>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>

#include "proxy/expiry.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

using shards::slow_event;

client_face face_of(const std::map<uint64_t, client_face>& known, uint64_t id) {
    const auto found = known.find(id);
    return found != known.end() ? found->second : client_face{};
}

}  // namespace

uint64_t slow_row::id() const {
    return event.number;
}

ss::future<std::vector<slow_row>> slow_events(services& all, size_t most) {
    std::vector<slow_event> events;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        auto more = co_await all.locks.invoke_on(core, [core, most](shards::lock_service& locks) {
            const auto& kept = locks.table().slow().events();
            const size_t skipped = kept.size() - std::min(kept.size(), most);
            std::vector<slow_event> newest(kept.begin() + static_cast<ptrdiff_t>(skipped),
                                           kept.end());
            for (slow_event& each : newest) {
                each.number = each.number * ss::smp::count + core;  // unique over all cores
            }
            return newest;
        });
        std::ranges::move(more, std::back_inserter(events));
    }
    std::ranges::sort(events, [](const slow_event& one, const slow_event& other) {
        return one.when > other.when;
    });
    events.resize(std::min(events.size(), most));
    std::vector<uint64_t> ids;
    for (const slow_event& each : events) {
        ids.push_back(each.client);
        ids.push_back(each.other_client);
    }
    const auto known = co_await faces_of(all, std::move(ids));
    const auto now = shards::read_clock();
    const int64_t wall = wall_clock_ms();
    std::vector<slow_row> rows;
    for (slow_event& each : events) {
        const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(now - each.when);
        slow_row row{.event = std::move(each), .unix_ms = wall - ago.count()};
        row.client = face_of(known, row.event.client);
        row.other = face_of(known, row.event.other_client);
        rows.push_back(std::move(row));
    }
    co_return rows;
}

ss::future<size_t> count_slow_events(services& all) {
    return all.locks.map_reduce0(
        [](shards::lock_service& core) { return core.table().slow().events().size(); }, size_t{0},
        std::plus<>());
}

ss::future<> forget_slow_events(services& all) {
    return all.locks.invoke_on_all([](shards::lock_service& core) { core.table().slow().clear(); });
}

}  // namespace lockkeeper::proxy
