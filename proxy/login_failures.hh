#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <seastar/core/lowres_clock.hh>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lockkeeper::proxy {

/// How many wrong passwords have come from an address within the last minute, on one core. Who
/// guesses makes a new connection when the old one is closed, but comes from the same place.
///
/// Invariant: there are at most `addresses_max` addresses. While so many have failed within a
/// minute, all others count as if they had failed too often: a guesser with many addresses must not
/// push himself out.
class login_failures {
public:
    using clock = seastar::lowres_clock;

    static constexpr size_t addresses_max = 4'096;
    static constexpr std::chrono::seconds window{60};

    /// One more. Tells how many there are now.
    uint32_t note(std::string_view address, clock::time_point now);
    /// Whether there have been `most` or more already; 0 is no bound.
    bool are_too_many(std::string_view address, uint32_t most, clock::time_point now) const;

private:
    struct counted {
        uint32_t failures = 0;
        clock::time_point since{};
    };
    struct hash {
        using is_transparent = void;
        size_t operator()(std::string_view address) const {
            return std::hash<std::string_view>{}(address);
        }
    };

    std::unordered_map<std::string, counted, hash, std::equal_to<>> _by_address;
};

}  // namespace lockkeeper::proxy
