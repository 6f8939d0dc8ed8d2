#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shards/core/forwarding.hh"
#include "shards/core/grant_types.hh"

namespace lockkeeper::shards {

/// A client's wish for a lock, whole: it travels to the core that owns the key.
struct lock_order {
    uint32_t database = 0;
    std::string key{};
    std::string owner{};
    uint64_t client = 0;
    lock_mode mode = lock_mode::exclusive;
    uint32_t permits = 1;
    uint32_t of = 1;
    /// None: as long as the client's connection lives.
    std::optional<std::chrono::milliseconds> ttl{};
    /// None: now or never. 0: for as long as it takes.
    std::optional<std::chrono::milliseconds> wait{};
    int32_t priority = 0;
    bool is_parked = false;  ///< the client does not know that it waits
    bool may_own = false;    ///< ... and by the same words renews what it has: no need to wait then
    bool is_collected = false;  ///< one of several: see grant_request
    order_route route = order_route::here;
    /// By which it is known again, if it has to be sent to another proxy twice.
    std::string number{};
    uint32_t repeated = 0;              ///< how often it was sent before, and no answer came
    std::optional<uint64_t> repeats{};  ///< the fence that it got then
    /// All of several locks are there: this one has been given already, with that fence.
    struct confirmation {
        uint64_t fence = 0;
        collected_as how = collected_as::fresh;
    };
    std::optional<confirmation> confirms{};
};

/// How it ended.
struct lock_answer {
    enum class end : uint8_t {
        granted,
        refused,    ///< held by somebody else, and not waited for, or not any longer
        cancelled,  ///< the client left, or somebody unblocked it
        failed,     ///< `error` tells why
        elsewhere,  ///< nothing has been done: `home` has the lease, or nobody that we know of
    };

    end how = end::refused;
    grant given{};
    lock_error error{};
    /// elsewhere: the proxy to ask. granted: the proxy that has given it, if that is not this one.
    std::string home{};
    /// failed: the words of another proxy.
    std::string words{};
};

}  // namespace lockkeeper::shards
