#include "shards/core/clock.hh"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(durations_of_any_unit_move_an_instant) {
    BOOST_TEST((instant{5} + 2ns).nanoseconds == 7);
    BOOST_TEST((instant{5} + 2ms).nanoseconds == 2'000'005);
    BOOST_TEST((instant{0} + 1h).nanoseconds == 3'600'000'000'000);
    BOOST_TEST((instant{5} - 10ns).nanoseconds == -5);
}

BOOST_AUTO_TEST_CASE(instants_compare_and_subtract) {
    const instant early{10};
    const instant late = early + 3s;
    BOOST_TEST((early < late));
    BOOST_TEST((late - early == 3s));
    BOOST_TEST((early - late == -3s));
}

BOOST_AUTO_TEST_CASE(a_ttl_too_long_to_count_lasts_to_the_end_of_time_instead_of_wrapping) {
    const std::chrono::milliseconds longest(std::numeric_limits<int64_t>::max());
    BOOST_TEST((instant{5} + longest == end_of_time));
    BOOST_TEST((instant{5} + std::chrono::nanoseconds::max() == end_of_time));
    BOOST_TEST((instant{-5} - longest == start_of_time));
    BOOST_TEST((instant{5} - std::chrono::milliseconds::min() == end_of_time));
    BOOST_TEST((end_of_time - start_of_time == std::chrono::nanoseconds::max()));
    BOOST_TEST((start_of_time - end_of_time == std::chrono::nanoseconds::min()));
}
