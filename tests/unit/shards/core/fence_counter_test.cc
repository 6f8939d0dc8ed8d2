#include "shards/core/fence_counter.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(fences_begin_above_the_floor_and_grow_by_one) {
    fence_counter counter(41);
    BOOST_TEST((counter.next() == 42U));
    BOOST_TEST((counter.next() == 43U));
    BOOST_TEST(counter.last() == 43U);
}

BOOST_AUTO_TEST_CASE(nothing_is_given_beyond_the_limit_until_it_is_raised) {
    fence_counter counter(0, 2);
    BOOST_TEST(counter.left() == 2U);
    counter.next();
    BOOST_TEST((counter.next() == 2U));
    BOOST_TEST(counter.left() == 0U);
    BOOST_TEST(!counter.next().has_value());
    counter.raise_limit(1);
    BOOST_TEST(!counter.next().has_value());
    counter.raise_limit(3);
    BOOST_TEST((counter.next() == 3U));
}

BOOST_AUTO_TEST_CASE(a_floor_above_the_limit_leaves_nothing) {
    fence_counter counter(10, 5);
    BOOST_TEST(counter.left() == 0U);
    BOOST_TEST(!counter.next().has_value());
}

BOOST_AUTO_TEST_CASE(fences_fit_into_a_double) {
    fence_counter counter(fence_limit - 1);
    BOOST_TEST((counter.next() == fence_limit));
    BOOST_TEST(static_cast<uint64_t>(static_cast<double>(fence_limit)) == fence_limit);
    BOOST_TEST(!counter.next().has_value());
}
