#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// How evenly, and in which order, clients were served.
namespace lockkeeper::bench {

/// Jain's index of how evenly something was shared: 1 if all got the same, 1/n if one got
/// everything. 1 if nobody got anything, for then nobody was preferred.
double jain_index(std::span<const std::uint64_t> shares);

/// How the order of service differs from the order of arrival.
struct order_report {
    std::size_t served = 0;
    std::size_t out_of_place = 0;      ///< served at another place than they came
    std::uint64_t inversions = 0;      ///< pairs of which the later one was served first
    std::size_t displacement_max = 0;  ///< the farthest that one was from its place
};

/// `arrivals` lists the places of arrival, 0 .. n - 1, each once, in the order of service.
order_report compare_order(std::span<const std::uint32_t> arrivals);

}  // namespace lockkeeper::bench
