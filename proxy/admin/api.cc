#include "proxy/admin/api.hh"

#include <algorithm>
#include <map>
#include <seastar/core/coroutine.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/memory.hh>
#include <seastar/core/smp.hh>
#include <vector>

#include "proxy/admin/json.hh"
#include "proxy/client_faces.hh"
#include "proxy/expiry.hh"
#include "proxy/fleet_report.hh"
#include "proxy/lint_report.hh"
#include "proxy/lock_report.hh"
#include "proxy/lock_views.hh"
#include "proxy/process.hh"
#include "proxy/slow_report.hh"
#include "proxy/version.hh"

namespace lockkeeper::proxy::admin {

namespace {

using namespace std::chrono_literals;
using faces = std::map<uint64_t, client_face>;

/// Rows of any list on the page: more is not looked at by anybody.
constexpr size_t rows_max = 50;
/// Of a queue, in order.
constexpr size_t queue_shown = 100;
/// A lock is remembered for this long after the page has asked for it last.
constexpr auto shown_for = 30s;

// ---- parts of the answers -----------------------------------------------------------------------

void write(json& out, std::string_view called, const shards::time_histogram& times) {
    out.name(called).begin_object().member("sum", times.sum()).name("counts").begin_array();
    for (size_t i = 0; i < shards::time_histogram::buckets; ++i) {
        out.number(times[i]);
    }
    out.end().end();
}

void write_client(json& out, std::string_view called, uint64_t id, const faces& known) {
    out.name(called).begin_object().member("id", id);
    if (const auto found = known.find(id); found != known.end()) {
        out.member("name", found->second.name)
            .member("address", found->second.address)
            .member("library", found->second.library);
    }
    out.end();
}

void write(json& out, const lock_row& row, const faces& known) {
    out.begin_object()
        .member("key", row.key)
        .member("id", percent_encoded(row.key))
        .member("database", row.database)
        .member("owner", row.owner)
        .member("mode", row.mode)
        .member("fence", row.fence)
        .member("ttl", row.ttl)
        .member("held", row.held)
        .member("holders", row.holders)
        .member("waiters", row.waiters)
        .member("polling", row.polling)
        .member("handOffs", row.hand_offs)
        .member("waited", row.waited)
        .member("ended", row.ended)
        .member("heldBefore", row.held_before)
        .member("inLineFor", row.in_line_for)
        .member("longestWait", row.longest_wait);
    write_client(out, "client", row.client, known);
    out.end();
}

void write_rows(json& out, std::string_view called, const std::vector<lock_row>& rows,
                const faces& known) {
    out.name(called).begin_array();
    for (const lock_row& row : rows) {
        write(out, row, known);
    }
    out.end();
}

void write_stripes(json& out, const fleet_report& masters) {
    const auto now = shards::read_clock();
    out.name("stripes").begin_array();
    for (const auto& stripe : masters.stripes) {
        out.begin_object().member("name", stripe.name).name("masters").begin_array();
        for (const auto& each : stripe.masters) {
            const auto& trips = each.link.statistics.round_trips;
            out.begin_object()
                .member("address", each.link.address)
                .member("state", name_of(each.standing))
                .member("reason", each.link.connected ? each.reason : each.link.last_error)
                .member("connected", each.link.connected)
                .member("quarantined", each.until ? std::max(*each.until - now, 0ns) : 0ns)
                .member("votes", each.votes)
                .member("refusals", each.refusals)
                .member("timeouts", each.link.statistics.timeouts)
                .member("answer", trips.smoothed())
                .member("answer99", std::chrono::nanoseconds(trips.within(0.99)))
                .end();
        }
        out.end().end();
    }
    out.end();
}

ss::future<faces> faces_of_rows(services& all, const std::vector<lock_row>& rows) {
    std::vector<uint64_t> ids;
    for (const lock_row& row : rows) {
        ids.push_back(row.client);
    }
    return faces_of(all, std::move(ids));
}

// ---- counters -----------------------------------------------------------------------------------

struct sums {
    statistics counted{};
    uint64_t clients = 0;
    uint64_t keys = 0;
    uint64_t memory_used = 0;
    uint64_t memory_total = 0;
    shards::time_histogram waited{};
    shards::time_histogram held{};
};

ss::future<sums> add_up(services& all) {
    return all.everyone.map_reduce0(
        [&locks = all.locks](clients& core) {
            auto& table = locks.local().table();
            const auto memory = ss::memory::stats();
            sums here{.counted = core.counted,
                      .clients = core.size(),
                      .keys = table.stats().keys,
                      .memory_used = memory.allocated_memory(),
                      .memory_total = memory.total_memory(),
                      .waited = table.waited().granted};
            for (const auto& times : table.held().by_reason) {
                here.held += times;
            }
            return here;
        },
        sums{},
        [](sums all_of_them, const sums& more) {
            all_of_them.counted += more.counted;
            all_of_them.clients += more.clients;
            all_of_them.keys += more.keys;
            all_of_them.memory_used += more.memory_used;
            all_of_them.memory_total += more.memory_total;
            all_of_them.waited += more.waited;
            all_of_them.held += more.held;
            return all_of_them;
        });
}

void write_totals(json& out, const sums& all, const lock_report& locks) {
    out.name("totals")
        .begin_object()
        .member("grants", locks.counted.grants)
        .member("refusals", locks.counted.refusals)
        .member("handOffs", locks.counted.hand_offs)
        .member("timedOut", locks.counted.timed_out)
        .member("lost", locks.counted.lost)
        .member("deadlocks", locks.counted.deadlocks)
        .member("waiters", locks.waiters)
        .member("lines", locks.lines)
        .member("keys", all.keys)
        .member("clients", all.clients)
        .member("commands", all.counted.commands)
        .member("errors", all.counted.error_replies)
        .member("memoryUsed", all.memory_used)
        .member("memoryTotal", all.memory_total)
        .end();
}

// ---- one lock -----------------------------------------------------------------------------------

/// What its core knows of a lock, to be carried to ours.
struct lock_in_depth {
    struct holder {
        std::string owner;
        shards::holder_view as;  ///< but for its view of the owner
    };
    struct place {
        std::string owner{};
        std::string_view kind = "waiting";
        std::string_view mode = "exclusive";
        uint32_t permits = 1;
        int32_t priority = 0;
        uint64_t client = 0;
        std::chrono::nanoseconds waited{};
        std::chrono::nanoseconds pause{};  ///< of one who polls
        bool in_deadlock = false;
    };
    lock_row row{};
    std::vector<holder> holders{};
    std::vector<place> queue{};
    std::vector<shards::lock_history::row> history{};
    shards::instant now{};
};

void look_at_line(const shards::lock_line& line, lock_in_depth& into) {
    for (const shards::waiter& each : line.queue) {
        if (into.queue.size() == queue_shown) {
            break;
        }
        into.queue.push_back({.owner = each.owner,
                              .kind = each.is_parked ? "parked" : "waiting",
                              .mode = name_of(each.mode),
                              .permits = each.permits,
                              .priority = each.priority,
                              .client = each.client,
                              .waited = into.now - each.since,
                              .in_deadlock = each.in_deadlock});
    }
    const size_t waiting = into.queue.size();
    line.polling.for_each([&](const shards::seats::view& each) {
        if (into.queue.size() < waiting + queue_shown) {
            into.queue.push_back({.kind = "polling",
                                  .client = each.client,
                                  .waited = into.now - each.since,
                                  .pause = each.pause.value_or(0ns)});
        }
    });
    std::sort(into.queue.begin() + static_cast<ptrdiff_t>(waiting), into.queue.end(),
              [](const auto& one, const auto& other) { return one.waited > other.waited; });
    for (size_t i = 0; line.history && i < line.history->size(); ++i) {
        into.history.push_back((*line.history)[i]);
    }
}

lock_in_depth look_closely(shards::lock_service& core, uint32_t database, const std::string& name) {
    const auto now = shards::read_clock();
    const auto key = core.key(database, name);
    try {
        core.table().show(key, now + shown_for, now);
    } catch (const std::bad_alloc&) {
        // Then its history is not remembered.
    }
    lock_in_depth found{.row = look_at(core, database, name, now), .now = now};
    const auto holders = core.table().holders(key, now);
    for (const shards::holder_view& each : holders) {
        if (found.holders.size() == queue_shown) {
            break;
        }
        found.holders.push_back({std::string(each.owner), each});
        found.holders.back().as.owner = {};
    }
    if (const shards::lock_line* const line = core.table().line_of(key)) {
        look_at_line(*line, found);
    }
    core.settle(now);
    return found;
}

void write_holders(json& out, const lock_in_depth& lock, const faces& known) {
    out.name("holding").begin_array();
    for (const auto& [owner, as] : lock.holders) {
        out.begin_object()
            .member("owner", owner)
            .member("mode", name_of(as.mode))
            .member("fence", as.fence)
            .member("ttl", milliseconds_left(as.until, lock.now))
            .member("holds", as.holds)
            .member("permits", as.permits)
            .member("of", as.of)
            .member("held", lock.now - as.since)
            .member("bound", as.bound);
        write_client(out, "client", as.client, known);
        out.end();
    }
    out.end();
}

void write_queue(json& out, const lock_in_depth& lock, const faces& known) {
    out.name("queue").begin_array();
    for (const auto& each : lock.queue) {
        out.begin_object()
            .member("owner", each.owner)
            .member("kind", each.kind)
            .member("mode", each.mode)
            .member("permits", each.permits)
            .member("priority", each.priority)
            .member("waited", each.waited)
            .member("pause", each.pause)
            .member("deadlock", each.in_deadlock);
        write_client(out, "client", each.client, known);
        out.end();
    }
    out.end();
}

void write_history(json& out, const lock_in_depth& lock, const faces& known) {
    constexpr std::string_view ends[] = {"released", "removed", "expired"};
    out.name("history").begin_array();
    for (const auto& each : lock.history) {
        out.begin_object()
            .member("owner", each.owner())
            .member("fence", each.was.fence)
            .member("ago", lock.now - each.was.ended)
            .member("held", each.was.ended - each.was.granted)
            .member("waited", each.was.waited)
            .member("end", ends[static_cast<size_t>(each.was.why)]);
        write_client(out, "client", each.was.client, known);
        out.end();
    }
    out.end();
}

}  // namespace

ss::future<std::string> live(services& all, const readiness& state) {
    const auto locks = co_await report_locks(all);
    const auto masters = co_await report_fleet(all);
    const auto together = co_await add_up(all);
    const auto hot = co_await hottest_locks(all, std::nullopt, rows_max);
    const auto known = co_await faces_of_rows(all, hot);
    const auto uptime = ss::lowres_clock::now() - start_of_process();
    json out;
    out.begin_object()
        .member("version", version)
        .member("now", wall_clock_ms())
        .member("clock", shards::read_clock() - shards::instant{})
        .member("uptime", std::chrono::duration_cast<std::chrono::nanoseconds>(uptime))
        .member("cores", ss::smp::count)
        .member("store", masters.stripes.empty() ? "memory" : "masters")
        .member("mayBreak", all.settings.http.break_locks);
    out.name("objections").begin_array();
    for (const auto& why : state.objections(all, shards::read_clock())) {
        out.text(why);
    }
    out.end();
    write_totals(out, together, locks);
    write(out, "wait", together.waited);
    write(out, "hold", together.held);
    if (!masters.stripes.empty()) {
        write(out, "rounds", masters.rounds.took);
        out.name("leases")
            .begin_object()
            .member("held", masters.leases.held)
            .member("bare", masters.leases.bare)
            .member("lost", masters.rounds.lost)
            .member("unreachable", masters.rounds.unreachable)
            .member("renewed", masters.rounds.renewed)
            .member("late", masters.rounds.renewed_late)
            .member("failed", masters.rounds.renewals_failed)
            .end();
    }
    write_rows(out, "hot", hot, known);
    write_stripes(out, masters);
    out.end();
    co_return out.take();
}

ss::future<std::string> one_lock(services& all, uint32_t database, std::string key) {
    const auto core = all.locks.local().core_of(key);
    const auto lock =
        co_await all.locks.invoke_on(core, [database, key](shards::lock_service& locks) {
            return look_closely(locks, database, key);
        });
    std::vector<uint64_t> ids;
    for (const auto& each : lock.holders) {
        ids.push_back(each.as.client);
    }
    for (const auto& each : lock.queue) {
        ids.push_back(each.client);
    }
    for (const auto& each : lock.history) {
        ids.push_back(each.was.client);
    }
    ids.push_back(lock.row.client);
    const auto known = co_await faces_of(all, std::move(ids));
    json out;
    out.begin_object().member("core", core).name("lock");
    write(out, lock.row, known);
    write_holders(out, lock, known);
    write_queue(out, lock, known);
    write_history(out, lock, known);
    out.end();
    co_return out.take();
}

ss::future<std::string> notes(services& all) {
    constexpr size_t slow_shown = 12;
    const auto slow = co_await slow_events(all, slow_shown);
    const auto advice = co_await lint(all);
    const auto shown_name = [](const client_face& who) {
        return !who.name.empty() ? who.name : who.address;
    };
    json out;
    out.begin_object().name("slow").begin_array();
    for (const slow_row& row : slow) {
        const auto& event = row.event;
        out.begin_object()
            .member("time", row.unix_ms)
            .member("kind", event.what == shards::slow_event::kind::wait ? "wait" : "hold")
            .member("took", event.took)
            .member("database", event.database)
            .member("key", event.key)
            .member("id", percent_encoded(event.key))
            .member("owner", event.owner)
            .member("client", shown_name(row.client))
            .member("end", event.end)
            .member("inLine", event.in_line)
            .member("other", event.other)
            .member("otherClient", shown_name(row.other))
            .member("otherTook", event.other_took)
            .end();
    }
    out.end().name("lint").begin_array();
    for (const lint_row& row : advice) {
        const habit_words& words = words_of(row.what);
        out.begin_object()
            .member("habit", words.name)
            .member("what", words.what)
            .member("advice", words.advice)
            .member("keys", row.pattern)
            .member("example", row.example)
            .member("client", row.client)
            .member("count", row.count)
            .member("ago", std::chrono::milliseconds(row.last_ms_ago))
            .end();
    }
    out.end().end();
    co_return out.take();
}

ss::future<std::string> search(services& all, std::string wanted) {
    const bool is_pattern = wanted.find_first_of("*?[") != std::string::npos;
    const auto found = co_await find_locks(all, is_pattern ? wanted : "*" + wanted + "*", rows_max);
    const auto known = co_await faces_of_rows(all, found.rows);
    json out;
    out.begin_object().member("complete", found.is_complete);
    write_rows(out, "locks", found.rows, known);
    out.end();
    co_return out.take();
}

}  // namespace lockkeeper::proxy::admin
