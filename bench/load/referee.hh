#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/load/timer_heap.hh"

namespace lockkeeper::bench {

/// Sees every client of this process enter and leave its section, on all threads, and so knows
/// without trusting any server whether two are in at once, whether fences grow, and whether a lock
/// went to another client.
///
/// A client enters after it has read the grant, and leaves before it sends the release. So what two
/// clients in a section have in common is an instant at which both rightly believed in their lock,
/// and no delay on the way can make an honest server look guilty.
class referee {
public:
    enum class strictness : std::uint8_t {
        counts_only,  ///< hand-offs, nothing else
        verifies,
    };

    referee(std::size_t keys, strictness how);

    struct entry {
        bool from_another_client = false;  ///< the previous holder was somebody else
        bool intruded = false;             ///< the previous holder was still in, its lease alive
        bool after_expiry = false;         ///< it was still in, but its lease may have ended
        bool fence_fell = false;           ///< the fence is not above the last one of this key
        std::uint64_t turn = 0;            ///< which grant of this key it is, from 1 on
    };

    /// `lease` is how long the client may rely on the lock.
    entry enter(std::uint32_t key, std::uint32_t client, moment now, std::chrono::nanoseconds lease,
                std::optional<std::uint64_t> fence);
    void leave(std::uint32_t key, std::uint32_t client);
    /// How many have entered.
    std::uint64_t turns(std::uint32_t key) const {
        return _keys[key].turns.load(std::memory_order_relaxed);
    }

private:
    /// Clients count from 1 here, 0 is nobody.
    struct key_state {
        std::atomic<std::uint32_t> last_holder = 0;
        std::atomic<std::uint32_t> inside = 0;
        std::atomic<std::int64_t> lease_end = 0;
        std::atomic<std::uint64_t> fence = 0;
        std::atomic<std::uint64_t> turns = 0;
    };

    strictness _how;
    std::unique_ptr<key_state[]> _keys;
};

}  // namespace lockkeeper::bench
