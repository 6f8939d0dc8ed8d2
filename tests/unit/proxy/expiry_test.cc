#include "proxy/expiry.hh"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace lockkeeper;
using namespace lockkeeper::proxy;
using namespace std::chrono_literals;

namespace {
constexpr shards::instant now{1'000'000'000'000};
constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr int64_t least = std::numeric_limits<int64_t>::min();
}  // namespace

BOOST_AUTO_TEST_CASE(times_from_now_are_added) {
    BOOST_TEST((to_instant(5, time_unit::seconds, time_origin::now, now) == now + 5s));
    BOOST_TEST((to_instant(5, time_unit::milliseconds, time_origin::now, now) == now + 5ms));
    BOOST_TEST((to_instant(-5, time_unit::seconds, time_origin::now, now) == now + -5s));
}

BOOST_AUTO_TEST_CASE(times_since_1970_are_told_from_the_wall_clock) {
    const auto when =
        to_instant(wall_clock_ms() + 10'000, time_unit::milliseconds, time_origin::epoch, now);
    BOOST_REQUIRE(when.has_value());
    // The wall clock goes on between the two looks at it.
    BOOST_TEST((*when - now <= 10s));
    BOOST_TEST((*when - now > 5s));
    BOOST_TEST((*to_instant(1, time_unit::seconds, time_origin::epoch, now) < now));
}

BOOST_AUTO_TEST_CASE(times_beyond_redis_milliseconds_are_refused) {
    BOOST_TEST(!to_instant(most, time_unit::seconds, time_origin::now, now).has_value());
    BOOST_TEST(!to_instant(most, time_unit::seconds, time_origin::epoch, now).has_value());
    BOOST_TEST(!to_instant(least, time_unit::seconds, time_origin::now, now).has_value());
    BOOST_TEST(!to_instant(most, time_unit::milliseconds, time_origin::now, now).has_value());
    BOOST_TEST(to_instant(most, time_unit::milliseconds, time_origin::epoch, now).has_value());
    BOOST_TEST((*to_instant(least, time_unit::milliseconds, time_origin::epoch, now) < now));
}

BOOST_AUTO_TEST_CASE(what_is_left_is_told_as_redis_does) {
    BOOST_TEST(milliseconds_left(shards::lifetime{}, now) == -2);
    BOOST_TEST(milliseconds_left(shards::lifetime{.present = true}, now) == -1);
    BOOST_TEST(milliseconds_left(shards::lifetime{.present = true, .until = now + 30s}, now) ==
               30'000);
    BOOST_TEST(milliseconds_left(std::optional(now + 1ns), now) == 1);
}
