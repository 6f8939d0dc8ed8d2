#include "shards/core/fleet_fingerprint.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

fleet_shape shape() {
    return {.stripes = {{.name = "a", .masters = {"h1:6379/0", "h2:6379/0", "h3:6379/0"}},
                        {.name = "b", .masters = {"h4:6379/0"}}},
            .max_ttl = 600s,
            .round_timeout = 250ms};
}

}  // namespace

/// If this fails then a fleet of two versions would refuse each other's votes.
BOOST_AUTO_TEST_CASE(a_known_fleet_has_a_known_fingerprint) {
    BOOST_TEST(fleet_fingerprint(shape()) == "95590dfedbaee72f8aa001d6cc38f52b");
}

BOOST_AUTO_TEST_CASE(the_order_in_the_file_does_not_matter) {
    auto other = shape();
    std::swap(other.stripes[0], other.stripes[1]);
    std::swap(other.stripes[1].masters[0], other.stripes[1].masters[2]);
    BOOST_TEST(fleet_fingerprint(other) == fleet_fingerprint(shape()));
}

BOOST_AUTO_TEST_CASE(every_difference_that_matters_changes_it) {
    const auto same = fleet_fingerprint(shape());
    auto other = shape();
    other.stripes[0].name = "c";
    BOOST_TEST(fleet_fingerprint(other) != same);
    other = shape();
    other.stripes[0].masters[0] = "h9:6379/0";
    BOOST_TEST(fleet_fingerprint(other) != same);
    other = shape();
    other.stripes[0].masters.pop_back();
    BOOST_TEST(fleet_fingerprint(other) != same);
    other = shape();
    other.max_ttl = 601s;
    BOOST_TEST(fleet_fingerprint(other) != same);
    other = shape();
    other.round_timeout = 251ms;
    BOOST_TEST(fleet_fingerprint(other) != same);
    // A master that moves from one stripe to the other.
    other = shape();
    other.stripes[1].masters.push_back(other.stripes[0].masters.back());
    other.stripes[0].masters.pop_back();
    BOOST_TEST(fleet_fingerprint(other) != same);
}
