#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/load/options.hh"
#include "bench/load/retry.hh"
#include "bench/load/timer_heap.hh"
#include "bench/load/zipf.hh"

namespace lockkeeper::bench {

/// What follows from the options, decided once before the threads start.
struct load_plan {
    explicit load_plan(load_options chosen);

    load_options options;
    std::uint64_t seed;
    /// In every name, so that what an earlier run left behind is in nobody's way.
    std::string key_start;
    retry_strategy retry;
    /// How long a holder may rely on its lock; blpop has no limit.
    std::chrono::nanoseconds lease;
    /// What RedLock takes off a lease for clocks that run at different speeds.
    std::chrono::nanoseconds drift{};

    std::uint32_t masters;                     ///< connections of a client
    std::uint32_t votes_needed;                ///< the majority of them
    std::uint32_t lanes;                       ///< clients times depth: sections under way at once
    std::uint32_t keys;                        ///< all that can be wanted
    std::unique_ptr<const zipf> popularity{};  ///< mode zipf only

    bool keys_are_own() const {
        return options.mode == load_mode::uncontended || options.mode == load_mode::renew;
    }
    /// The name of a key, at `at`, which has room for key_bytes_max; returns its end.
    char* write_key(char* at, std::uint32_t key) const;
    static constexpr std::size_t key_digits = 8;
    static constexpr std::size_t key_bytes_max = key_prefix_bytes_max + 5 + key_digits;
};

/// What the main thread tells its workers, and they it, while the load runs.
struct load_board {
    enum class stage : std::uint8_t { warming, measuring, draining };
    std::atomic<stage> now = stage::warming;
    std::atomic<std::int64_t> drain_end{};  ///< moment, as a count; set before `draining`

    // Mode once: the first client takes the lock; the others come, one after the other; when all of
    // them wait, the gate opens and the first one releases.
    std::atomic<bool> first_is_in = false;
    std::atomic<std::uint32_t> may_arrive = 1;  ///< clients below this number
    std::atomic<std::uint32_t> refused = 0;     ///< have been refused at least once
    std::atomic<bool> gate_is_open = false;
    std::atomic<std::int64_t> gate_opened{};  ///< when the first one released
    std::atomic<std::int64_t> last_grant{};
    std::atomic<std::uint32_t> served = 0;

    std::atomic<std::uint32_t> ended = 0;  ///< lanes that do nothing any more
};

}  // namespace lockkeeper::bench
