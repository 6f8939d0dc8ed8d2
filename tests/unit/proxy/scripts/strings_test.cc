#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

// Scripts of one string key, each in a common library.
constexpr std::string_view set_nx_px = "862f31bf";         // OK or nil
constexpr std::string_view set_nx_ex = "a08c9c69";         // in seconds
constexpr std::string_view set_nx_maybe_px = "5688a254";   // ttl may be empty
constexpr std::string_view obtain_by_token = "175897a4";   // PEXPIRE if mine
constexpr std::string_view obtain_by_prefix = "80a1b5f2";  // SET if mine, token + data
constexpr std::string_view lock_if_allowed = "ceb2b206";   // allow_new
constexpr std::string_view set_or_error = "c75a9bf1";
constexpr std::string_view release = "c3f8721c";             // 1 or 0
constexpr std::string_view release_three_ways = "e950836e";  // 1, 0, -1
constexpr std::string_view release_or_error = "241e4ca5";
constexpr std::string_view release_in_words = "8346c710";     // "true", "false"
constexpr std::string_view release_and_publish = "7a71e944";  // channel in ARGV
constexpr std::string_view release_publish_key = "67aebbcb";  // channel in KEYS
constexpr std::string_view release_and_signal = "90da9187";   // 0 is good
constexpr std::string_view release_signal_key = "ae7cc25e";   // the time is among KEYS
constexpr std::string_view release_signal_1s = "6b20b1ed";
constexpr std::string_view reacquire = "1cac5148";          // PEXPIRE
constexpr std::string_view extend_or_replace = "a4e87838";  // add, or replace
constexpr std::string_view extend_in_seconds = "fed16109";  // wants a TTL
constexpr std::string_view refresh_or_persist = "d5f94f18";
constexpr std::string_view touch_or_create = "b6b55c43";
constexpr std::string_view extend_or_create_minus = "9f614a78";
constexpr std::string_view ttl_or_minus_three = "6484da7d";
constexpr std::string_view ttl_in_seconds = "f908d3f4";
constexpr std::string_view value_and_pttl = "78d2ca48";
constexpr std::string_view set_nx_pxat = "3875d208";     // until a Unix time, and reads it
constexpr std::string_view set_nx_px_read = "fa3d1aaa";  // likewise, with a lease
constexpr std::string_view set_pxat = "c10e8119";        // whoever has it
constexpr std::string_view set_px = "4384ed08";
constexpr std::string_view pexpireat = "852ba6ec";
constexpr std::string_view set_if_mine = "17a49af0";  // SET in place of PEXPIRE

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scripts_strings, world)

// ---- acquire_if_absent --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_absent_lock_is_set_with_its_expiry) {
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "5000"}) == "+OK");
    BOOST_TEST(get("k") == "me");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(set_nx_ex, {"s"}, {"me", "5"}) == "+OK");
    BOOST_TEST(left("s") == 5000);
}

BOOST_AUTO_TEST_CASE(a_held_lock_is_refused_even_to_its_holder_and_whatever_its_type) {
    set("k", "me", 100);
    set_hash("h", "me", "1");
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "5000"}) == "nil");
    BOOST_TEST(eval(set_nx_px, {"k"}, {"you", "5000"}) == "nil");
    BOOST_TEST(eval(set_nx_px, {"h"}, {"me", "5000"}) == "nil");
    BOOST_TEST(left("k") == 100);
}

BOOST_AUTO_TEST_CASE(a_lock_is_not_set_with_an_expiry_that_makes_no_sense) {
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "0"}) == bad_set);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "-1"}) == bad_set);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "soon"}) == not_integer);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "1.5"}) == not_integer);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", ""}) == not_integer);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "9223372036854775807"}) == bad_set);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "9223372036854775808"}) == not_integer);
    BOOST_TEST(eval(set_nx_ex, {"k"}, {"me", "9223372036854775"}) == bad_set);
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(the_longest_expiry_that_fits_is_for_ever) {
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "9223370000000000000"}) == "+OK");
    pass(100LL * 365 * 24 * 3600 * 1000);
    BOOST_TEST(exists("k"));
}

BOOST_AUTO_TEST_CASE(an_empty_ttl_means_none_where_the_script_says_so) {
    BOOST_TEST(eval(set_nx_maybe_px, {"k"}, {"me", ""}) == ":1");
    BOOST_TEST(left("k") == -1);
    BOOST_TEST(eval(set_nx_maybe_px, {"l"}, {"me", "70"}) == ":1");
    BOOST_TEST(left("l") == 70);
    BOOST_TEST(eval(set_nx_maybe_px, {"l"}, {"me", "70"}) == ":0");
}

