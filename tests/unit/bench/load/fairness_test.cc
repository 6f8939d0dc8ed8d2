#include "bench/load/fairness.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "bench/load/random.hh"

using namespace lockkeeper::bench;

namespace {

double jain(std::vector<std::uint64_t> shares) {
    return jain_index(shares);
}

order_report order(std::vector<std::uint32_t> arrivals) {
    return compare_order(arrivals);
}

}  // namespace

BOOST_AUTO_TEST_CASE(equal_shares_have_the_index_one) {
    BOOST_TEST(jain({7, 7, 7, 7}) == 1.0);
    BOOST_TEST(jain({1}) == 1.0);
}

BOOST_AUTO_TEST_CASE(everything_for_one_of_n_has_the_index_one_nth) {
    BOOST_TEST(jain({100, 0, 0, 0}) == 0.25);
}

BOOST_AUTO_TEST_CASE(half_of_them_served_is_a_half) {
    BOOST_TEST(jain({5, 0, 5, 0}) == 0.5);
}

BOOST_AUTO_TEST_CASE(a_case_by_hand) {
    // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9))
    BOOST_TEST(jain({1, 2, 3}) == 36.0 / 42.0);
}

BOOST_AUTO_TEST_CASE(where_nobody_got_anything_nobody_was_preferred) {
    BOOST_TEST(jain({0, 0}) == 1.0);
    BOOST_TEST(jain({}) == 1.0);
}

BOOST_AUTO_TEST_CASE(service_in_order_of_arrival_has_no_inversion) {
    const order_report report = order({0, 1, 2, 3, 4});
    BOOST_TEST(report.served == 5u);
    BOOST_TEST(report.out_of_place == 0u);
    BOOST_TEST(report.inversions == 0u);
    BOOST_TEST(report.displacement_max == 0u);
}

BOOST_AUTO_TEST_CASE(one_who_jumps_the_queue_overtakes_everybody_before) {
    const order_report report = order({4, 0, 1, 2, 3});
    BOOST_TEST(report.inversions == 4u);
    BOOST_TEST(report.out_of_place == 5u);
    BOOST_TEST(report.displacement_max == 4u);
}

BOOST_AUTO_TEST_CASE(last_in_first_out_inverts_every_pair) {
    BOOST_TEST(order({5, 4, 3, 2, 1, 0}).inversions == 15u);
}

BOOST_AUTO_TEST_CASE(inversions_are_those_that_counting_pairs_finds) {
    random_source random(17);
    for (int round = 0; round != 50; ++round) {
        std::vector<std::uint32_t> places(1 + random.below(40));
        std::iota(places.begin(), places.end(), 0);
        for (std::size_t i = places.size(); i > 1; --i) {
            std::swap(places[i - 1], places[random.below(i)]);
        }
        std::uint64_t pairs = 0;
        for (std::size_t i = 0; i != places.size(); ++i) {
            pairs += static_cast<std::uint64_t>(
                std::count_if(places.begin() + static_cast<std::ptrdiff_t>(i), places.end(),
                              [&](std::uint32_t later) { return later < places[i]; }));
        }
        BOOST_TEST(order(places).inversions == pairs);
    }
}
