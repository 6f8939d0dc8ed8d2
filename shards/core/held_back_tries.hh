#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// Tries that were held back for as long as their policy says, and in vain: since when their
/// clients have been coming. One that tries again takes the place that it had. Without that, where
/// a line takes longer than a try may be held back, those who have just had the lock would stand
/// before those who were sent away, time after time.
class held_back_tries {
public:
    explicit held_back_tries(size_t most = 100'000) : _most(most) {}

    void note(uint64_t who, instant came, instant now);
    /// Since when, if it was here a moment ago. It is forgotten until it is noted again.
    std::optional<instant> take(uint64_t who, instant now);
    size_t size() const { return _tries.size(); }

private:
    struct record {
        instant came;
        instant last;
    };

    void sweep(instant now);

    size_t _most;
    std::unordered_map<uint64_t, record> _tries;
    instant _swept = start_of_time;
};

}  // namespace lockkeeper::shards
