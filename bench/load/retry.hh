#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/load/random.hh"

namespace lockkeeper::bench {

/// How long a client that polls waits before it asks again.
struct retry_strategy {
    enum class kind : std::uint8_t {
        fixed,        ///< always `shortest`
        random,       ///< anything from `shortest` to `longest`, each as likely
        exponential,  ///< `shortest`, doubled with each refusal up to `longest`; of that, a random
                      ///< part from one half to the whole, so that clients do not march in step
    };

    kind what = kind::fixed;
    std::chrono::nanoseconds shortest{};
    std::chrono::nanoseconds longest{};

    friend bool operator==(const retry_strategy&, const retry_strategy&) = default;

    /// The pause after the `refusals`-th refusal in a row, counted from 1.
    std::chrono::nanoseconds pause(std::uint32_t refusals, random_source& random) const;
};

/// "fixed:10ms", "random:0-100ms", "exponential:1ms-64ms".
std::optional<retry_strategy> parse_retry(std::string_view text);
std::string to_text(const retry_strategy& strategy);

}  // namespace lockkeeper::bench
