#include "shards/core/holder_list.hh"

#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(permits_of_all_holds_are_counted) {
    holder_list list(lock_mode::permits, 10);
    list.add({.owner = "a", .permits = 2});
    list.add({.owner = "b", .holds = 2, .permits = 1});
    BOOST_TEST(list.permits_free() == 6U);
    list.add_hold(*list.find("a"));
    BOOST_TEST(list.permits_free() == 4U);
    BOOST_TEST(!list.drop_hold(*list.find("a")));
    BOOST_TEST(list.permits_free() == 6U);
    BOOST_TEST(list.drop_hold(*list.find("a")));
    BOOST_TEST(list.permits_free() == 8U);
    list.remove(*list.find("b"));
    BOOST_TEST(list.permits_free() == 10U);
    BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(the_first_and_the_last_end_are_known) {
    holder_list list(lock_mode::shared, 1);
    BOOST_TEST((list.first_end() == end_of_time));
    list.add({.owner = "a", .until = start + 2s});
    list.add({.owner = "b", .until = start + 1s});
    BOOST_TEST((list.first_end() == start + 1s));
    BOOST_TEST((list.last_end() == start + 2s));
    list.add({.owner = "c"});
    BOOST_TEST((list.last_end() == end_of_time));
}

BOOST_AUTO_TEST_CASE(owners_keep_their_order_when_one_leaves) {
    holder_list list(lock_mode::shared, 1);
    for (const auto* owner : {"a", "b", "c"}) {
        list.reserve_one();
        list.add({.owner = owner});
    }
    list.remove(*list.find("b"));
    BOOST_TEST(list.size() == 2U);
    BOOST_TEST(list.all()[0].owner == "a");
    BOOST_TEST(list.all()[1].owner == "c");
    BOOST_TEST(list.find("b") == nullptr);
}

BOOST_AUTO_TEST_CASE(what_it_takes_grows_with_its_owners) {
    holder_list list(lock_mode::shared, 1);
    list.add({.owner = "a"});
    const size_t before = list.heap_bytes();
    list.add({.owner = std::string(1'000, 'x')});
    BOOST_TEST(list.heap_bytes() > before + 1'000);
}
