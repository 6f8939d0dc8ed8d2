#include "shards/core/voter_set.hh"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "fleet_support.hh"

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(members_are_walked_in_ascending_order) {
    voter_set some;
    some.add(7);
    some.add(0);
    some.add(3);
    std::vector<int> walked;
    for (const master_index master : some) {
        walked.push_back(master);
    }
    BOOST_TEST(walked == std::vector<int>({0, 3, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sets_are_joined_cut_and_subtracted) {
    const auto all = voter_set::first(5);
    const auto one = voter_set::of(1);
    BOOST_TEST(all.size() == 5);
    BOOST_TEST((all - one).size() == 4);
    BOOST_TEST(!(all - one).contains(1));
    BOOST_TEST(((all - one) | one) == all);
    BOOST_TEST((all & one) == one);
    BOOST_TEST((one - all).empty());
}

BOOST_AUTO_TEST_CASE(the_largest_group_fits) {
    const auto all = voter_set::first(masters_max);
    BOOST_TEST(all.size() == masters_max);
    BOOST_TEST(all.contains(masters_max - 1));
}
