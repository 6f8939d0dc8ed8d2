#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// A try that was refused, of somebody who had been refused before.
struct polled_try {
    uint64_t token;                  ///< caller::token
    std::chrono::nanoseconds pause;  ///< between its attempts
};

/// How long to hold a try back: between half of `longest` and all of it, another time at each try.
/// A crowd that was refused at one moment would come back at one moment, and the lock would be
/// handed to and fro among few others until then.
std::chrono::nanoseconds held_back_for(std::chrono::nanoseconds longest, uint64_t token,
                                       instant now);

/// Who asks for a lock again and again, as one core knows it of its connections. Its next try may
/// be held back in line; the first ones never are, so that who tries once is answered at once.
class poll_pauses {
public:
    explicit poll_pauses(size_t most = 100'000) : _most(most) {}

    bool empty() const { return _known.empty(); }
    size_t size() const { return _known.size(); }

    /// It was refused, and not for the first time.
    void note(const polled_try& refused, instant now);
    /// It tries again: since when it has, about. Nothing if it is not known, or has been away for
    /// so long that this is something new.
    std::optional<instant> tries(uint64_t token, instant now);
    /// It has what it wanted.
    void forget(uint64_t token) { _known.erase(token); }

private:
    struct record {
        instant since;
        instant last;
        std::chrono::nanoseconds pause;

        bool has_gone(instant now) const;
    };

    void sweep(instant now);

    size_t _most;
    std::unordered_map<uint64_t, record> _known;
    instant _swept = start_of_time;
};

}  // namespace lockkeeper::shards
