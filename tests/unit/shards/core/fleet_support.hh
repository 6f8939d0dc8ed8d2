#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <initializer_list>
#include <ostream>

#include "shards/core/clock.hh"
#include "shards/core/voter_set.hh"

/// What the tests of rounds, leases and admission share.
namespace lockkeeper::shards {

inline voter_set masters(std::initializer_list<int> which) {
    voter_set result;
    for (const int master : which) {
        result.add(static_cast<master_index>(master));
    }
    return result;
}

inline std::ostream& operator<<(std::ostream& out, voter_set set) {
    out << "{";
    for (const master_index master : set) {
        out << " " << int{master};
    }
    return out << " }";
}

/// Some moment.
inline constexpr instant start = instant{} + std::chrono::hours(1);

template <typename Rep, typename Period>
constexpr instant after(std::chrono::duration<Rep, Period> by) {
    return start + by;
}

inline std::ostream& operator<<(std::ostream& out, instant when) {
    return out << std::chrono::duration<double, std::milli>(when - start).count() << " ms";
}

}  // namespace lockkeeper::shards

/// A set is compared as one value.
template <>
struct boost::unit_test::is_forward_iterable<lockkeeper::shards::voter_set> : boost::mpl::false_ {};
