#include "bench/load/zipf.hh"

#include <cmath>

namespace lockkeeper::bench {

zipf::zipf(std::size_t count, double exponent) : _columns(count) {
    std::vector<double> weights(count);
    double sum = 0;
    for (std::size_t i = 0; i != count; ++i) {
        weights[i] = std::pow(static_cast<double>(i + 1), -exponent);
        sum += weights[i];
    }
    // Scaled so that the average is one column: those below it have room for a part of those above.
    std::vector<std::uint32_t> below;
    std::vector<std::uint32_t> above;
    for (std::size_t i = 0; i != count; ++i) {
        weights[i] *= static_cast<double>(count) / sum;
        (weights[i] < 1 ? below : above).push_back(static_cast<std::uint32_t>(i));
    }
    while (!below.empty() && !above.empty()) {
        const std::uint32_t poor = below.back();
        const std::uint32_t rich = above.back();
        below.pop_back();
        _columns[poor] = {.own_share = static_cast<float>(weights[poor]), .other = rich};
        weights[rich] -= 1 - weights[poor];
        if (weights[rich] < 1) {
            above.pop_back();
            below.push_back(rich);
        }
    }
    // What is left is one whole column each, but for rounding: own_share is 1 already.
}

}  // namespace lockkeeper::bench
