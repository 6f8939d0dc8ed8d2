#include "bench/load/histogram.hh"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockkeeper::bench {

namespace {

/// Steps for each doubling, as a power of two.
constexpr unsigned step_bits = 10;
constexpr std::uint64_t exact_below = std::uint64_t{2} << step_bits;
constexpr unsigned value_bits_max = 42;
constexpr std::uint64_t value_max = (std::uint64_t{1} << value_bits_max) - 1;

/// How many low bits of a value its step does not distinguish.
unsigned dropped_bits(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return width <= step_bits + 1 ? 0 : width - (step_bits + 1);
}

/// Below `exact_below` a value is its own step. Above, each doubling continues where the last one
/// ended: its values, shifted, begin at half of exact_below.
std::size_t step_of(std::uint64_t value) {
    const unsigned dropped = dropped_bits(value);
    return (std::size_t{dropped} << step_bits) + static_cast<std::size_t>(value >> dropped);
}

/// The largest value that falls into a step.
std::uint64_t end_of_step(std::size_t step) {
    if (step < exact_below) {
        return step;
    }
    const auto dropped = static_cast<unsigned>((step >> step_bits) - 1);
    const std::uint64_t leading = step - (std::size_t{dropped} << step_bits);
    return ((leading + 1) << dropped) - 1;
}

}  // namespace

histogram::histogram() : _steps(step_of(value_max) + 1) {}

void histogram::record(std::uint64_t value) {
    ++_steps[step_of(std::min(value, value_max))];
    ++_count;
    _max = std::max(_max, value);
    _sum += static_cast<double>(value);
}

void histogram::merge(const histogram& other) {
    for (std::size_t i = 0; i != _steps.size(); ++i) {
        _steps[i] += other._steps[i];
    }
    _count += other._count;
    _max = std::max(_max, other._max);
    _sum += other._sum;
}

void histogram::clear() {
    std::ranges::fill(_steps, 0);
    _count = 0;
    _max = 0;
    _sum = 0;
}

double histogram::mean() const {
    return _count == 0 ? 0 : _sum / static_cast<double>(_count);
}

std::uint64_t histogram::quantile(double share) const {
    if (_count == 0) {
        return 0;
    }
    const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(_count));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i != _steps.size(); ++i) {
        seen += _steps[i];
        if (seen >= rank) {
            return std::min(end_of_step(i), _max);
        }
    }
    return _max;
}

}  // namespace lockkeeper::bench
