#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view force_publish = "605e3382";  // 1 or 0
constexpr std::string_view force_channel = "20b5c372";  // channel in ARGV, 1 or nil
constexpr std::string_view force_signal = "afbc8014";
constexpr std::string_view force_quietly = "51b433c3";
constexpr std::string_view expire = "3fd750e0";
constexpr std::string_view expire_at = "71dee1cd";
constexpr std::string_view persist = "3e87b23a";
constexpr std::string_view expire_two = "ab6da416";   // lock leases, the last counts
constexpr std::string_view expire_fair = "ebcc001f";  // lock queue waits, the last counts
constexpr std::string_view persist_fair = "73800eb2";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scripts_any_keys, world)

BOOST_AUTO_TEST_CASE(a_lock_of_any_type_is_released_by_force) {
    BOOST_TEST(eval(force_publish, {"k", "ch"}, {"0", "PUBLISH"}) == ":0");
    BOOST_TEST(published() == "");
    set_hash("k", "you", "3");
    BOOST_TEST(eval(force_publish, {"k", "ch"}, {"0", "publish"}) == ":1");
    BOOST_TEST(published() == "ch<-0");
    set("k", "you");
    BOOST_TEST(eval(force_publish, {"k", "ch"}, {"0", "SPUBLISH"}) == ":1");
    BOOST_TEST(published() == "s:ch<-0");
    set_list("k");
    BOOST_TEST(eval(force_quietly, {"k"}, {}) == ":1");
    BOOST_TEST(published() == "");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(the_channel_may_be_an_argument) {
    set("k", "you");
    BOOST_TEST(eval(force_channel, {"k"}, {"ch"}) == ":1");
    BOOST_TEST(published() == "ch<-k");
    BOOST_TEST(eval(force_channel, {"k"}, {"ch"}) == "nil");
}

BOOST_AUTO_TEST_CASE(a_reset_signals_even_if_there_was_nothing) {
    BOOST_TEST(eval(force_signal, {"k", "s"}, {"x", "400"}) == ":0");
    BOOST_TEST(left("s") == 400);
    BOOST_TEST(out.signalled.size() == 1u);
    set("k", "you");
    BOOST_TEST(eval(force_signal, {"k", "s"}, {"x", "400"}) == ":1");
    BOOST_TEST(table.list_length(key("s"), now).value() == 1u);
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(resetting_all_locks_is_refused) {
    set("lock:a", "you");
    BOOST_TEST(eval("b121d354", {}, {}).starts_with("-ERR "));
    BOOST_TEST(exists("lock:a"));
}

BOOST_AUTO_TEST_CASE(expiry_is_set_on_every_key_there_is) {
    set("a", "x");
    set_hash("b", "f", "v", 100);
    BOOST_TEST(eval(expire, {"a", "b", "c"}, {"5000", ""}) == ":1");
    BOOST_TEST(left("a") == 5000);
    BOOST_TEST(left("b") == 5000);
    BOOST_TEST(eval(expire, {"c"}, {"5000", ""}) == ":0");
    BOOST_TEST(eval(expire, {"a"}, {"0", ""}) == ":1");
    BOOST_TEST(!exists("a"));
}

BOOST_AUTO_TEST_CASE(expiry_has_conditions) {
    set("a", "x");
    BOOST_TEST(eval(expire, {"a"}, {"5000", "XX"}) == ":0");
    BOOST_TEST(eval(expire, {"a"}, {"5000", "GT"}) == ":0");
    BOOST_TEST(eval(expire, {"a"}, {"5000", "NX"}) == ":1");
    BOOST_TEST(eval(expire, {"a"}, {"6000", "NX"}) == ":0");
    BOOST_TEST(eval(expire, {"a"}, {"6000", "LT"}) == ":0");
    BOOST_TEST(eval(expire, {"a"}, {"4000", "lt"}) == ":1");
    BOOST_TEST(eval(expire, {"a"}, {"4500", "GT"}) == ":1");
    BOOST_TEST(left("a") == 4500);
    BOOST_TEST(eval(expire, {"a"}, {"4500", "no"}) == "-ERR Unsupported option");
    BOOST_TEST(eval(expire, {"a"}, {"x", ""}) == not_integer);
    BOOST_TEST(eval(expire, {"a"}, {"9223372036854775807", ""}) == bad_pexpire_text);
    BOOST_TEST(left("a") == 4500);
}

BOOST_AUTO_TEST_CASE(expiry_may_be_a_moment) {
    set("a", "x");
    BOOST_TEST(eval(expire_at, {"a"}, {std::to_string(wall_ms + 700), ""}) == ":1");
    BOOST_TEST(left("a") == 700);
    BOOST_TEST(eval(expire_at, {"a"}, {"9223372036854775807", ""}) == ":1");
    BOOST_TEST(left("a") > 1'000'000'000);
    BOOST_TEST(eval(expire_at, {"a"}, {"1", ""}) == ":1");
    BOOST_TEST(!exists("a"));
    set("a", "x");
    BOOST_TEST(eval(expire_at, {"a"}, {"-9223372036854775808", ""}) == ":1");
    BOOST_TEST(!exists("a"));
}

BOOST_AUTO_TEST_CASE(expiry_is_removed) {
    set("a", "x", 100);
    set("b", "x");
    BOOST_TEST(eval(persist, {"b", "c"}, {}) == ":0");
    BOOST_TEST(eval(persist, {"a", "b"}, {}) == ":1");
    BOOST_TEST(left("a") == -1);
}

BOOST_AUTO_TEST_CASE(for_some_the_last_key_decides) {
    set("a", "x");
    BOOST_TEST(eval(expire_two, {"a", "leases"}, {"500"}) == ":0");
    BOOST_TEST(left("a") == 500);
    set_hash("leases", "p", "1");
    remove("a");
    BOOST_TEST(eval(expire_two, {"a", "leases"}, {"500"}) == ":1");
}

BOOST_AUTO_TEST_CASE(the_waits_of_a_fair_lock_end_with_its_queue) {
    set_hash("k", "me", "1");
    BOOST_TEST(eval(expire_fair, {"k", "q", "w"}, {"500"}) == ":0");
    set_hash("q", "you", "1");
    BOOST_TEST(eval(expire_fair, {"k", "q", "w"}, {"500"}) == ":1");
    BOOST_TEST(left("q") == 500);
    BOOST_TEST(eval(persist_fair, {"k", "q", "w"}, {}) == ":1");
    BOOST_TEST(left("q") == -1);
}

BOOST_AUTO_TEST_SUITE_END()
