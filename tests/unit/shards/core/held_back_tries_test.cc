#include "shards/core/held_back_tries.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr instant start = start_of_time + 1000s;

}  // namespace

BOOST_AUTO_TEST_CASE(who_was_held_back_in_vain_is_known_by_when_it_came) {
    held_back_tries tries;
    BOOST_TEST(!tries.take(1, start));
    tries.note(1, start, start + 3s);
    tries.note(2, start + 1s, start + 4s);
    BOOST_TEST((tries.take(1, start + 4s) == start));
    BOOST_TEST((tries.take(2, start + 5s) == start + 1s));
}

BOOST_AUTO_TEST_CASE(it_is_known_once) {
    held_back_tries tries;
    tries.note(1, start, start + 3s);
    BOOST_TEST(tries.take(1, start + 4s).has_value());
    BOOST_TEST(!tries.take(1, start + 4s));
    BOOST_TEST(tries.size() == 0u);
}

BOOST_AUTO_TEST_CASE(who_stays_away_for_long_is_a_newcomer) {
    held_back_tries tries;
    tries.note(1, start, start + 3s);
    tries.note(2, start, start + 3s);
    BOOST_TEST((tries.take(1, start + 8s) == start));
    BOOST_TEST(!tries.take(2, start + 8s + 1ns));
}

BOOST_AUTO_TEST_CASE(those_who_never_come_again_are_forgotten) {
    held_back_tries tries;
    for (uint64_t who = 0; who < 100; ++who) {
        tries.note(who, start, start);
    }
    tries.note(1'000, start, start + 6s);
    BOOST_TEST(tries.size() == 1u);
}

BOOST_AUTO_TEST_CASE(there_is_a_bound) {
    held_back_tries tries(10);
    for (uint64_t who = 0; who < 100; ++who) {
        tries.note(who, start, start);
    }
    BOOST_TEST(tries.size() == 10u);
}
