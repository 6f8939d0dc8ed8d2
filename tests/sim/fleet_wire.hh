#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "fleet_time.hh"
#include "shards/core/link_watch.hh"

/// What proxies say to each other, as values.
namespace lockkeeper::sim {

inline constexpr uint32_t no_wire = std::numeric_limits<uint32_t>::max();

/// Everything is in a conversation: that of one client, for one wish.
struct peer_message {
    enum class kind : uint8_t {
        // Of the side that called.
        acquire,
        release,
        extend,
        close,  ///< the conversation: its client has left
        // Of the other side.
        granted,
        not_home,
        failed,
        done,     ///< a release or an extension
        lost,     ///< the lock, before its time
        closed,   ///< the conversation
        refused,  ///< the same, before anything was heard in it
        // Of both.
        sign,
    };

    kind what = kind::sign;
    uint8_t key = 0;
    uint8_t client = 0;
    uint32_t request = 0;
    uint64_t errand = 0;
    uint64_t order = 0;
    uint32_t again = 0;
    bool untimed = false;
    bool yes = false;
    uint8_t hops = 1;
    std::chrono::nanoseconds ttl{};
    uint64_t fence = 0;
    uint32_t holds = 0;
    size_t grant = 0;  ///< in the history
    uint64_t number = 0;
};

/// One connection between two proxies, in one of its lives. The ends see its end at different
/// times.
struct peer_wire {
    enum end : uint8_t { caller, callee };
    struct side {
        uint8_t proxy = 0;
        uint32_t epoch = 0;
        bool open = true;
        true_time last = 0;   ///< when the last message to it arrives
        true_time heard = 0;  ///< when the last one did
        std::optional<shards::link_watch> watch{};
    };

    std::array<side, 2> sides{};
    /// What would arrive later never does: it broke.
    true_time lost_after = std::numeric_limits<true_time>::max();
};

constexpr peer_wire::end other_end(peer_wire::end which) {
    return which == peer_wire::caller ? peer_wire::callee : peer_wire::caller;
}

}  // namespace lockkeeper::sim
