#pragma once

#include <fmt/format.h>

#include <seastar/core/sleep.hh>

#include <string>
#include <utility>

#include "shards/masters/redis_master.hh"
#include "tests/support/recorded_events.hh"
#include "tests/support/redis_process.hh"

/// A master on a real redis-server, for tests of this folder.
namespace lockkeeper::tests {

using namespace std::chrono_literals;

/// Longer than any answer takes on a machine that is up; only a broken program waits for it.
inline constexpr auto long_enough = 60'000ms;

/// Nothing is cut for silence or given up while other processes keep the machine busy.
inline config::master_options patient() {
    return {.connect_timeout = long_enough,
            .ping = 20ms,
            .silence = std::chrono::hours(1),
            .reconnect = 50ms};
}

inline shards::redis_master_options options_for(const std::string& address,
                                                config::master_options masters = patient()) {
    return {.address = config::parse_redis_address(address).value(),
            .masters = std::move(masters),
            .name = "lockkeeper-test-0"};
}

/// Stops at the end of its scope; for thread test cases.
struct live_master {
    recorded_events events;
    shards::redis_master link;

    explicit live_master(shards::redis_master_options options) : link(std::move(options), events) {
        link.start().get();
    }
    explicit live_master(const redis_process& server)
        : live_master(options_for(fmt::format("redis://127.0.0.1:{}", server.port()))) {}
    ~live_master() { link.stop().get(); }

    template <typename... Words>
    ss::future<shards::master_result> send(const Words&... words) {
        shards::command_batch batch;
        batch.add(words...);
        return link.send(batch, {.timeout = long_enough});
    }
    /// The reply to one command; an error of the transport fails the test.
    template <typename... Words>
    protocol::reply ask(const Words&... words) {
        return std::move(send(words...).get().value().replies.front());
    }
    /// Until an attempt has failed for a reason that has this in its words.
    void until_refused(const std::string& reason) {
        while (link.state().last_error.find(reason) == std::string::npos) {
            ss::sleep(1ms).get();
        }
    }
};

}  // namespace lockkeeper::tests
