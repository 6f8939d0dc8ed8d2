// How fast one core talks to one Redis: SET NX PX and DEL, as an acquire and its release, over one
// pipelined connection. In the same run redis-benchmark does the same kind of work with the same
// number of requests in flight, so that the ratio means something on a busy machine.
//
//   master_bench -c 1 --overprovisioned --redis 127.0.0.1:6379 --in-flight 64 --seconds 5
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <seastar/core/app-template.hh>
#include <seastar/core/coroutine.hh>
#include <seastar/core/when_all.hh>
#include <string>
#include <vector>

#include "shards/masters/redis_master.hh"

namespace ss = seastar;
using namespace lockkeeper;
using namespace std::chrono_literals;
namespace bpo = boost::program_options;

namespace {

using steady = std::chrono::steady_clock;

struct waits_for_connection final : shards::master_events {
    void connected(shards::master&) override { up.set_value(); }
    void disconnected(shards::master&, const std::string&) override {}  // requests fail then
    void pushed(shards::master&, protocol::reply) override {}
    ss::promise<> up;
};

/// Of this process so far, in microseconds: what a request costs, however busy the machine is.
double cpu_time() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto microseconds = [](const timeval& time) {
        return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
    };
    return microseconds(used.ru_utime) + microseconds(used.ru_stime);
}

/// One client: acquires and releases, one after the other, until the time is up. The requests made.
ss::future<uint64_t> work(shards::redis_master* master, int number, steady::time_point until) {
    const std::string key = fmt::format("bench:{}", number);
    shards::command_batch acquire;
    acquire.add("SET", key, "owner", "NX", "PX", 30'000);
    shards::command_batch release;
    release.add("DEL", key);
    uint64_t requests = 0;
    while (steady::now() < until) {
        for (const auto* batch : {&acquire, &release}) {
            const auto answer = co_await master->send(*batch, {.timeout = 10s});
            if (!answer || answer->replies.front().is_error() ||
                answer->replies.front().is_null()) {
                throw std::runtime_error("a request failed");
            }
            ++requests;
        }
    }
    co_return requests;
}

ss::future<double> measure(shards::redis_master* master, int in_flight, double seconds) {
    const auto start = steady::now();
    const auto until = start + std::chrono::duration_cast<steady::duration>(
                                   std::chrono::duration<double>(seconds));
    std::vector<ss::future<uint64_t>> workers;
    for (int i = 0; i < in_flight; ++i) {
        workers.push_back(work(master, i, until));
    }
    uint64_t requests = 0;
    for (auto& worker : workers) {
        requests += co_await std::move(worker);
    }
    co_return static_cast<double>(requests) /
        std::chrono::duration<double>(steady::now() - start).count();
}

ss::future<int> run(const bpo::variables_map& options) {
    const auto address =
        config::parse_redis_address("redis://" + options["redis"].as<std::string>());
    if (!address) {
        fmt::print(stderr, "--redis: {}\n", address.error());
        co_return 2;
    }
    waits_for_connection events;
    shards::redis_master master({.address = *address, .name = "lockkeeper-bench"}, events);
    co_await master.start();
    co_await events.up.get_future();
    const auto before = master.statistics();
    const double cpu_before = cpu_time();
    const double rate =
        co_await measure(&master, options["in-flight"].as<int>(), options["seconds"].as<double>());
    const auto after = master.statistics();
    const auto requests = static_cast<double>(after.requests - before.requests);
    fmt::print(
        "{:.0f} requests/s, {:.2f} us of CPU a request, {:.1f} requests a write, round trip {} us "
        "smoothed, p99 within {} us\n",
        rate, (cpu_time() - cpu_before) / requests,
        requests / static_cast<double>(after.writes - before.writes),
        after.round_trips.smoothed() / 1us, after.round_trips.within(0.99).count());
    co_await master.stop();
    co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
    ss::app_template::config how;
    how.name = "master_bench";
    ss::app_template app(std::move(how));
    app.add_options()("redis", bpo::value<std::string>()->default_value("127.0.0.1:6379"),
                      "host:port of a redis-server")(
        "in-flight", bpo::value<int>()->default_value(64), "requests at once")(
        "seconds", bpo::value<double>()->default_value(5), "how long");
    return app.run(argc, argv, [&app] { return run(app.configuration()); });
}
