#include "shards/core/away_grants.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(what_ends_with_a_conversation_is_told_once) {
    away_grants away;
    away.granted("x", 0, "k", "me", 7);
    away.granted("y", 0, "l", "me", 8);
    const auto lost = away.conversation_ended("x");
    BOOST_TEST_REQUIRE(lost.size() == 1u);
    BOOST_TEST(lost[0].key == "k");
    BOOST_TEST(lost[0].owner == "me");
    BOOST_TEST(lost[0].fence == 7u);
    BOOST_TEST(away.conversation_ended("x").empty());
    BOOST_TEST(!away.empty());
}

BOOST_AUTO_TEST_CASE(what_was_released_is_not_lost) {
    away_grants away;
    away.granted("x", 0, "k", "me", 7);
    away.granted("x", 0, "k", "you", 7);
    away.gone(0, "k", "me");
    away.gone(1, "k", "you");
    const auto lost = away.conversation_ended("x");
    BOOST_TEST_REQUIRE(lost.size() == 1u);
    BOOST_TEST(lost[0].owner == "you");
    BOOST_TEST(away.empty());
}

BOOST_AUTO_TEST_CASE(what_its_home_has_ended_is_known_by_its_fence_in_whatever_database) {
    away_grants away;
    away.granted("x", 0, "k", "me", 7);
    away.granted("x", 5, "k", "me", 9);
    away.lost("x", "k", "me", 8);
    away.lost("x", "k", "you", 9);
    away.lost("y", "k", "me", 9);
    away.lost("x", "k", "me", 9);
    const auto lost = away.conversation_ended("x");
    BOOST_TEST_REQUIRE(lost.size() == 1u);
    BOOST_TEST(lost[0].fence == 7u);
}

BOOST_AUTO_TEST_CASE(a_lock_is_where_it_was_granted_last) {
    away_grants away;
    away.granted("x", 0, "k", "me", 7);
    away.granted("y", 0, "k", "me", 9);
    BOOST_TEST(away.conversation_ended("x").empty());
    BOOST_TEST(away.conversation_ended("y").size() == 1u);
}
