#include "proxy/fleet_report.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <string_view>

#include "proxy/services.hh"

namespace lockkeeper::proxy {

ss::future<fleet_report> report_fleet(services& all) {
    fleet_report report;
    const shards::fleet* const masters = all.locks.local().masters();
    if (masters == nullptr) {
        co_return report;
    }
    report.stripes = masters->states();
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        report.rounds += co_await all.locks.invoke_on(
            core, [](shards::lock_service& locks) { return locks.leases()->counted(); });
        report.leases += co_await all.locks.invoke_on(
            core, [](shards::lock_service& locks) { return locks.leases()->survey(); });
    }
    co_return report;
}

std::string info_text(const fleet_report& report) {
    std::string text;
    const auto line = [&text](std::string_view name, int64_t number) {
        text += fmt::format("{}:{}\r\n", name, number);
    };
    const auto count = [&line](std::string_view name, uint64_t number) {
        line(name, static_cast<int64_t>(number));
    };
    size_t masters = 0;
    size_t voting = 0;
    uint64_t epochs = 0;
    for (const auto& stripe : report.stripes) {
        masters += stripe.masters.size();
        for (const auto& master : stripe.masters) {
            voting += master.standing == shards::admission::state::admitted ? 1 : 0;
            epochs += master.epoch_bumps;
        }
    }
    count("stripes", report.stripes.size());
    count("masters", masters);
    count("masters_voting", voting);
    count("leases", report.leases.held);
    count("leases_at_bare_quorum", report.leases.bare);
    using std::chrono::milliseconds;
    line("shortest_lease_ms",
         report.leases.shortest
             ? std::chrono::duration_cast<milliseconds>(*report.leases.shortest).count()
             : -1);
    count("rounds_won", report.rounds.won);
    count("rounds_elsewhere", report.rounds.elsewhere);
    count("rounds_unreachable", report.rounds.unreachable);
    count("leases_lost", report.rounds.lost);
    count("round_us_p50", report.rounds.round_us(500));
    count("round_us_p99", report.rounds.round_us(990));
    count("round_us_max", report.rounds.round_us(1000));
    count("fence_epochs", epochs);
    return text;
}

}  // namespace lockkeeper::proxy
