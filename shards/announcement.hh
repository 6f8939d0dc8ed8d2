#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockkeeper::shards {

/// A lock that has just come free.
struct freed_lock {
    uint32_t database = 0;
    std::string key;

    friend auto operator<=>(const freed_lock&, const freed_lock&) = default;
};

/// The first in a queue that a library keeps beside a lock: only he may take it now.
struct queue_head {
    uint32_t database = 0;
    std::string queue;           ///< the key: a hash of owners in the order of arrival
    std::string owner;           ///< who is first
    std::string channel_prefix;  ///< each listens on `prefix:owner`

    friend bool operator==(const queue_head&, const queue_head&) = default;
};

/// A message that an operation on a lock has for those who wait for it elsewhere.
struct announcement {
    enum class space : uint8_t {
        channel,        ///< PUBLISH
        shard_channel,  ///< SPUBLISH
    };

    space where = space::channel;
    std::string channel;
    std::string payload;
    /// It says no more than that this lock may be tried for: one of those who listen is enough,
    /// as long as one comes.
    std::optional<freed_lock> frees{};
    /// It is his turn. If nobody listens there, he has gone, and it is the next one's.
    std::optional<queue_head> calls{};

    friend bool operator==(const announcement&, const announcement&) = default;
};

/// Somebody who passes announcements on: at once, without waiting, in the order in which they come.
class announcer {
public:
    virtual void announce(announcement what) = 0;

protected:
    ~announcer() = default;
};

}  // namespace lockkeeper::shards
