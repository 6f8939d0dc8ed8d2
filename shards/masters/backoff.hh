#pragma once

#include <chrono>

namespace lockkeeper::shards {

/// Pauses between attempts to connect: twice as long each time, up to a longest one, and shortened
/// at random by up to a half, so that a fleet does not come back to a restarted master all at once.
class backoff {
public:
    using milliseconds = std::chrono::milliseconds;

    backoff(milliseconds first, milliseconds longest);

    /// `chance` is a random number from 0 up to 1, drawn by the caller.
    milliseconds next(double chance);

    /// An attempt succeeded.
    void reset() { _pause = _first; }

private:
    milliseconds _first;
    milliseconds _longest;
    milliseconds _pause;
};

}  // namespace lockkeeper::shards