BOOST_AUTO_TEST_CASE(an_expired_lock_is_absent) {
    set("k", "you", 100);
    pass(99);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "5000"}) == "nil");
    pass(1);
    BOOST_TEST(eval(set_nx_px, {"k"}, {"me", "5000"}) == "+OK");
}

BOOST_AUTO_TEST_CASE(a_lock_may_be_set_until_a_unix_time) {
    BOOST_TEST(eval(set_nx_pxat, {"k"}, {"me", "1800000005000"}) == "+OK");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(set_nx_pxat, {"k"}, {"you", "1800000009000"}) == "nil");
    BOOST_TEST(get("k") == "me");
    BOOST_TEST(eval(set_nx_pxat, {"past"}, {"me", "1700000000000"}) == "+OK");
    BOOST_TEST(!exists("past"));
    BOOST_TEST(eval(set_nx_pxat, {"l"}, {"me", "0"}) == bad_set);
    BOOST_TEST(eval(set_nx_pxat, {"l"}, {"me", "-1"}) == bad_set);
    BOOST_TEST(eval(set_nx_pxat, {"l"}, {"me", "soon"}) == not_integer);
    BOOST_TEST(!exists("l"));
}

BOOST_AUTO_TEST_CASE(who_is_refused_and_reads_the_lock_is_told_of_a_wrong_type) {
    set_hash("h", "me", "1");
    BOOST_TEST(eval(set_nx_pxat, {"h"}, {"me", "1800000005000"}) == "-WRONGTYPE");
    BOOST_TEST(eval(set_nx_px_read, {"h"}, {"me", "5000"}) == "-WRONGTYPE");
    set("k", "you", 100);
    BOOST_TEST(eval(set_nx_px_read, {"k"}, {"me", "5000"}) == "nil");
}

// ---- take_over ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_lock_can_be_taken_from_whoever_has_it) {
    set("k", "you", 100);
    set_hash("h", "you", "1");
    BOOST_TEST(eval(set_pxat, {"k"}, {"me", "1800000005000"}) == "+OK");
    BOOST_TEST(get("k") == "me");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(set_px, {"k"}, {"again", "7000"}) == "+OK");
    BOOST_TEST(get("k") == "again");
    BOOST_TEST(left("k") == 7000);
    BOOST_TEST(eval(set_px, {"h"}, {"me", "7000"}) == "+OK");
    BOOST_TEST(get("h") == "me");
    BOOST_TEST(eval(set_px, {"absent"}, {"me", "7000"}) == "+OK");
    BOOST_TEST(eval(set_px, {"k"}, {"you", "0"}) == bad_set);
    BOOST_TEST(get("k") == "again");
}

// ---- acquire_or_renew ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(obtaining_again_renews) {
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "1000"}) == ":1");
    pass(400);
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "1000"}) == ":1");
    BOOST_TEST(left("k") == 1000);
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"you", "1000"}) == "nil");
    BOOST_TEST(get("k") == "me");
}

BOOST_AUTO_TEST_CASE(obtaining_again_with_no_time_left_ends_the_lock) {
    set("k", "me", 1000);
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "0"}) == ":1");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "0"}) == bad_set);
    set("k", "me", 1000);
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "x"}) == not_integer);
    BOOST_TEST(left("k") == 1000);
}

BOOST_AUTO_TEST_CASE(a_token_with_data_is_known_by_its_first_bytes) {
    BOOST_TEST(eval(obtain_by_prefix, {"k"}, {"TOKENdata", "5", "1000"}) == "+OK");
    BOOST_TEST(eval(obtain_by_prefix, {"k"}, {"TOKENother", "5", "2000"}) == "+OK");
    BOOST_TEST(get("k") == "TOKENother");
    BOOST_TEST(left("k") == 2000);
    BOOST_TEST(eval(obtain_by_prefix, {"k"}, {"TAKENother", "5", "3000"}) == "nil");
    BOOST_TEST(eval(obtain_by_prefix, {"k"}, {"TOKENother", "0", "3000"}) == "nil");
    BOOST_TEST(eval(obtain_by_prefix, {"k"}, {"TOKENother", "x", "3000"}) == not_integer);
    BOOST_TEST(eval(obtain_by_prefix, {"k"}, {"TOKENother", "5", "0"}) == bad_set);
    BOOST_TEST(left("k") == 2000);
}

