#include "shards/core/pending_releases.hh"

#include <boost/test/unit_test.hpp>

#include "fleet_support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

pending_release release_of(std::string key, instant until) {
    return {.database = 0, .key = std::move(key), .attempt = {1, 2}, .until = until};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_could_not_be_sent_goes_out_in_order_after_a_reconnect) {
    pending_releases pending;
    pending.add(release_of("a", after(10s)));
    pending.add(release_of("b", after(20s)));
    const auto due = pending.take(start);
    BOOST_REQUIRE(due.size() == 2);
    BOOST_TEST(due[0].key == "a");
    BOOST_TEST(due[1].key == "b");
    BOOST_TEST(pending.take(start).empty());
}

BOOST_AUTO_TEST_CASE(what_has_ended_by_itself_is_not_sent) {
    pending_releases pending;
    pending.add(release_of("a", after(10s)));
    pending.add(release_of("b", after(20s)));
    const auto due = pending.take(after(10s));
    BOOST_REQUIRE(due.size() == 1);
    BOOST_TEST(due[0].key == "b");
}

BOOST_AUTO_TEST_CASE(there_is_a_bound_beyond_which_the_oldest_are_left_to_end_by_themselves) {
    pending_releases pending(2);
    pending.add(release_of("a", after(10s)));
    pending.add(release_of("b", after(10s)));
    BOOST_TEST(pending.forgotten() == 0);
    pending.add(release_of("c", after(10s)));
    BOOST_TEST(pending.size() == 2);
    BOOST_TEST(pending.forgotten() == 1);
    BOOST_TEST(pending.take(start)[0].key == "b");
}
