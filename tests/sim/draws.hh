#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockkeeper::sim {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Everything that chance decides in a schedule, from one seed. Our own generator (xoshiro256**)
/// and our own distributions: those of the standard library may differ from one to the next, and a
/// seed must mean the same schedule everywhere.
class draws {
public:
    explicit draws(uint64_t seed) {
        for (uint64_t& each : _state) {
            // SplitMix64: seeds that are close to each other give states that are not.
            seed += 0x9E37'79B9'7F4A'7C15U;
            uint64_t x = seed;
            x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9U;
            x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBU;
            each = x ^ (x >> 31);
        }
    }

    uint64_t next() {
        const uint64_t result = std::rotl(_state[1] * 5, 7) * 9;
        const uint64_t shifted = _state[1] << 17;
        _state[2] ^= _state[0];
        _state[3] ^= _state[1];
        _state[1] ^= _state[2];
        _state[0] ^= _state[3];
        _state[2] ^= shifted;
        _state[3] = std::rotl(_state[3], 45);
        return result;
    }

    size_t below(size_t count) { return next() % count; }
    int64_t between(int64_t least, int64_t most) {
        return least + static_cast<int64_t>(next() % static_cast<uint64_t>(most - least + 1));
    }
    bool chance(unsigned percent) { return next() % 100 < percent; }

    /// Whole microseconds; often whole milliseconds, so that things happen at the same instant.
    nanoseconds between(milliseconds least, milliseconds most) {
        const auto micros = between(std::chrono::microseconds(least).count(),
                                    std::chrono::microseconds(most).count());
        return std::chrono::microseconds(chance(30) ? micros / 1000 * 1000 : micros);
    }
    milliseconds whole(milliseconds least, milliseconds most) {
        return milliseconds(between(least.count(), most.count()));
    }

    template <typename T, size_t N>
    const T& any(const T (&of)[N]) {
        return of[below(N)];
    }

private:
    uint64_t _state[4];
};

}  // namespace lockkeeper::sim