BOOST_AUTO_TEST_CASE(an_extension_does_not_create_unless_allowed) {
    BOOST_TEST(eval(lock_if_allowed, {"k"}, {"me", "1000", "no"}) == "nil");
    BOOST_TEST(eval(lock_if_allowed, {"k"}, {"me", "1000", "yes"}) == "+OK");
    BOOST_TEST(eval(lock_if_allowed, {"k"}, {"me", "3000", "no"}) == "+OK");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(eval(lock_if_allowed, {"k"}, {"you", "3000", "yes"}) == "nil");
}

BOOST_AUTO_TEST_CASE(a_conflict_may_be_an_error_reply) {
    BOOST_TEST(eval(set_or_error, {"k"}, {"me", "1000"}) == "+OK");
    BOOST_TEST(eval(set_or_error, {"k"}, {"me", "1000"}) == "+OK");
    BOOST_TEST(eval(set_or_error, {"k"}, {"you", "1000"}) == "-ERR ERROR");
}

// ---- release_if_owner ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(only_the_owner_releases) {
    BOOST_TEST(eval(release, {"k"}, {"me"}) == ":0");
    set("k", "you", 100);
    BOOST_TEST(eval(release, {"k"}, {"me"}) == ":0");
    BOOST_TEST(exists("k"));
    BOOST_TEST(eval(release, {"k"}, {"you"}) == ":1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(releases_answer_in_the_words_of_their_library) {
    const auto after = [this](std::string_view sha, std::string_view held) {
        remove("k");
        if (!held.empty()) {
            set("k", held, 100);
        }
        return eval(sha, {"k"}, {"me"});
    };
    BOOST_TEST(after(release_three_ways, "") == ":-1");
    BOOST_TEST(after(release_three_ways, "me") == ":1");
    BOOST_TEST(after(release_three_ways, "you") == ":0");
    BOOST_TEST(after(release_or_error, "") == "+OK");
    BOOST_TEST(after(release_or_error, "me") == ":1");
    BOOST_TEST(after(release_or_error, "you") == "-ERR ERROR");
    BOOST_TEST(after(release_in_words, "") == "\"false\"");
    BOOST_TEST(after(release_in_words, "me") == "\"true\"");
    BOOST_TEST(after(release_in_words, "you") == "\"false\"");
}

BOOST_AUTO_TEST_CASE(a_release_publishes_the_name_of_its_lock) {
    BOOST_TEST(eval(release_and_publish, {"k"}, {"me", "ch"}) == "nil");
    BOOST_TEST(published() == "");
    set("k", "me");
    BOOST_TEST(eval(release_and_publish, {"k"}, {"me", "ch"}) == ":1");
    BOOST_TEST(published() == "ch<-k");
    set("k", "me");
    BOOST_TEST(eval(release_publish_key, {"k", "ch"}, {"me"}) == ":1");
    BOOST_TEST(published() == "ch<-k");
    set("k", "you");
    BOOST_TEST(eval(release_publish_key, {"k", "ch"}, {"me"}) == "nil");
    BOOST_TEST(published() == "");
}

BOOST_AUTO_TEST_CASE(a_release_leaves_one_element_on_its_signal_list) {
    set("k", "me", 100);
    set_list("s");
    BOOST_TEST(eval(release_and_signal, {"k", "s"}, {"you", "700"}) == ":1");
    BOOST_TEST(out.signalled.empty());
    BOOST_TEST(eval(release_and_signal, {"k", "s"}, {"me", "700"}) == ":0");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(left("s") == 700);
    BOOST_TEST(table.list_length(key("s"), now).value() == 1u);
    BOOST_TEST(table.list_pop(key("s"), lockkeeper::shards::list_end::front, now).value().value() ==
               "1");
    BOOST_TEST_REQUIRE(out.signalled.size() == 1u);
    BOOST_TEST(out.signalled[0] == "s");
}

BOOST_AUTO_TEST_CASE(the_life_of_a_signal_may_be_a_key_or_unsaid) {
    set("k", "me");
    BOOST_TEST(eval(release_signal_key, {"k", "s", "300"}, {"me"}) == ":0");
    BOOST_TEST(left("s") == 300);
    set("k", "me");
    set("s", "of another type");
    BOOST_TEST(eval(release_signal_1s, {"k", "s"}, {"me"}) == ":0");
    BOOST_TEST(left("s") == 1000);
}

