#pragma once

#include <cstdint>
#include <string>

namespace lockkeeper::shards {

/// A message that an operation on a lock has for those who wait for it elsewhere.
struct announcement {
    enum class space : uint8_t {
        channel,        ///< PUBLISH
        shard_channel,  ///< SPUBLISH
    };

    space where = space::channel;
    std::string channel;
    std::string payload;

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
