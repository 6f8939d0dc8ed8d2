#include "proxy/fleet_check.hh"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <seastar/core/coroutine.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/when_all.hh>
#include <seastar/util/log.hh>
#include <string>
#include <vector>

#include "shards/core/admission.hh"
#include "shards/masters/handshake.hh"
#include "shards/masters/redis_master.hh"
#include "shards/masters/rights.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// What a look at one master found, in words.
struct finding {
    std::string stripe;
    std::string master;
    std::string reachable = "no";
    std::string role = "-";
    std::string version = "-";
    std::string eviction = "-";
    std::string clock = "-";
    std::string latency = "-";
    std::string verdict;
    std::string run_id;
    bool is_good = false;
};

class deaf final : public shards::master_events {
public:
    void connected(shards::master&) override {}
    void disconnected(shards::master&, const std::string&) override {}
    void pushed(shards::master&, protocol::reply) override {}
};

/// Of our wall clock, as far as a sample can know it.
nanoseconds ahead_of_us(const shards::clock_sample& sample) {
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    const nanoseconds since_1970 = std::chrono::seconds(wall.tv_sec) + nanoseconds(wall.tv_nsec);
    return sample.offset() - (since_1970 - nanoseconds(shards::read_clock().nanoseconds));
}

std::string_view show(shards::master_role role) {
    constexpr std::string_view names[] = {"unknown", "master", "replica", "sentinel"};
    return names[static_cast<size_t>(role)];
}

std::string show_time(nanoseconds time) {
    const double ms = std::chrono::duration<double, std::milli>(time).count();
    return fmt::format("{:.2f} ms", ms);
}

shards::handshake_facts to_facts(const shards::master_facts& told) {
    shards::handshake_facts facts;
    facts.run_id = told.run_id;
    facts.role = told.role == shards::master_role::replica ? "slave" : std::string(show(told.role));
    facts.cluster = told.mode == "cluster";
    facts.loading = told.loading;
    facts.maxmemory = told.memory_max;
    facts.maxmemory_policy = told.eviction;
    return facts;
}

/// The shortest of a few round trips: the first ones pay for a connection that has just been made.
ss::future<> measure(shards::master& who, finding& found, std::chrono::milliseconds patience) {
    constexpr int looks = 5;
    std::optional<shards::clock_sample> best;
    for (int i = 0; i < looks; ++i) {
        const auto sample = co_await shards::look_at_clock(who, {.timeout = patience});
        if (sample && (!best || sample->round_trip() < best->round_trip())) {
            best = *sample;
        }
    }
    if (best) {
        found.latency = show_time(best->round_trip());
        const auto offset = ahead_of_us(*best);
        found.clock = fmt::format("{}{}", offset.count() >= 0 ? "+" : "", show_time(offset));
    }
}

ss::future<> judge(shards::redis_master& who, finding& found, std::chrono::milliseconds patience) {
    const auto end = ss::lowres_clock::now() + patience;
    while (!who.is_connected() && ss::lowres_clock::now() < end) {
        co_await ss::sleep(10ms);
    }
    if (!who.is_connected()) {
        const auto why = who.state().last_error;
        found.verdict = why.empty() ? "does not answer" : why;
        co_return;
    }
    found.reachable = "yes";
    const auto told = co_await shards::shake_hands(who, patience);
    if (!told) {
        found.verdict = told.error();
        co_return;
    }
    const auto& facts = told->facts;
    found.run_id = facts.run_id;
    found.role = show(facts.role);
    found.version = facts.version;
    found.eviction = facts.memory_max.value_or(0) == 0 && facts.eviction
                         ? fmt::format("{} (no maxmemory)", *facts.eviction)
                         : facts.eviction.value_or("not told");
    co_await measure(who, found, patience);
    shards::admission standing(shards::admission_options{});
    standing.on_handshake(to_facts(facts), shards::read_clock());
    if (standing.status() == shards::admission::state::refused) {
        found.verdict = standing.reason();
        co_return;
    }
    if (const auto missing = co_await shards::find_missing_right(who, found.stripe, patience)) {
        found.verdict = *missing;
        co_return;
    }
    found.is_good = true;
    found.verdict = facts.config_verified ? "could vote" : "could vote (CONFIG GET is refused)";
}

