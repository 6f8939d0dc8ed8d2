#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lockkeeper::bench {

using moment = std::chrono::steady_clock::time_point;

/// One alarm for each of a fixed number of sleepers. Setting one again moves it; nothing allocates
/// after construction.
class timer_heap {
public:
    explicit timer_heap(std::size_t sleepers);

    void set(std::uint32_t sleeper, moment when);
    void cancel(std::uint32_t sleeper);

    std::optional<moment> next() const {
        return _heap.empty() ? std::nullopt : std::optional(_heap.front().when);
    }
    /// The sleeper whose alarm has come, earliest first; its alarm is off then.
    std::optional<std::uint32_t> take_due(moment now);

private:
    struct alarm {
        moment when;
        std::uint32_t sleeper;
    };
    static constexpr std::uint32_t nowhere = UINT32_MAX;

    void put(std::size_t place, alarm what);
    void up(std::size_t place);
    void down(std::size_t place);

    std::vector<alarm> _heap;
    std::vector<std::uint32_t> _places;  ///< by sleeper: where in the heap its alarm is
};

}  // namespace lockkeeper::bench
