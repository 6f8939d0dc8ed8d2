#include "shards/core/home_search.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;
using verdict = home_search::verdict;

BOOST_AUTO_TEST_CASE(the_first_proxy_that_is_named_is_asked) {
    home_search search(3, 3, "me");
    BOOST_TEST((search.on_answer(std::nullopt, std::nullopt) == verdict::open));
    BOOST_TEST((search.on_answer("you", 3s) == verdict::proxy));
    BOOST_TEST(search.home() == "you");
    BOOST_TEST((search.remaining() == 3s));
    BOOST_TEST((search.on_answer("another", 1s) == verdict::proxy));
    BOOST_TEST(search.home() == "you");
}

BOOST_AUTO_TEST_CASE(a_majority_says_that_nobody_has_it) {
    home_search search(3, 3, "me");
    BOOST_TEST((search.on_answer(std::nullopt, std::nullopt) == verdict::open));
    BOOST_TEST((search.on_answer(std::nullopt, std::nullopt) == verdict::no_home));
}

BOOST_AUTO_TEST_CASE(a_token_names_no_proxy_but_somebody_has_the_key) {
    home_search search(3, 3, "me");
    BOOST_TEST((search.on_answer(std::nullopt, std::nullopt) == verdict::open));
    BOOST_TEST(!search.is_by_token());
    BOOST_TEST((search.on_token(3s) == verdict::no_home));
    BOOST_TEST(search.is_by_token());
    BOOST_TEST(!search.is_held_by_token(), "a release may be on its way");
    BOOST_TEST((search.remaining() == 3s));
}

BOOST_AUTO_TEST_CASE(a_majority_with_tokens_is_held) {
    home_search search(3, 3, "me");
    BOOST_TEST((search.on_token(3s) == verdict::open));
    BOOST_TEST((search.on_token(2s) == verdict::no_home));
    BOOST_TEST(search.is_held_by_token());
}

BOOST_AUTO_TEST_CASE(a_proxy_that_is_named_beside_a_token_is_asked) {
    home_search search(3, 3, "me");
    search.on_token(3s);
    BOOST_TEST((search.on_answer("you", 2s) == verdict::proxy));
    BOOST_TEST(search.home() == "you");
    search.on_token(5s);
    BOOST_TEST((search.remaining() == 2s));
}

BOOST_AUTO_TEST_CASE(what_is_ours_has_no_other_home) {
    home_search search(1, 1, "me");
    BOOST_TEST((search.on_answer("me", 1s) == verdict::no_home));
}

BOOST_AUTO_TEST_CASE(silence_is_not_absence) {
    home_search search(3, 3, "me");
    BOOST_TEST((search.on_no_answer() == verdict::open));
    BOOST_TEST((search.on_no_answer() == verdict::open));
    BOOST_TEST((search.on_answer(std::nullopt, std::nullopt) == verdict::unknown));
}

BOOST_AUTO_TEST_CASE(the_last_one_may_still_name_a_proxy) {
    home_search search(3, 3, "me");
    search.on_no_answer();
    search.on_no_answer();
    BOOST_TEST((search.on_answer("you", std::nullopt) == verdict::proxy));
}

BOOST_AUTO_TEST_CASE(too_few_that_can_be_asked_know_nothing) {
    home_search search(3, 1, "me");
    BOOST_TEST((search.on_answer(std::nullopt, std::nullopt) == verdict::unknown));
}

BOOST_AUTO_TEST_CASE(time_ends_a_search_once) {
    home_search search(3, 3, "me");
    BOOST_TEST((search.on_time_up() == verdict::unknown));
    BOOST_TEST((search.on_answer("you", 1s) == verdict::unknown));
}

BOOST_AUTO_TEST_CASE(a_proxy_that_said_no_is_the_home_only_by_a_majority) {
    home_search lost_vote(3, 3, "me", "loser");
    BOOST_TEST((lost_vote.on_answer("loser", 1s) == home_search::verdict::open));
    BOOST_TEST((lost_vote.on_answer("home", 1s) == home_search::verdict::proxy));
    BOOST_TEST(lost_vote.home() == "home");
    home_search came_back(3, 3, "me", "loser");
    BOOST_TEST((came_back.on_answer("loser", 1s) == home_search::verdict::open));
    BOOST_TEST((came_back.on_answer(std::nullopt, std::nullopt) == home_search::verdict::open));
    BOOST_TEST((came_back.on_answer("loser", 1s) == home_search::verdict::proxy));
    home_search too_few(3, 2, "me", "loser");
    too_few.on_answer(std::nullopt, std::nullopt);
    BOOST_TEST((too_few.on_answer("loser", 1s) == home_search::verdict::proxy));
    BOOST_TEST(too_few.home() == "loser");
    home_search nobody(3, 3, "me", "loser");
    nobody.on_answer("loser", 1s);
    nobody.on_answer(std::nullopt, std::nullopt);
    BOOST_TEST((nobody.on_answer(std::nullopt, std::nullopt) == home_search::verdict::no_home));
}
