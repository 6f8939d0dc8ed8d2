#pragma once

#include <cstdint>

namespace lockkeeper::bench {

/// A small, fast source of random numbers, one per thread: a counter in large odd steps, mixed.
/// Good enough to spread load; nothing here is secret.
class random_source {
public:
    explicit random_source(std::uint64_t seed) : _state(seed) {}

    std::uint64_t next() {
        _state += 0x9e3779b97f4a7c15;
        std::uint64_t mixed = _state;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }

    /// 0 .. bound - 1; the bound is not 0. The high half of a product instead of a remainder: no
    /// division.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

    /// In [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t _state;
};

}  // namespace lockkeeper::bench
