#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view acquire = "96da70f7";      // n or 0
constexpr std::string_view extend = "aed6f382";       // n or 0, by SET
constexpr std::string_view release = "e4612211";      // how many
constexpr std::string_view obtain = "eb0c00d9";       // OK or nil, token + data
constexpr std::string_view refresh = "5a22d7e8";      // OK or nil, by PEXPIRE
constexpr std::string_view release_all = "9470c810";  // OK or nil
constexpr std::string_view pttl = "66e1084c";         // ms or nil

const words three{"a", "b", "c"};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scripts_several_keys, world)

BOOST_AUTO_TEST_CASE(all_keys_are_taken_or_none) {
    BOOST_TEST(eval(acquire, three, {"me", "1000"}) == ":3");
    BOOST_TEST(get("a") + get("b") + get("c") == "mememe");
    BOOST_TEST(left("b") == 1000);
    remove("a");
    BOOST_TEST(eval(acquire, three, {"me", "1000"}) == ":0");
    BOOST_TEST(!exists("a"));
}

BOOST_AUTO_TEST_CASE(any_type_of_key_stands_in_the_way_of_taking_all) {
    set_hash("b", "f", "v");
    BOOST_TEST(eval(acquire, three, {"me", "1000"}) == ":0");
    BOOST_TEST(!exists("a"));
    remove("b");
    set_list("c");
    BOOST_TEST(eval(acquire, three, {"me", "1000"}) == ":0");
    BOOST_TEST(!exists("a"));
}

BOOST_AUTO_TEST_CASE(one_key_and_a_key_named_twice_are_taken_too) {
    BOOST_TEST(eval(acquire, {"a"}, {"me", "1000"}) == ":1");
    BOOST_TEST(eval(acquire, {"b", "b"}, {"me", "1000"}) == ":2");
    BOOST_TEST(eval(release, {"b", "b", "a"}, {"me"}) == ":2");
}

BOOST_AUTO_TEST_CASE(taking_all_with_an_expiry_that_makes_no_sense_takes_none) {
    BOOST_TEST(eval(acquire, three, {"me", "0"}) == bad_set);
    BOOST_TEST(eval(acquire, three, {"me", "x"}) == not_integer);
    BOOST_TEST(!exists("a"));
    set("c", "you");
    BOOST_TEST(eval(acquire, three, {"me", "x"}) == ":0");
}

BOOST_AUTO_TEST_CASE(a_table_that_fills_up_half_way_keeps_none) {
    table.~lock_table();
    new (&table) lockkeeper::shards::lock_table({.keys_max = 2});
    BOOST_TEST(eval(acquire, three, {"me", "1000"}) == "-TOOMANYLOCKS");
    BOOST_TEST(!exists("a"));
    BOOST_TEST(!exists("b"));
}

BOOST_AUTO_TEST_CASE(all_are_extended_or_none) {
    BOOST_TEST(eval(extend, three, {"me", "1000"}) == ":0");
    eval(acquire, three, {"me", "1000"});
    BOOST_TEST(eval(extend, three, {"me", "2000"}) == ":3");
    BOOST_TEST(left("a") == 2000);
    BOOST_TEST(left("c") == 2000);
    BOOST_TEST(eval(extend, three, {"me", "0"}) == bad_set);
    set("c", "you", 500);
    BOOST_TEST(eval(extend, three, {"me", "3000"}) == ":0");
    BOOST_TEST(left("a") == 2000);
    remove("c");
    BOOST_TEST(eval(extend, three, {"me", "3000"}) == ":0");
}

BOOST_AUTO_TEST_CASE(a_wrong_type_is_found_when_its_turn_comes) {
    eval(acquire, three, {"me", "1000"});
    remove("b");
    set_hash("b", "f", "v");
    BOOST_TEST(eval(extend, three, {"me", "2000"}) == "-WRONGTYPE");
    set("a", "you", 100);
    BOOST_TEST(eval(extend, three, {"me", "2000"}) == ":0");
    BOOST_TEST(left("c") == 1000);
}

BOOST_AUTO_TEST_CASE(those_that_match_are_released_and_counted) {
    BOOST_TEST(eval(release, three, {"me"}) == ":0");
    eval(acquire, three, {"me", "1000"});
    set("b", "you", 500);
    BOOST_TEST(eval(release, three, {"me"}) == ":2");
    BOOST_TEST(!exists("a"));
    BOOST_TEST(get("b") == "you");
    BOOST_TEST(!exists("c"));
}

BOOST_AUTO_TEST_CASE(all_are_obtained_again_by_the_same_token) {
    BOOST_TEST(eval(obtain, three, {"TOKEN1", "5", "1000"}) == "+OK");
    BOOST_TEST(eval(obtain, three, {"TOKEN2", "5", "2000"}) == "+OK");
    BOOST_TEST(get("c") == "TOKEN2");
    BOOST_TEST(left("c") == 2000);
    BOOST_TEST(eval(obtain, three, {"OTHER2", "5", "2000"}) == "nil");
    remove("a");
    BOOST_TEST(eval(obtain, three, {"TOKEN2", "5", "2000"}) == "nil");
    BOOST_TEST(!exists("a"));
    BOOST_TEST(eval(obtain, three, {"TOKEN2", "five", "2000"}) == not_integer);
}

BOOST_AUTO_TEST_CASE(refresh_compares_the_whole_value_and_minds_no_type) {
    eval(obtain, three, {"TOKEN1", "5", "1000"});
    BOOST_TEST(eval(refresh, three, {"TOKEN", "3000"}) == "nil");
    BOOST_TEST(eval(refresh, three, {"TOKEN1", "3000"}) == "+OK");
    BOOST_TEST(left("a") == 3000);
    BOOST_TEST(eval(refresh, three, {"TOKEN1", "x"}) == not_integer);
    remove("b");
    set_hash("b", "f", "v");
    BOOST_TEST(eval(refresh, three, {"TOKEN1", "3000"}) == "nil");
    BOOST_TEST(eval(release_all, three, {"TOKEN1"}) == "nil");
    BOOST_TEST(eval(pttl, three, {"TOKEN1"}) == "nil");
    BOOST_TEST(exists("a"));
}

BOOST_AUTO_TEST_CASE(all_are_released_or_none) {
    eval(obtain, three, {"TOKEN1", "5", "1000"});
    set("b", "you", 500);
    BOOST_TEST(eval(release_all, three, {"TOKEN1"}) == "nil");
    BOOST_TEST(exists("a"));
    set("b", "TOKEN1", 500);
    BOOST_TEST(eval(release_all, three, {"TOKEN1"}) == "+OK");
    BOOST_TEST(!exists("a"));
    BOOST_TEST(eval(release_all, three, {"TOKEN1"}) == "nil");
}

BOOST_AUTO_TEST_CASE(the_first_of_them_to_end_counts) {
    set("a", "me", 900);
    set("b", "me", 400);
    set("c", "me");
    BOOST_TEST(eval(pttl, three, {"me"}) == ":400");
    BOOST_TEST(eval(pttl, {"c"}, {"me"}) == ":0");
    BOOST_TEST(eval(pttl, three, {"you"}) == "nil");
}

BOOST_AUTO_TEST_SUITE_END()
