#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shards/announcement.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// The three spaces of names that Redis has: exact channels, patterns, and channels of a cluster's
/// shard.
enum class channel_kind : uint8_t { channel, pattern, shard };
inline constexpr size_t channel_kinds = 3;

struct message {
    channel_kind kind;
    std::string_view pattern;  ///< that matched; for `pattern` only
    std::string_view channel;
    std::string_view payload;
};

/// Somebody who can be told a message, at once and without waiting.
class subscriber {
public:
    virtual void deliver(const message& what) = 0;

protected:
    ~subscriber() = default;
};

/// The subscriptions of this core's clients. A message is published on every core.
class pubsub : public ss::peering_sharded_service<pubsub>, public shards::announcer {
public:
    virtual ~pubsub() = default;

    /// False if it was so before.
    bool subscribe(channel_kind kind, std::string_view name, subscriber& who);
    bool unsubscribe(channel_kind kind, std::string_view name, subscriber& who);

    /// Tells the clients of all cores; the number of those who were told.
    ss::future<size_t> publish(channel_kind kind, std::string channel, std::string payload);
    /// The same for a message of a lock, whose sender does not wait to hear how many were told.
    void announce(shards::announcement what) override;

    size_t subscribers(channel_kind kind, std::string_view name) const;
    /// Names that somebody on this core has subscribed to.
    std::vector<std::string> names(channel_kind kind) const;

    ss::future<> stop() { return _gate.close(); }

private:
    using members = std::set<subscriber*>;
    using names_of_kind = std::map<std::string, members, std::less<>>;

    size_t deliver(channel_kind kind, std::string_view channel, std::string_view payload);

    names_of_kind& of(channel_kind kind) { return _names[static_cast<size_t>(kind)]; }
    const names_of_kind& of(channel_kind kind) const { return _names[static_cast<size_t>(kind)]; }

    std::array<names_of_kind, channel_kinds> _names;
    ss::gate _gate;  ///< announcements on their way to other cores
};

}  // namespace lockkeeper::proxy