ss::future<> look_at(const config::master_options& how, const config::redis_address& address,
                     finding& found) {
    deaf nobody;
    shards::redis_master master(
        {.address = address, .masters = how, .name = "lockkeeper-check", .index = 0}, nobody);
    co_await master.start();
    // Time for a name, a connection, and one more attempt.
    co_await judge(master, found, 2 * how.connect_timeout + how.silence);
    co_await master.stop();
}

/// Two names of one server are one vote.
void find_twins(std::vector<finding>& all) {
    for (finding& one : all) {
        const auto same = [&one](const finding& other) {
            return &other != &one && other.stripe == one.stripe && other.run_id == one.run_id;
        };
        if (one.is_good && std::ranges::any_of(all, same)) {
            one.is_good = false;
            one.verdict = "it is the same server as another master of this stripe";
        }
    }
}

void print(const std::vector<finding>& all) {
    using column = std::string finding::*;
    constexpr std::array<std::pair<std::string_view, column>, 9> columns = {{
        {"STRIPE", &finding::stripe},
        {"MASTER", &finding::master},
        {"REACHABLE", &finding::reachable},
        {"ROLE", &finding::role},
        {"VERSION", &finding::version},
        {"EVICTION", &finding::eviction},
        {"CLOCK", &finding::clock},
        {"LATENCY", &finding::latency},
        {"VERDICT", &finding::verdict},
    }};
    std::array<size_t, columns.size()> widths{};
    for (size_t i = 0; i < columns.size(); ++i) {
        widths[i] = columns[i].first.size();
        for (const finding& one : all) {
            widths[i] = std::max(widths[i], (one.*columns[i].second).size());
        }
    }
    const auto print_row = [&](auto text) {
        std::string row;
        for (size_t i = 0; i < columns.size(); ++i) {
            row += fmt::format("{:<{}}  ", text(i), widths[i]);
        }
        row.erase(row.find_last_not_of(' ') + 1);
        fmt::print("{}\n", row);
    };
    print_row([&](size_t i) { return columns[i].first; });
    for (const finding& one : all) {
        print_row([&](size_t i) { return std::string_view(one.*columns[i].second); });
    }
}

int conclude(const config::config& settings, const std::vector<finding>& all) {
    int code = 0;
    for (const config::stripe_options& stripe : settings.stripes) {
        const auto good = static_cast<size_t>(std::ranges::count_if(
            all, [&](const finding& one) { return one.is_good && one.stripe == stripe.name; }));
        const size_t needed = stripe.masters.size() / 2 + 1;
        fmt::print("stripe {}: {} of {} could vote, {} must: {}\n", stripe.name, good,
                   stripe.masters.size(), needed,
                   good == stripe.masters.size() ? "good"
                   : good >= needed              ? "works, with no room for as many failures"
                                                 : "no lock can be had");
        code = good == stripe.masters.size() ? code : 1;
    }
    return code;
}

ss::future<int> look_at_all(config::config settings) {
    std::vector<finding> all;
    for (const auto& stripe : settings.stripes) {
        for (const auto& master : stripe.masters) {
            all.push_back(
                {.stripe = stripe.name, .master = master.show(), .verdict = {}, .run_id = {}});
        }
    }
    std::vector<ss::future<>> looks;
    size_t next = 0;
    for (const auto& stripe : settings.stripes) {
        for (const auto& master : stripe.masters) {
            looks.push_back(look_at(settings.masters, master, all[next++]));
        }
    }
    co_await ss::when_all_succeed(looks.begin(), looks.end());
    find_twins(all);
    print(all);
    co_return conclude(settings, all);
}

}  // namespace

int check_fleet(command_line::server wish, int argc, char** argv) {
    if (wish.settings.stripes.empty()) {
        fmt::print("There are no stripes: locks live in the server's own memory.\n");
        return 0;
    }
    return wish.app->run(argc, argv, [settings = std::move(wish.settings)] {
        // What the connections have to say is in the table.
        ss::global_logger_registry().set_all_loggers_level(ss::log_level::error);
        return look_at_all(settings);
    });
}

}  // namespace lockkeeper::proxy
