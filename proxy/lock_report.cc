#include "proxy/lock_report.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>

#include "proxy/services.hh"

namespace lockkeeper::proxy {

ss::future<lock_report> report_locks(services& all) {
    lock_report report;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        const auto here =
            co_await all.everyone.invoke_on(core, [&locks = all.locks](const clients& everyone) {
                auto& table = locks.local().table();
                return lock_report{.counted = table.counted(),
                                   .waiters = table.waiters(),
                                   .lines = table.lines(),
                                   .woken = everyone.counted.woken,
                                   .fences = {table.fences().last()}};
            });
        report.counted += here.counted;
        report.waiters += here.waiters;
        report.lines += here.lines;
        report.woken += here.woken;
        report.fences.push_back(here.fences.front());
    }
    co_return report;
}

std::string info_text(const lock_report& report) {
    std::string text;
    const auto line = [&text](std::string_view name, uint64_t number) {
        text += fmt::format("{}:{}\r\n", name, number);
    };
    line("grants", report.counted.grants);
    line("hand_offs", report.counted.hand_offs);
    line("refusals", report.counted.refusals);
    line("timed_out", report.counted.timed_out);
    line("cancelled", report.counted.cancelled);
    line("releases", report.counted.releases);
    line("lost", report.counted.lost);
    line("reservations", report.counted.reservations);
    line("deadlocks", report.counted.deadlocks);
    line("waiters", report.waiters);
    line("lines", report.lines);
    line("wake_ups", report.woken.told);
    line("wake_up_rounds", report.woken.rounds);
    line("wake_up_rounds_open", report.woken.rounds - report.woken.rounds_ended);
    for (size_t core = 0; core < report.fences.size(); ++core) {
        line(fmt::format("fence_core{}", core), report.fences[core]);
    }
    return text;
}

}  // namespace lockkeeper::proxy
