#include "shards/core/order_ledger.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr instant start = start_of_time + 1000s;

}  // namespace

BOOST_AUTO_TEST_CASE(an_order_is_known_again_once) {
    order_ledger ledger;
    ledger.note("a.1", 7, start + 60s, start);
    BOOST_TEST(!ledger.take("a.2", start));
    BOOST_TEST((ledger.take("a.1", start + 59s) == 7u));
    BOOST_TEST(!ledger.take("a.1", start + 59s));
}

BOOST_AUTO_TEST_CASE(an_order_is_forgotten_in_time) {
    order_ledger ledger;
    ledger.note("a.1", 7, start + 60s, start);
    BOOST_TEST(!ledger.take("a.1", start + 60s));
    ledger.note("a.2", 8, start + 60s, start);
    ledger.note("a.3", 9, start + 120s, start + 61s);
    BOOST_TEST(ledger.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_oldest_make_room) {
    order_ledger ledger(2);
    ledger.note("a", 1, start + 60s, start);
    ledger.note("b", 2, start + 60s, start);
    ledger.note("c", 3, start + 60s, start);
    BOOST_TEST(ledger.size() == 2u);
    BOOST_TEST(!ledger.take("a", start));
    BOOST_TEST((ledger.take("b", start) == 2u));
    BOOST_TEST((ledger.take("c", start) == 3u));
}

BOOST_AUTO_TEST_CASE(what_was_noted_last_counts) {
    order_ledger ledger;
    ledger.note("a", 1, start + 60s, start);
    ledger.note("a", 2, start + 60s, start);
    BOOST_TEST((ledger.take("a", start) == 2u));
    BOOST_TEST(!ledger.take("a", start));
}

BOOST_AUTO_TEST_CASE(an_order_that_was_repeated_is_known_for_a_while) {
    order_ledger ledger;
    BOOST_TEST(ledger.times_repeated("a", start) == 0u);
    ledger.note("a", 1, start + 60s, start);
    BOOST_TEST(ledger.times_repeated("a", start) == 0u);
    ledger.repeated("a", 1, start + 60s, start);
    BOOST_TEST(ledger.times_repeated("a", start + 59s) == 1u);
    BOOST_TEST((ledger.take("a", start) == 1u));
    BOOST_TEST(ledger.times_repeated("a", start + 59s) == 1u);
    BOOST_TEST(ledger.times_repeated("a", start + 60s) == 0u);
}

BOOST_AUTO_TEST_CASE(a_repeat_that_comes_late_does_not_count_back) {
    order_ledger ledger;
    ledger.repeated("a", 2, start + 60s, start);
    ledger.repeated("a", 1, start + 60s, start);
    BOOST_TEST(ledger.times_repeated("a", start) == 2u);
    BOOST_TEST(ledger.times_repeated("b", start) == 0u);
}
