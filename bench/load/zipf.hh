#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/load/random.hh"

namespace lockkeeper::bench {

/// Draws numbers 0 .. count - 1, the smaller the likelier: number i has the weight 1 / (i + 1)^s.
/// Each draw takes the same time, whatever the count: every column holds the same probability,
/// shared by at most two numbers, so one random column and one comparison decide.
///
/// Read only after construction, so all threads share one.
class zipf {
public:
    zipf(std::size_t count, double exponent);

    std::size_t draw(random_source& random) const {
        const auto column = static_cast<std::size_t>(random.below(_columns.size()));
        return random.unit() < _columns[column].own_share ? column : _columns[column].other;
    }

private:
    struct column {
        float own_share = 1;
        std::uint32_t other = 0;
    };
    std::vector<column> _columns;
};

}  // namespace lockkeeper::bench
