#include "bench/load/histogram.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "bench/load/random.hh"

using namespace lockkeeper::bench;

BOOST_AUTO_TEST_CASE(an_empty_histogram_answers_with_nothing) {
    const histogram empty;
    BOOST_TEST(empty.count() == 0u);
    BOOST_TEST(empty.max() == 0u);
    BOOST_TEST(empty.mean() == 0.0);
    BOOST_TEST(empty.quantile(0.99) == 0u);
}

BOOST_AUTO_TEST_CASE(small_values_are_exact) {
    histogram values;
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        values.record(i);
    }
    BOOST_TEST(values.quantile(0.0) == 1u);
    BOOST_TEST(values.quantile(0.5) == 500u);
    BOOST_TEST(values.quantile(0.99) == 990u);
    BOOST_TEST(values.quantile(0.999) == 999u);
    BOOST_TEST(values.quantile(1.0) == 1000u);
    BOOST_TEST(values.mean() == 500.5);
}

BOOST_AUTO_TEST_CASE(a_single_value_is_every_quantile) {
    for (const std::uint64_t value : {0ULL, 1ULL, 2047ULL, 2048ULL, 123'456'789ULL}) {
        histogram one;
        one.record(value);
        BOOST_TEST(one.quantile(0.0) == value);
        BOOST_TEST(one.quantile(1.0) == value);
        BOOST_TEST(one.max() == value);
    }
}

BOOST_AUTO_TEST_CASE(quantiles_of_large_values_are_off_by_less_than_a_thousandth) {
    random_source random(1);
    std::vector<std::uint64_t> all;
    histogram values;
    for (int i = 0; i != 100'000; ++i) {
        // From nanoseconds to minutes, each size as likely.
        const auto value = static_cast<std::uint64_t>(std::exp(random.unit() * 25));
        all.push_back(value);
        values.record(value);
    }
    std::ranges::sort(all);
    for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(share * 100'000)) - 1;
        const auto exact = static_cast<double>(all[rank]);
        const auto found = static_cast<double>(values.quantile(share));
        BOOST_TEST(found >= exact);
        BOOST_TEST(found <= exact * 1.001 + 1);
    }
}

BOOST_AUTO_TEST_CASE(both_sides_of_every_doubling_have_their_place) {
    for (unsigned bits = 1; bits != 42; ++bits) {
        const std::uint64_t edge = std::uint64_t{1} << bits;
        histogram values;
        values.record(edge - 1);
        values.record(edge);
        BOOST_TEST(values.quantile(0.5) == edge - 1);
        BOOST_TEST(values.quantile(1.0) == edge);
    }
}

BOOST_AUTO_TEST_CASE(a_value_beyond_the_range_keeps_its_maximum) {
    histogram values;
    values.record(UINT64_MAX);
    values.record(5);
    BOOST_TEST(values.max() == UINT64_MAX);
    BOOST_TEST(values.count() == 2u);
    BOOST_TEST(values.quantile(0.5) == 5u);
}

BOOST_AUTO_TEST_CASE(merged_parts_are_the_whole) {
    histogram whole;
    histogram left;
    histogram right;
    for (std::uint64_t i = 0; i != 5000; ++i) {
        const std::uint64_t value = i * i;
        whole.record(value);
        (i % 3 == 0 ? left : right).record(value);
    }
    left.merge(right);
    BOOST_TEST(left.count() == whole.count());
    BOOST_TEST(left.max() == whole.max());
    BOOST_TEST(left.mean() == whole.mean());
    for (const double share : {0.1, 0.5, 0.99}) {
        BOOST_TEST(left.quantile(share) == whole.quantile(share));
    }
}

BOOST_AUTO_TEST_CASE(cleared_is_as_new) {
    histogram values;
    values.record(9);
    values.clear();
    BOOST_TEST(values.count() == 0u);
    BOOST_TEST(values.quantile(1.0) == 0u);
    values.record(3);
    BOOST_TEST(values.quantile(1.0) == 3u);
    BOOST_TEST(values.mean() == 3.0);
}
