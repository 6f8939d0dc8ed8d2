#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shards/announcement.hh"
#include "shards/core/clock.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// The three spaces of names that Redis has: exact channels, patterns, and channels of a cluster's
/// shard.
enum class channel_kind : uint8_t { channel, pattern, shard };
inline constexpr size_t channel_kinds = 3;

channel_kind kind_of(shards::announcement::space where);

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
    /// Where it is, without its port.
    virtual std::string_view address() const = 0;

protected:
    ~subscriber() = default;
};

/// A subscription, as other cores know it.
struct subscription {
    ss::shard_id core = 0;
    channel_kind kind = channel_kind::channel;
    std::string name;       ///< of the channel, or the pattern
    uint64_t number = 0;    ///< on its core, for ever
    uint64_t turn = 0;      ///< the lowest is the next to be woken, over all cores
    bool is_likely = true;  ///< it listens to this very channel, or is where somebody asked
};

/// Whom to look for on a core.
struct wake_query {
    channel_kind kind = channel_kind::channel;
    std::string channel;
    /// Those who came later know already.
    shards::instant before{};
    /// Where clients are that want the lock.
    std::set<std::string, std::less<>> addresses{};
    /// Numbers of those who know.
    std::set<uint64_t> except{};
    size_t most = 1;
};

struct wake_candidates {
    std::vector<subscription> first;  ///< at most as many as wanted, the next one first
    bool has_more = false;            ///< there are others who could be told too
    bool by_pattern = false;          ///< some of them listen to a pattern
};

/// The order in which candidates are woken.
bool is_woken_before(const subscription& one, const subscription& other);

/// The subscriptions of this core's clients. A message is published on every core.
class pubsub : public ss::peering_sharded_service<pubsub> {
public:
    /// False if it was so before.
    bool subscribe(channel_kind kind, std::string_view name, subscriber& who);
    bool unsubscribe(channel_kind kind, std::string_view name, subscriber& who);

    /// Tells the clients of all cores; the number of those who were told.
    ss::future<size_t> publish(channel_kind kind, std::string channel, std::string payload);
    /// The same for a message of a lock, whose sender does not wait to hear how many were told.
    void broadcast(shards::announcement what);

    /// Those on this core who are to be told first that a lock may be tried for.
    wake_candidates candidates(const wake_query& wanted) const;
    /// Tells them, and their turns come last now; the numbers of those who were told. Looks for
    /// them itself: whom another lock's news reached a moment ago, it is no longer the turn of.
    std::vector<uint64_t> wake(const wake_query& wanted, std::string_view payload);

    size_t subscribers(channel_kind kind, std::string_view name) const;
    /// Names that somebody on this core has subscribed to.
    std::vector<std::string> names(channel_kind kind) const;

    ss::future<> stop() { return _gate.close(); }

private:
    /// Who listens to one name, in the order of their turns. A subscription's first turn, which is
    /// the instant when it was made, is its number.
    struct listeners {
        struct place {
            uint64_t number;
            uint64_t turn;
        };
        std::map<subscriber*, place> all;
        std::map<uint64_t, subscriber*> by_turn;
    };
    struct search;
    using names_of_kind = std::map<std::string, listeners, std::less<>>;

    size_t deliver(channel_kind kind, std::string_view channel, std::string_view payload);
    bool wake_one(const subscription& whom, std::string_view channel, std::string_view payload);
    uint64_t next_turn();

    names_of_kind& of(channel_kind kind) { return _names[static_cast<size_t>(kind)]; }
    const names_of_kind& of(channel_kind kind) const { return _names[static_cast<size_t>(kind)]; }

    std::array<names_of_kind, channel_kinds> _names;
    uint64_t _last_turn = 0;
    ss::gate _gate;  ///< announcements on their way to other cores
};

}  // namespace lockkeeper::proxy
