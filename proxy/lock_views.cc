#include "proxy/lock_views.hh"

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/maybe_yield.hh>
#include <tuple>

#include "proxy/expiry.hh"
#include "proxy/services.hh"
#include "shards/core/glob.hh"

namespace lockkeeper::proxy {

namespace {

using shards::instant;
using shards::lock_line;
using shards::lock_service;

/// What makes a lock hot.
struct heat {
    size_t in_line = 0;
    uint64_t hand_offs = 0;
    uint32_t database = 0;
    std::string name{};

    bool operator>(const heat& other) const {
        return std::tie(in_line, hand_offs) > std::tie(other.in_line, other.hand_offs);
    }
};

/// Of one core. A heap of the hottest so far, the coldest of them on top: memory is for that many,
/// and nearly all lines are looked at without a copy of their name.
ss::future<std::vector<lock_row>> hottest_here(lock_service& core, std::optional<uint32_t> database,
                                               size_t most) {
    auto& table = core.table();
    std::vector<heat> hottest;
    const auto visit = [&](lock_line& line) {
        if (database && line.database != *database) {
            return;
        }
        heat one{.in_line = line.queue.size() + line.polling.size(), .hand_offs = line.hand_offs};
        if (hottest.size() == most && !(one > hottest.front())) {
            return;
        }
        one.database = line.database;
        one.name = line.name();
        if (hottest.size() == most) {
            std::ranges::pop_heap(hottest, std::greater<>());
            hottest.pop_back();
        }
        hottest.push_back(std::move(one));
        std::ranges::push_heap(hottest, std::greater<>());
    };
    for (uint64_t at = 0; at != shards::lock_table::end_of_lines;) {
        at = table.visit_lines(at, visit);
        co_await ss::coroutine::maybe_yield();
    }
    std::ranges::sort(hottest, std::greater<>());
    std::vector<lock_row> rows;
    const auto now = shards::read_clock();
    for (const heat& one : hottest) {
        rows.push_back(look_at(core, one.database, one.name, now));
    }
    co_return rows;
}

/// A table of millions is not for looking through once a second by everybody who types.
constexpr size_t looks_max = 200'000;

ss::future<found_locks> find_here(lock_service& core, std::string pattern, size_t most) {
    constexpr size_t at_once = 200;
    found_locks found;
    size_t looks = 0;
    const uint32_t databases = shards::lock_table_options{}.databases;
    for (uint32_t database = 0; database < databases; ++database) {
        uint64_t cursor = 0;
        do {
            const auto now = shards::read_clock();
            std::vector<std::string> names;
            cursor = core.table().scan({.database = database, .cursor = cursor, .count = at_once},
                                       now, [&](const shards::scanned_entry& entry) {
                                           ++looks;
                                           if (entry.kind != shards::entry_kind::list &&
                                               shards::glob_match(pattern, entry.name)) {
                                               names.emplace_back(entry.name);
                                           }
                                       });
            for (const std::string& name : names) {
                if (found.rows.size() < most) {
                    found.rows.push_back(look_at(core, database, name, now));
                } else {
                    found.is_complete = false;
                }
            }
            if (!found.is_complete || (cursor != 0 && looks > looks_max)) {
                found.is_complete = false;
                co_return found;
            }
            co_await ss::coroutine::maybe_yield();
        } while (cursor != 0);
    }
    co_return found;
}

}  // namespace

std::string_view name_of(shards::lock_mode mode) {
    constexpr std::string_view names[] = {"exclusive", "shared", "permits"};
    return names[static_cast<size_t>(mode)];
}

std::string_view name_of(shards::admission::state standing) {
    constexpr std::string_view names[] = {"disconnected", "refused", "quarantined", "admitted"};
    return names[static_cast<size_t>(standing)];
}

lock_row look_at(lock_service& core, uint32_t database, std::string_view name, instant now) {
    const auto key = core.key(database, name);
    lock_row row{.database = database, .key = std::string(name)};
    const auto all = core.table().holders(key, now);
    row.holders = all.size();
    if (!all.empty()) {
        row.owner = all.front().owner;
        row.mode = name_of(all.front().mode);
        row.fence = all.back().fence;
        row.client = all.front().client;
        row.ttl = milliseconds_left(all.front().until, now);
        row.held = now - all.front().since;
    }
    if (const lock_line* const line = core.table().line_of(key)) {
        row.waiters = line->queue.size();
        row.polling = line->polling.size();
        row.hand_offs = line->hand_offs;
        row.waited = line->waited;
        row.ended = line->ended;
        row.held_before = line->held;
        row.in_line_for = now - line->since;
        instant first = line->polling.oldest();
        if (!line->queue.empty()) {
            first = std::min(first, line->queue.front().since);
        }
        row.longest_wait = first < now ? now - first : std::chrono::nanoseconds(0);
    }
    return row;
}

ss::future<std::vector<lock_row>> hottest_locks(services& all, std::optional<uint32_t> database,
                                                size_t most) {
    std::vector<lock_row> rows;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        auto more = co_await all.locks.invoke_on(core, [database, most](lock_service& locks) {
            return hottest_here(locks, database, most);
        });
        std::ranges::move(more, std::back_inserter(rows));
    }
    std::ranges::sort(rows, [](const lock_row& one, const lock_row& other) {
        const size_t mine = one.waiters + one.polling;
        const size_t theirs = other.waiters + other.polling;
        return mine != theirs ? mine > theirs : one.hand_offs > other.hand_offs;
    });
    rows.resize(std::min(rows.size(), most));
    co_return rows;
}

ss::future<found_locks> find_locks(services& all, std::string pattern, size_t most) {
    found_locks found;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        auto more = co_await all.locks.invoke_on(
            core, [pattern, most](lock_service& locks) { return find_here(locks, pattern, most); });
        std::ranges::move(more.rows, std::back_inserter(found.rows));
        found.is_complete = found.is_complete && more.is_complete;
    }
    std::ranges::sort(found.rows, {}, &lock_row::key);
    if (found.rows.size() > most) {
        found.rows.resize(most);
        found.is_complete = false;
    }
    co_return found;
}

}  // namespace lockkeeper::proxy