BOOST_AUTO_TEST_CASE(a_signal_whose_life_makes_no_sense_leaves_the_lock_held) {
    set("k", "me");
    BOOST_TEST(eval(release_and_signal, {"k", "s"}, {"me", "soon"}) == not_integer);
    BOOST_TEST(eval(release_and_signal, {"k", "s"}, {"me", "9223372036854775807"}) ==
               bad_pexpire_text);
    BOOST_TEST(get("k") == "me");
    BOOST_TEST(!exists("s"));
}

// ---- extend_if_owner ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(only_the_owner_extends) {
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "5000"}) == ":0");
    set("k", "me", 100);
    BOOST_TEST(eval(reacquire, {"k"}, {"you", "5000"}) == ":0");
    BOOST_TEST(left("k") == 100);
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "5000"}) == ":1");
    BOOST_TEST(left("k") == 5000);
    set("k", "me");
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "5000"}) == ":1");
    BOOST_TEST(left("k") == 5000);
}

BOOST_AUTO_TEST_CASE(an_extension_to_nothing_ends_the_lock_and_counts) {
    set("k", "me", 100);
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "0"}) == ":1");
    BOOST_TEST(!exists("k"));
    set("k", "me", 100);
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "-5"}) == ":1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(an_extension_that_makes_no_sense_changes_nothing) {
    set("k", "me", 100);
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "x"}) == not_integer);
    BOOST_TEST(eval(reacquire, {"k"}, {"me", "9223372036854775807"}) == bad_pexpire_text);
    BOOST_TEST(left("k") == 100);
    BOOST_TEST(eval(reacquire, {"k"}, {"you", "x"}) == ":0");
}

BOOST_AUTO_TEST_CASE(time_is_added_or_replaced) {
    set("k", "me", 1000);
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "500", "0"}) == ":1");
    BOOST_TEST(left("k") == 1500);
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "500", "1"}) == ":1");
    BOOST_TEST(left("k") == 500);
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "-200", "0"}) == ":1");
    BOOST_TEST(left("k") == 300);
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "9223372036854775807", "0"}) ==
               bad_pexpire_text);
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "-300", "0"}) == ":1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_lock_without_ttl_is_not_extended_where_one_is_required) {
    set("k", "me");
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "500", "0"}) == ":0");
    BOOST_TEST(eval(extend_or_replace, {"k"}, {"me", "500", "1"}) == ":0");
    BOOST_TEST(eval(extend_in_seconds, {"k", "s"}, {"me", "5"}) == ":2");
    BOOST_TEST(left("k") == -1);
    set("k", "me", 100);
    BOOST_TEST(eval(extend_in_seconds, {"k", "s"}, {"me", "5"}) == ":0");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(extend_in_seconds, {"k", "s"}, {"you", "5"}) == ":1");
    BOOST_TEST(eval(extend_in_seconds, {"k", "s"}, {"me", "9223372036854775807"}) ==
               "-ERR invalid expire time in 'expire' command");
}

BOOST_AUTO_TEST_CASE(a_refresh_of_no_seconds_persists) {
    set("k", "me", 100);
    BOOST_TEST(eval(refresh_or_persist, {"k"}, {"me", "5"}) == ":1");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(refresh_or_persist, {"k"}, {"me", "0"}) == ":1");
    BOOST_TEST(left("k") == -1);
    BOOST_TEST(eval(refresh_or_persist, {"k"}, {"me", "-1"}) == ":1");
    BOOST_TEST(left("k") == -1);
    BOOST_TEST(eval(refresh_or_persist, {"k"}, {"you", "0"}) == ":0");
    BOOST_TEST(eval(refresh_or_persist, {"k"}, {"me", "x"}) == not_integer);
}

