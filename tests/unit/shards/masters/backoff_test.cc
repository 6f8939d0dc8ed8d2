#include "shards/masters/backoff.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_longest) {
    backoff pauses(20ms, 100ms);
    BOOST_TEST((pauses.next(0) == 20ms));
    BOOST_TEST((pauses.next(0) == 40ms));
    BOOST_TEST((pauses.next(0) == 80ms));
    BOOST_TEST((pauses.next(0) == 100ms));
    BOOST_TEST((pauses.next(0) == 100ms));
}

BOOST_AUTO_TEST_CASE(chance_takes_off_up_to_a_half) {
    backoff pauses(100ms, 100ms);
    BOOST_TEST((pauses.next(0.5) == 75ms));
    BOOST_TEST((pauses.next(1.0) == 50ms));
    BOOST_TEST((pauses.next(7.0) == 50ms));
    BOOST_TEST((pauses.next(-1.0) == 100ms));
}

BOOST_AUTO_TEST_CASE(a_success_starts_it_over) {
    backoff pauses(10ms, 1s);
    pauses.next(0);
    pauses.next(0);
    pauses.reset();
    BOOST_TEST((pauses.next(0) == 10ms));
}

BOOST_AUTO_TEST_CASE(the_first_pause_is_no_longer_than_the_longest) {
    backoff pauses(20ms, 5ms);
    BOOST_TEST((pauses.next(0) == 5ms));
    BOOST_TEST((pauses.next(0) == 5ms));
}
