#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view acquire = "43ebdb49";
constexpr std::string_view acquire_again = "e30ad491";  // readmits
constexpr std::string_view refresh = "999a49a1";
constexpr std::string_view acquire_multi = "10c1c2e0";
constexpr std::string_view refresh_multi = "2327bcdc";
constexpr std::string_view release_multi = "0bd1010c";

}  // namespace

struct slots_world : world {
    std::string call(std::string_view sha, std::string_view owner) {
        return eval(sha, {"s"}, {"2", owner, "1000", std::to_string(wall_ms)});
    }
    std::string call_multi(std::string_view sha, std::string_view count, std::string_view owner) {
        return eval(sha, {"s"}, {"3", count, owner, "1000", std::to_string(wall_ms)});
    }
    size_t members() { return table.hash_length(key("s"), now).value(); }
};

BOOST_FIXTURE_TEST_SUITE(scripts_slots, slots_world)

BOOST_AUTO_TEST_CASE(there_are_as_many_slots_as_the_limit_says) {
    BOOST_TEST(call(acquire, "a") == ":1");
    BOOST_TEST(left("s") == 1000);
    BOOST_TEST(call(acquire, "b") == ":1");
    BOOST_TEST(call(acquire, "c") == ":0");
    BOOST_TEST(call(acquire, "a") == ":0");
    BOOST_TEST(call(acquire_again, "a") == ":1");
    BOOST_TEST(call(acquire_again, "c") == ":0");
    BOOST_TEST(members() == 2u);
}

BOOST_AUTO_TEST_CASE(holders_that_do_not_refresh_are_dropped) {
    call(acquire, "a");
    pass(600);
    call(acquire, "b");
    pass(399);
    BOOST_TEST(call(acquire, "c") == ":0");
    pass(1);
    BOOST_TEST(call(acquire, "c") == ":1");
    BOOST_TEST(call(refresh, "a") == ":0");
    BOOST_TEST(call(refresh, "b") == ":1");
    BOOST_TEST(left("s") == 1000);
    pass(1000);
    BOOST_TEST(!exists("s"));
}

BOOST_AUTO_TEST_CASE(a_holder_may_have_several_slots) {
    BOOST_TEST(call_multi(acquire_multi, "2", "a") == ":1");
    BOOST_TEST(field("s", "a_0") == std::to_string(wall_ms));
    BOOST_TEST(field("s", "a_1") == std::to_string(wall_ms));
    BOOST_TEST(call_multi(acquire_multi, "2", "b") == ":0");
    BOOST_TEST(call_multi(acquire_multi, "1", "b") == ":1");
    pass(10);
    BOOST_TEST(call_multi(refresh_multi, "2", "a") == ":1");
    BOOST_TEST(field("s", "a_1") == std::to_string(wall_ms));
    BOOST_TEST(call_multi(refresh_multi, "2", "x") == ":0");
    BOOST_TEST(eval(release_multi, {"s"}, {"2", "a"}) == ":2");
    BOOST_TEST(eval(release_multi, {"s"}, {"2", "a"}) == ":0");
    BOOST_TEST(members() == 1u);
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_changes_nothing) {
    BOOST_TEST(eval(acquire, {"s"}, {"x", "a", "1000", "1"}) == not_integer);
    BOOST_TEST(eval(acquire, {"s"}, {"1", "a", "x", "1"}) == not_integer);
    BOOST_TEST(eval(acquire, {"s"}, {"1", "a", "1000", "x"}) == not_integer);
    BOOST_TEST(eval(acquire, {"s"}, {"1", "a", "9223372036854775807", "-10"}) == not_integer);
    BOOST_TEST(call_multi(acquire_multi, "x", "a") == not_integer);
    BOOST_TEST(call_multi(acquire_multi, "1000000", "a") == "-TOOMANYMEMBERS");
    BOOST_TEST(!exists("s"));
    set("s", "string");
    BOOST_TEST(call(acquire, "a") == "-WRONGTYPE");
    BOOST_TEST(call(refresh, "a") == "-WRONGTYPE");
    BOOST_TEST(eval(release_multi, {"s"}, {"2", "a"}) == "-WRONGTYPE");
}

BOOST_AUTO_TEST_SUITE_END()
