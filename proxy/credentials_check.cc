#include "proxy/credentials_check.hh"

#include <fmt/format.h>

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/when_all.hh>

#include "shards/masters/handshake.hh"
#include "shards/masters/redis_master.hh"
#include "shards/masters/rights.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

class deaf final : public shards::master_events {
public:
    void connected(shards::master&) override {}
    void disconnected(shards::master&, const std::string&) override {}
    void pushed(shards::master&, protocol::reply) override {}
};

/// Once is chance: a network may fail at that very moment.
constexpr uint64_t attempts = 2;
/// A stop of the server waits for a reload under way.
constexpr std::chrono::milliseconds patience_max = 5s;

// The configuration stays where it is: who calls waits.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

/// Empty if it lets us in, and lets us do there what we do.
ss::future<std::string> talk_to(shards::redis_master& master, const std::string& stripe,
                                std::chrono::milliseconds patience) {
    const auto end = ss::lowres_clock::now() + std::min(2 * patience, patience_max);
    while (!master.is_connected() && master.statistics().failed_attempts < attempts &&
           ss::lowres_clock::now() < end) {
        co_await ss::sleep(10ms);
    }
    if (!master.is_connected()) {
        const auto told = master.state().last_error;
        co_return told.empty() ? "it does not answer" : told;
    }
    const auto told = co_await shards::shake_hands(master, patience);
    if (!told) {
        co_return told.error();
    }
    co_return (co_await shards::find_missing_right(master, stripe, patience)).value_or("");
}

/// Empty if it is as good as before.
ss::future<std::string> meet(const config::master_options& how, const std::string& stripe,
                             const config::redis_address& address) {
    deaf nobody;
    shards::redis_master master(
        {.address = address, .masters = how, .name = "lockkeeper-reload", .index = 0}, nobody);
    co_await master.start();
    const auto why = co_await talk_to(master, stripe, how.connect_timeout);
    co_await master.stop();
    co_return why.empty() ? why : fmt::format("{}: {}", config::show_endpoint(address), why);
}

ss::future<std::vector<std::string>> look_at_masters(const config::config& next,
                                                     const shards::lock_service& here) {
    std::vector<ss::future<std::string>> looks;
    const auto stripes = here.masters()->states();
    for (size_t i = 0; i < stripes.size(); ++i) {
        for (size_t j = 0; j < stripes[i].masters.size(); ++j) {
            if (stripes[i].masters[j].link.connected) {
                const config::stripe_options& stripe = next.stripes.at(i);
                looks.push_back(meet(next.masters, stripe.name, stripe.masters.at(j)));
            }
        }
    }
    auto found = co_await ss::when_all_succeed(std::move(looks));
    std::erase(found, "");
    co_return found;
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace

ss::future<std::vector<std::string>> find_lost_masters(const config::config& next,
                                                       const shards::lock_service& here) {
    return here.masters() == nullptr ? ss::make_ready_future<std::vector<std::string>>()
                                     : look_at_masters(next, here);
}

}  // namespace lockkeeper::proxy
