#include "bench/load/tally.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::bench;

BOOST_AUTO_TEST_CASE(errors_are_counted_by_text) {
    error_counts errors;
    BOOST_TEST(errors.empty());
    errors.add("ERR a");
    errors.add("ERR b");
    errors.add("ERR a", 2);
    BOOST_TEST(errors.by_text().at("ERR a") == 3u);
    BOOST_TEST(errors.by_text().at("ERR b") == 1u);
}

BOOST_AUTO_TEST_CASE(ever_new_texts_end_up_in_one_place) {
    error_counts errors;
    for (int i = 0; i != 1000; ++i) {
        errors.add("ERR number " + std::to_string(i));
    }
    BOOST_TEST(errors.by_text().size() == 33u);
    BOOST_TEST(errors.by_text().at("other errors") == 968u);
}

BOOST_AUTO_TEST_CASE(a_long_text_is_cut) {
    error_counts errors;
    errors.add(std::string(10'000, 'x'));
    BOOST_TEST(errors.by_text().begin()->first.size() == 120u);
}

BOOST_AUTO_TEST_CASE(merged_tallies_add_up) {
    tally one;
    one.sections = 1;
    one.intrusions = 2;
    one.wait.record(5);
    one.errors.add("x");
    tally other;
    other.sections = 10;
    other.fences_fallen = 1;
    other.locks_lost = 1;
    other.expired_holds = 9;
    other.wait.record(7);
    other.errors.add("x");
    one.merge(other);
    BOOST_TEST(one.sections == 11u);
    BOOST_TEST(one.violations() == 4u, "who overstays its lease breaks no promise of the server");
    BOOST_TEST(one.wait.count() == 2u);
    BOOST_TEST(one.errors.by_text().at("x") == 2u);
}
