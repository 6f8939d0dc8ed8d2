#include "shards/core/time_histogram.hh"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using lockkeeper::shards::time_histogram;

BOOST_AUTO_TEST_CASE(a_time_is_below_the_bound_of_its_bucket_and_not_below_the_one_before) {
    for (const auto time : {0us, 1us, 2us, 3us, 4us, 999us, 1'000us, 1'024us, 60'000'000us}) {
        time_histogram times;
        times.record(time);
        size_t bucket = 0;
        while (times[bucket] == 0) {
            ++bucket;
        }
        BOOST_TEST((time < time_histogram::bound(bucket)));
        BOOST_TEST((bucket == 0 || time >= time_histogram::bound(bucket - 1)));
    }
}

BOOST_AUTO_TEST_CASE(what_is_too_long_is_in_the_last_bucket_and_what_is_negative_in_the_first) {
    time_histogram times;
    times.record(24h * 365);
    times.record(-1s);
    BOOST_TEST(times[time_histogram::buckets - 1] == 1u);
    BOOST_TEST(times[0] == 1u);
    BOOST_TEST(times.count() == 2u);
}

BOOST_AUTO_TEST_CASE(histograms_add_up) {
    time_histogram one;
    time_histogram other;
    one.record(3us);
    other.record(3us);
    other.record(1s);
    one += other;
    BOOST_TEST(one[2] == 2u);
    BOOST_TEST(one.count() == 3u);
    BOOST_TEST((one.sum() == 1s + 6us));
}