BOOST_AUTO_TEST_CASE(a_lease_may_be_extended_to_a_unix_time) {
    BOOST_TEST(eval(pexpireat, {"k"}, {"me", "1800000005000"}) == ":0");
    set("k", "me", 100);
    BOOST_TEST(eval(pexpireat, {"k"}, {"you", "1800000005000"}) == ":0");
    BOOST_TEST(eval(pexpireat, {"k"}, {"me", "1800000005000"}) == ":1");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(pexpireat, {"k"}, {"me", "soon"}) == not_integer);
    BOOST_TEST(eval(pexpireat, {"k"}, {"me", "-9223372036854775808"}) == ":1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_lease_may_be_extended_by_setting_the_lock_again) {
    BOOST_TEST(eval(set_if_mine, {"k"}, {"me", "5000"}) == ":0");
    set("k", "me", 100);
    BOOST_TEST(eval(set_if_mine, {"k"}, {"you", "5000"}) == ":0");
    BOOST_TEST(eval(set_if_mine, {"k"}, {"me", "5000"}) == ":1");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(eval(set_if_mine, {"k"}, {"me", "0"}) == bad_set);
    BOOST_TEST(left("k") == 5000);
}

// ---- extend_or_create ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(some_extensions_create_what_has_expired) {
    BOOST_TEST(eval(touch_or_create, {"k"}, {"me", "1000"}) == ":1");
    BOOST_TEST(get("k") == "me");
    BOOST_TEST(eval(touch_or_create, {"k"}, {"me", "3000"}) == ":1");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(eval(touch_or_create, {"k"}, {"you", "3000"}) == ":0");
    BOOST_TEST(eval(extend_or_create_minus, {"k"}, {"you", "3000"}) == ":-1");
    remove("k");
    BOOST_TEST(eval(touch_or_create, {"k"}, {"me", "0"}) == bad_set);
    BOOST_TEST(!exists("k"));
}

// ---- reading ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_owner_may_ask_what_is_left) {
    BOOST_TEST(eval(ttl_or_minus_three, {"k"}, {"me"}) == ":-3");
    set("k", "me", 2600);
    BOOST_TEST(eval(ttl_or_minus_three, {"k"}, {"me"}) == ":2600");
    BOOST_TEST(eval(ttl_in_seconds, {"k"}, {"me"}) == ":3");
    BOOST_TEST(eval(ttl_or_minus_three, {"k"}, {"you"}) == ":-3");
    BOOST_TEST(eval(ttl_in_seconds, {"k"}, {"you"}) == "-ERR ERROR");
    set("k", "me");
    BOOST_TEST(eval(ttl_or_minus_three, {"k"}, {"me"}) == ":-1");
}

BOOST_AUTO_TEST_CASE(anybody_may_ask_who_holds_it) {
    BOOST_TEST(eval(value_and_pttl, {"k"}, {}) == "[nil :-2]");
    set("k", "you", 300);
    BOOST_TEST(eval(value_and_pttl, {"k"}, {}) == "[\"you\" :300]");
    set("k", "you");
    BOOST_TEST(eval(value_and_pttl, {"k"}, {}) == "[\"you\" :-1]");
}

// ---- all of them --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_hash_is_of_the_wrong_type_for_a_string_lock) {
    set_hash("k", "me", "1", 500);
    const std::pair<std::string_view, words> calls[] = {
        {obtain_by_token, {"me", "1000"}},
        {obtain_by_prefix, {"me", "2", "1000"}},
        {release, {"me"}},
        {release_three_ways, {"me"}},
        {reacquire, {"me", "1000"}},
        {extend_or_replace, {"me", "1000", "0"}},
        {refresh_or_persist, {"me", "0"}},
        {touch_or_create, {"me", "1000"}},
        {ttl_or_minus_three, {"me"}},
        {value_and_pttl, {}},
    };
    for (const auto& [sha, arguments] : calls) {
        BOOST_TEST(eval(sha, {"k"}, arguments) == "-WRONGTYPE", sha);
    }
    BOOST_TEST(field("k", "me") == "1");
    BOOST_TEST(left("k") == 500);
}

BOOST_AUTO_TEST_CASE(a_full_table_refuses_new_locks_only) {
    table.~lock_table();
    new (&table) lockkeeper::shards::lock_table({.keys_max = 1});
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "1000"}) == ":1");
    BOOST_TEST(eval(obtain_by_token, {"l"}, {"me", "1000"}) == "-TOOMANYLOCKS");
    BOOST_TEST(eval(set_nx_px, {"l"}, {"me", "1000"}) == "-TOOMANYLOCKS");
    BOOST_TEST(eval(obtain_by_token, {"k"}, {"me", "1000"}) == ":1");
    BOOST_TEST(eval(release, {"k"}, {"me"}) == ":1");
}

BOOST_AUTO_TEST_SUITE_END()
