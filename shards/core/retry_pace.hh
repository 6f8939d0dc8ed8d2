#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace lockkeeper::shards {

/// When to try again after a lost round. Two proxies that split the votes must not meet again, so
/// each waits for a random while that grows; a key that somebody holds is looked at no more than 20
/// times a second, and at the latest when its time runs out on the masters.
struct retry_pace {
    using nanoseconds = std::chrono::nanoseconds;

    static constexpr nanoseconds shortest = std::chrono::milliseconds(2);
    static constexpr nanoseconds longest_first = std::chrono::milliseconds(40);
    static constexpr uint32_t doublings_max = 4;
    static constexpr nanoseconds between_polls = std::chrono::milliseconds(50);

    /// `losses` in a row before this one; `random` is any random number.
    static constexpr nanoseconds after(uint32_t losses, uint64_t random, bool held,
                                       std::optional<nanoseconds> free_in) {
        const uint64_t range = static_cast<uint64_t>((longest_first - shortest).count());
        const nanoseconds jitter = shortest + nanoseconds(random % range);
        nanoseconds wait = jitter * (1 << std::min(losses, doublings_max));
        if (!held) {
            return wait;
        }
        wait = std::max(wait, between_polls);
        if (free_in && *free_in < wait) {
            // Its end is known and near. Others wait for the same moment: not all at once.
            wait = std::max(*free_in + jitter / 4, between_polls);
        }
        return wait;
    }
};

}  // namespace lockkeeper::shards
