#include "bench/load/fairness.hh"

#include <algorithm>
#include <vector>

namespace lockkeeper::bench {

namespace {

/// Sorts `places` and counts the pairs that stood in the wrong order: by halves, each merged into
/// `room`.
std::uint64_t sort_and_count(std::span<std::uint32_t> places, std::span<std::uint32_t> room) {
    if (places.size() < 2) {
        return 0;
    }
    const std::size_t middle = places.size() / 2;
    std::uint64_t inversions =
        sort_and_count(places.first(middle), room) + sort_and_count(places.subspan(middle), room);
    std::size_t left = 0;
    std::size_t right = middle;
    for (std::size_t i = 0; i != places.size(); ++i) {
        const bool take_left =
            right == places.size() || (left != middle && places[left] <= places[right]);
        if (!take_left) {
            inversions += middle - left;
        }
        room[i] = take_left ? places[left++] : places[right++];
    }
    std::ranges::copy(room.first(places.size()), places.begin());
    return inversions;
}

}  // namespace

double jain_index(std::span<const std::uint64_t> shares) {
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t share : shares) {
        const auto value = static_cast<double>(share);
        sum += value;
        squares += value * value;
    }
    return squares == 0 ? 1 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

order_report compare_order(std::span<const std::uint32_t> arrivals) {
    order_report report{.served = arrivals.size()};
    for (std::size_t i = 0; i != arrivals.size(); ++i) {
        const std::size_t place = arrivals[i];
        const std::size_t displacement = place > i ? place - i : i - place;
        report.out_of_place += displacement == 0 ? 0 : 1;
        report.displacement_max = std::max(report.displacement_max, displacement);
    }
    std::vector<std::uint32_t> places(arrivals.begin(), arrivals.end());
    std::vector<std::uint32_t> room(places.size());
    report.inversions = sort_and_count(places, room);
    return report;
}

}  // namespace lockkeeper::bench
