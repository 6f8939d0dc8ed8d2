#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view acquire = "c7dc9d18";
constexpr std::string_view release = "ae275824";
constexpr std::string_view release_present = "68838024";
constexpr std::string_view drain = "c87766d5";
constexpr std::string_view try_set = "241ce4e8";
constexpr std::string_view try_set_for = "38bf9988";
constexpr std::string_view add = "98238d40";
constexpr std::string_view reduce = "6bb28154";
constexpr std::string_view add_amount = "ec6fb1cd";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scripts_permits, world)

BOOST_AUTO_TEST_CASE(permits_are_taken_while_there_are_enough) {
    BOOST_TEST(eval(acquire, {"s"}, {"1"}) == ":0");
    set("s", "3", 100);
    BOOST_TEST(eval(acquire, {"s"}, {"2"}) == ":1");
    BOOST_TEST(eval(acquire, {"s"}, {"2"}) == ":0");
    BOOST_TEST(eval(acquire, {"s"}, {"1"}) == ":1");
    BOOST_TEST(get("s") == "0");
    BOOST_TEST(left("s") == 100);
}

BOOST_AUTO_TEST_CASE(released_permits_are_told) {
    BOOST_TEST(eval(release, {"s", "ch"}, {"2", "PUBLISH"}) == "nil");
    BOOST_TEST(published() == "ch<-2");
    BOOST_TEST(eval(release, {"s", "ch"}, {"3", "SPUBLISH"}) == "nil");
    BOOST_TEST(published() == "s:ch<-5");
    BOOST_TEST(get("s") == "5");
}

BOOST_AUTO_TEST_CASE(a_semaphore_that_is_gone_may_stay_so) {
    BOOST_TEST(eval(release_present, {"s", "ch"}, {"1", "PUBLISH"}) == ":0");
    BOOST_TEST(published() == "");
    BOOST_TEST(!exists("s"));
    set("s", "0");
    BOOST_TEST(eval(release_present, {"s", "ch"}, {"1", "PUBLISH"}) == ":1");
    BOOST_TEST(published() == "ch<-1");
}

BOOST_AUTO_TEST_CASE(draining_takes_all) {
    BOOST_TEST(eval(drain, {"s"}, {}) == ":0");
    set("s", "7", 100);
    BOOST_TEST(eval(drain, {"s"}, {}) == "\"7\"");
    BOOST_TEST(get("s") == "0");
    BOOST_TEST(left("s") == -1);
}

BOOST_AUTO_TEST_CASE(a_semaphore_is_made_once) {
    BOOST_TEST(eval(try_set, {"s", "ch"}, {"4", "PUBLISH"}) == ":1");
    BOOST_TEST(published() == "ch<-4");
    BOOST_TEST(eval(try_set, {"s", "ch"}, {"9", "PUBLISH"}) == ":0");
    BOOST_TEST(published() == "");
    BOOST_TEST(get("s") == "4");
    BOOST_TEST(eval(try_set_for, {"t", "ch"}, {"4", "PUBLISH", "800"}) == ":1");
    BOOST_TEST(left("t") == 800);
    BOOST_TEST(eval(try_set_for, {"u", "ch"}, {"4", "PUBLISH", "0"}) == bad_set);
    BOOST_TEST(!exists("u"));
}

BOOST_AUTO_TEST_CASE(permits_are_added_and_taken_away) {
    BOOST_TEST(eval(add, {"s", "ch"}, {"3", "PUBLISH"}) == "nil");
    BOOST_TEST(published() == "ch<-3");
    set("s", "3", 100);
    BOOST_TEST(eval(add, {"s", "ch"}, {"-1", "PUBLISH"}) == "nil");
    BOOST_TEST(get("s") == "2");
    BOOST_TEST(left("s") == -1);
    BOOST_TEST(eval(reduce, {"s", "x"}, {"5"}) == "nil");
    BOOST_TEST(get("s") == "-3");
    BOOST_TEST(published() == "");
    BOOST_TEST(eval(add_amount, {"s", "ch"}, {"2", "PUBLISH"}) == "nil");
    BOOST_TEST(published() == "ch<-2");
    BOOST_TEST(eval(add_amount, {"s", "ch"}, {"-2", "PUBLISH"}) == "nil");
    BOOST_TEST(published() == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_not_counted) {
    set("s", "x");
    BOOST_TEST(eval(acquire, {"s"}, {"1"}) == not_integer);
    BOOST_TEST(eval(release, {"s", "ch"}, {"1", "PUBLISH"}) == "-NOTINTEGER");
    BOOST_TEST(eval(drain, {"s"}, {}) == not_integer);
    BOOST_TEST(eval(acquire, {"t"}, {"x"}) == not_integer);
    set("s", "9223372036854775807");
    BOOST_TEST(eval(release, {"s", "ch"}, {"1", "PUBLISH"}) == "-OVERFLOW");
    BOOST_TEST(eval(add, {"s", "ch"}, {"1", "PUBLISH"}) == "-OVERFLOW");
    BOOST_TEST(eval(acquire, {"s"}, {"-9223372036854775808"}) == "-OVERFLOW");
    BOOST_TEST(get("s") == "9223372036854775807");
    set_hash("h", "a", "b");
    BOOST_TEST(eval(acquire, {"h"}, {"1"}) == "-WRONGTYPE");
    BOOST_TEST(eval(release, {"h", "ch"}, {"1", "PUBLISH"}) == "-WRONGTYPE");
    BOOST_TEST(eval(drain, {"h"}, {}) == "-WRONGTYPE");
    BOOST_TEST(eval(try_set, {"h", "ch"}, {"4", "PUBLISH"}) == ":0");
}

BOOST_AUTO_TEST_SUITE_END()
