#include "proxy/lint_report.hh"

#include <algorithm>
#include <array>
#include <map>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <tuple>

#include "proxy/client_faces.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

using shards::habit_log;

constexpr std::array<habit_words, shards::habits> words = {{
    {.name = "no-ttl",
     .what = "takes a lock without a time to live",
     .advice = "If the client dies, nobody ever gets the lock. Say PX in the same SET, longer than "
               "the work takes, or use LK.ACQUIRE without TTL, which ends with the connection."},
    {.name = "blind-delete",
     .what = "deletes a lock without saying whose it is",
     .advice =
         "If the lock ran out meanwhile, this deletes the next owner's. Release with a script "
         "or command that compares the token: LK.RELEASE, DELEX key IFEQ token, DELIFEQ."},
    {.name = "foreign-delete",
     .what = "deletes a lock that another connection took",
     .advice = "Somebody may work without a lock now. If a pool of connections is shared, release "
               "by token; if an operator did it, LK.BREAK tells the owner."},
    {.name = "late-release",
     .what = "gives back a lock that it does not have any more",
     .advice = "The work took longer than the lease, and somebody else may have worked at the same "
               "time. Make the TTL longer than the work, extend it on the way (LK.EXTEND), and "
               "check the fence where the work is written."},
    {.name = "retry-storm",
     .what = "asks for a held lock again every few milliseconds",
     .advice = "Polling that fast costs CPU and gains nothing. Wait in line (LK.ACQUIRE ... WAIT), "
               "pause for 50 ms or more with jitter, or set the policy 'pollers: park'."},
}};

struct seen_here {
    habit_log::row row;
    int64_t ms_ago = 0;
};

}  // namespace

const habit_words& words_of(shards::habit what) {
    return words[static_cast<size_t>(what)];
}

ss::future<std::vector<lint_row>> lint(services& all) {
    std::vector<seen_here> seen;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        auto more = co_await all.locks.invoke_on(core, [](shards::lock_service& locks) {
            const auto now = shards::read_clock();
            std::vector<seen_here> rows;
            for (const habit_log::row& each : locks.table().habits().rows()) {
                rows.push_back(
                    {each, std::chrono::duration_cast<std::chrono::milliseconds>(now - each.last)
                               .count()});
            }
            return rows;
        });
        std::ranges::move(more, std::back_inserter(seen));
    }
    std::vector<uint64_t> ids;
    for (const seen_here& each : seen) {
        ids.push_back(each.row.client);
    }
    const auto known = co_await faces_of(all, std::move(ids));
    // A pool has many connections of one name: they are one client to people.
    std::map<std::tuple<shards::habit, uint32_t, std::string, std::string>, lint_row> together;
    for (const seen_here& each : seen) {
        std::string who;
        if (const auto face = known.find(each.row.client); face != known.end()) {
            who = !face->second.name.empty()      ? face->second.name
                  : !face->second.library.empty() ? face->second.library
                                                  : face->second.address;
        }
        auto& one = together[{each.row.what, each.row.database, each.row.pattern, who}];
        const bool is_newest = one.count == 0 || each.ms_ago < one.last_ms_ago;
        one.what = each.row.what;
        one.database = each.row.database;
        one.pattern = each.row.pattern;
        one.client = who;
        one.count += each.row.count;
        if (is_newest) {
            one.example = each.row.example;
            one.last_ms_ago = each.ms_ago;
        }
    }
    std::vector<lint_row> rows;
    for (auto& [_, row] : together) {
        rows.push_back(std::move(row));
    }
    std::ranges::sort(rows, [](const lint_row& one, const lint_row& other) {
        return std::tie(other.count, one.pattern, one.what) <
               std::tie(one.count, other.pattern, other.what);
    });
    co_return rows;
}

ss::future<> forget_lint(services& all) {
    return all.locks.invoke_on_all(
        [](shards::lock_service& core) { core.table().habits().clear(); });
}

}  // namespace lockkeeper::proxy
