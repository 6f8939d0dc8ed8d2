#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Time and chance of a simulated world. All of it comes from one seed.
namespace lockkeeper::sim {

/// True time, in nanoseconds since the world began. No clock in the world shows it.
using true_time = int64_t;

inline constexpr int64_t us = 1'000;
inline constexpr int64_t ms = 1'000'000;
inline constexpr int64_t s = 1'000'000'000;

/// splitmix64
class chance {
public:
    explicit chance(uint64_t seed) : _state(seed) {}

    uint64_t next() {
        uint64_t z = (_state += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// Both ends included.
    int64_t between(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
    }
    bool one_in(uint64_t many) { return next() % many == 0; }
    bool percent(uint64_t share) { return next() % 100 < share; }

private:
    uint64_t _state;
};

/// A clock that runs at its own rate and shows a time of its own. It may be stepped.
struct wall_clock {
    int64_t offset = 0;
    int64_t per_million = 0;  ///< faster (or slower) than true time
    true_time since = 0;      ///< of the last change

    int64_t shows(true_time now) const {
        const auto passed = static_cast<__int128>(now - since);
        return offset + static_cast<int64_t>(passed + passed * per_million / 1'000'000);
    }
    /// The first moment at which it shows at least this.
    true_time when(int64_t shown) const {
        const auto passed = static_cast<__int128>(shown - offset);
        auto moment = since + static_cast<int64_t>(passed * 1'000'000 / (1'000'000 + per_million));
        while (shows(moment) < shown) {
            ++moment;
        }
        while (shows(moment - 1) >= shown) {
            --moment;
        }
        return moment;
    }
    void step(true_time now, int64_t by) {
        offset = shows(now) + by;
        since = now;
    }
    void change_rate(true_time now, int64_t to) {
        offset = shows(now);
        since = now;
        per_million = to;
    }
};

/// Something that will happen. What the numbers mean is up to the kind.
struct event {
    true_time at = 0;
    uint64_t order = 0;
    uint8_t kind = 0;
    uint8_t a = 0;
    uint8_t b = 0;
    uint32_t epoch = 0;
    uint64_t x = 0;
};

/// What happens at the same time happens in the order in which it was planned.
class agenda {
public:
    void add(event what) {
        what.order = _planned++;
        _heap.push_back(what);
        std::push_heap(_heap.begin(), _heap.end(), later);
    }
    bool empty() const { return _heap.empty(); }
    event take() {
        std::pop_heap(_heap.begin(), _heap.end(), later);
        const event first = _heap.back();
        _heap.pop_back();
        return first;
    }

private:
    static bool later(const event& one, const event& other) {
        return one.at != other.at ? one.at > other.at : one.order > other.order;
    }

    std::vector<event> _heap;
    uint64_t _planned = 0;
};

}  // namespace lockkeeper::sim
