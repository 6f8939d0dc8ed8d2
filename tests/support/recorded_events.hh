#pragma once

#include <chrono>
#include <seastar/core/condition-variable.hh>
#include <seastar/core/future.hh>
#include <string>
#include <utility>
#include <vector>

#include "shards/masters/master.hh"

namespace lockkeeper::tests {

namespace ss = seastar;

/// Remembers what masters report, and waits for it with a patience that only a broken program
/// tries.
class recorded_events final : public shards::master_events {
public:
    void connected(shards::master&) override {
        ++connections;
        changed.broadcast();
    }
    void disconnected(shards::master&, const std::string& why) override {
        breaks.push_back(why);
        changed.broadcast();
    }
    void pushed(shards::master&, protocol::reply message) override {
        messages.push_back(std::move(message));
        changed.broadcast();
    }

    ss::future<> until_connected(std::size_t times = 1) {
        return changed.wait(patience, [this, times] { return connections >= times; });
    }
    ss::future<> until_broken(std::size_t times = 1) {
        return changed.wait(patience, [this, times] { return breaks.size() >= times; });
    }
    ss::future<> until_pushed(std::size_t times = 1) {
        return changed.wait(patience, [this, times] { return messages.size() >= times; });
    }

    std::size_t connections = 0;
    std::vector<std::string> breaks;
    std::vector<protocol::reply> messages;
    ss::condition_variable changed;

private:
    static constexpr std::chrono::seconds patience{60};
};

}  // namespace lockkeeper::tests
