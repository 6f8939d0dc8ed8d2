#pragma once

#include <cstddef>
#include <functional>
#include <seastar/core/future.hh>
#include <seastar/util/noncopyable_function.hh>
#include <set>
#include <string>
#include <string_view>

#include "shards/masters/master.hh"
#include "shards/masters/redis_master.hh"

namespace lockkeeper::shards {

/// Channels of one master that we listen to, over a connection of its own: a flood of messages must
/// not stand in front of a vote. After a break it subscribes anew by itself; what was published
/// meanwhile is lost, as always with Redis, so messages are hints and never the truth.
template <typename Clock>
class basic_subscription final : private master_events {
public:
    /// More would be a mistake of ours.
    static constexpr std::size_t channels_max = 10'000;

    struct handlers {
        /// Must not throw.
        ss::noncopyable_function<void(std::string_view channel, std::string_view message)> message;
        /// The master has confirmed the channel, again after each break: from now on nothing that
        /// is published there is missed.
        ss::noncopyable_function<void(std::string_view channel)> listening;
    };

    basic_subscription(redis_master_options options, handlers call);

    ss::future<> start() { return _link.start(); }
    void request_stop() { _link.request_stop(); }
    ss::future<> stop() { return _link.stop(); }

    /// False if there are too many channels. Twice is once.
    bool subscribe(std::string_view channel);
    void unsubscribe(std::string_view channel);

    std::size_t channels() const { return _channels.size(); }
    master_state state() const { return _link.state(); }

private:
    void connected(master& from) override;
    void disconnected(master& from, const std::string& why) override;
    void pushed(master& from, protocol::reply message) override;
    void tell(std::string_view verb, std::string_view channel);

    handlers _call;
    std::set<std::string, std::less<>> _channels;
    basic_redis_master<Clock> _link;
};

using subscription = basic_subscription<ss::lowres_clock>;

}  // namespace lockkeeper::shards
