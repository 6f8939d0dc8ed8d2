#include "bench/load/zipf.hh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using namespace lockkeeper::bench;

namespace {

std::vector<double> shares(std::size_t count, double exponent) {
    constexpr int draws = 1'000'000;
    const zipf popularity(count, exponent);
    random_source random(11);
    std::vector<double> seen(count);
    for (int i = 0; i != draws; ++i) {
        seen.at(popularity.draw(random)) += 1.0 / draws;
    }
    return seen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(popularity_falls_as_the_law_says) {
    constexpr std::size_t count = 100;
    for (const double exponent : {0.5, 0.99, 1.5}) {
        const auto seen = shares(count, exponent);
        double sum = 0;
        for (std::size_t i = 0; i != count; ++i) {
            sum += std::pow(static_cast<double>(i + 1), -exponent);
        }
        for (std::size_t i = 0; i != count; ++i) {
            const double expected = std::pow(static_cast<double>(i + 1), -exponent) / sum;
            // Five standard deviations of a million draws.
            const double tolerance = 5 * std::sqrt(expected / 1e6);
            BOOST_TEST(std::abs(seen[i] - expected) < tolerance, "key " << i);
        }
    }
}

BOOST_AUTO_TEST_CASE(exponent_nought_is_even) {
    for (const double share : shares(10, 0)) {
        BOOST_TEST(std::abs(share - 0.1) < 0.002);
    }
}

BOOST_AUTO_TEST_CASE(of_one_key_there_is_one) {
    BOOST_TEST(shares(1, 0.99).front() > 0.999);
}

BOOST_AUTO_TEST_CASE(the_same_seed_draws_the_same) {
    const zipf popularity(1000, 0.99);
    random_source one(3);
    random_source other(3);
    for (int i = 0; i != 1000; ++i) {
        BOOST_TEST(popularity.draw(one) == popularity.draw(other));
    }
}
