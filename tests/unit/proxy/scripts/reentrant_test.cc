#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view acquire = "149c5a8b";          // nil or ms
constexpr std::string_view acquire_once = "3daa7be6";     // re-entry is an error
constexpr std::string_view acquire_fenced = "49babb5a";   // pair
constexpr std::string_view acquire_counted = "46b5551b";  // fence, but nil or ms
constexpr std::string_view release = "68664592";          // latch, publish
constexpr std::string_view release_spin = "73ac2729";     // latch only
constexpr std::string_view release_old = "3ffe249c";      // no latch
constexpr std::string_view release_oldest = "93cfc048";   // absent publishes
constexpr std::string_view renew_one = "8e19a1dd";
constexpr std::string_view renew_all = "6a3d3157";

}  // namespace

struct reentrant_world : world {
    std::string lock(std::string_view owner, std::string_view lease = "1000") {
        return eval(acquire, {"k"}, {lease, owner});
    }
    std::string unlock(std::string_view owner, std::string_view latch = "latch",
                       std::string_view lease = "1000") {
        return eval(release, {"k", "ch", latch}, {"0", lease, owner, "PUBLISH", "500"});
    }
};

BOOST_FIXTURE_TEST_SUITE(scripts_reentrant, reentrant_world)

// ---- acquire ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_owner_takes_a_free_lock_and_takes_it_again) {
    BOOST_TEST(lock("me") == "nil");
    BOOST_TEST(field("k", "me") == "1");
    BOOST_TEST(left("k") == 1000);
    pass(300);
    BOOST_TEST(lock("me", "5000") == "nil");
    BOOST_TEST(field("k", "me") == "2");
    BOOST_TEST(left("k") == 5000);
}

BOOST_AUTO_TEST_CASE(others_are_told_how_long_it_will_be) {
    lock("me", "1000");
    pass(300);
    BOOST_TEST(lock("you") == ":700");
    set_hash("l", "me", "1");
    BOOST_TEST(eval(acquire, {"l"}, {"1000", "you"}) == ":-1");
    pass(700);
    BOOST_TEST(lock("you") == "nil");
}

BOOST_AUTO_TEST_CASE(a_lease_of_nothing_ends_the_lock_at_once_and_counts) {
    BOOST_TEST(lock("me", "0") == "nil");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(lock("me", "-7") == "nil");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_lease_that_makes_no_sense_changes_nothing) {
    BOOST_TEST(lock("me", "x") == not_integer);
    BOOST_TEST(lock("me", "9223372036854775807") == bad_pexpire_text);
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_string_is_of_the_wrong_type) {
    set("k", "me", 100);
    BOOST_TEST(lock("me") == "-WRONGTYPE");
    BOOST_TEST(unlock("me") == "-WRONGTYPE");
    BOOST_TEST(eval(acquire_once, {"k"}, {"1000", "me", "NO"}) == "-WRONGTYPE");
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "me"}) == "-WRONGTYPE");
    BOOST_TEST(eval(renew_one, {"k"}, {"1000", "me"}) == "-WRONGTYPE");
    BOOST_TEST(!exists("f"));
    BOOST_TEST(!exists("latch"));
    BOOST_TEST(left("k") == 100);
}

BOOST_AUTO_TEST_CASE(re_entry_may_be_an_error) {
    BOOST_TEST(eval(acquire_once, {"k"}, {"1000", "me", "NOT_AGAIN"}) == "nil");
    BOOST_TEST(eval(acquire_once, {"k"}, {"9000", "me", "NOT_AGAIN"}) == "-ERR NOT_AGAIN");
    BOOST_TEST(eval(acquire_once, {"k"}, {"9000", "me", "NO not again"}) == "-NO not again");
    BOOST_TEST(eval(acquire_once, {"k"}, {"9000", "you", "NOT_AGAIN"}) == ":1000");
    BOOST_TEST(field("k", "me") == "1");
    BOOST_TEST(left("k") == 1000);
}

BOOST_AUTO_TEST_CASE(each_grant_has_a_greater_fence) {
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "me"}) == "[:-1 :1]");
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "me"}) == "[:-1 :2]");
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "you"}) == "[:1000 :-1]");
    pass(1000);
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "you"}) == "[:-1 :3]");
    BOOST_TEST(eval(acquire_counted, {"k", "f"}, {"1000", "you"}) == "nil");
    BOOST_TEST(get("f") == "4");
    BOOST_TEST(left("f") == -1);
}

BOOST_AUTO_TEST_CASE(without_a_fence_there_is_no_grant) {
    set("f", "not a number");
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "me"}) == "-NOTINTEGER");
    set("f", "9223372036854775807");
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "me"}) == "-OVERFLOW");
    remove("f");
    set_hash("f", "a", "b");
    BOOST_TEST(eval(acquire_fenced, {"k", "f"}, {"1000", "me"}) == "-WRONGTYPE");
    BOOST_TEST(!exists("k"));
}

// ---- release ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_last_hold_frees_the_lock_and_tells_the_channel) {
    lock("me");
    lock("me");
    BOOST_TEST(unlock("me", "latch1", "3000") == ":0");
    BOOST_TEST(published() == "");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(field("k", "me") == "1");
    BOOST_TEST(unlock("me", "latch2") == ":1");
    BOOST_TEST(published() == "ch<-0");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(who_does_not_hold_it_cannot_release_it) {
    BOOST_TEST(unlock("me") == "nil");
    BOOST_TEST(published() == "");
    lock("you");
    BOOST_TEST(unlock("me") == "nil");
    BOOST_TEST(field("k", "you") == "1");
    BOOST_TEST(!exists("latch"));
}

BOOST_AUTO_TEST_CASE(a_repeated_release_is_answered_as_the_first_was) {
    lock("me");
    lock("me");
    BOOST_TEST(unlock("me", "latch1") == ":0");
    BOOST_TEST(get("latch1") == "0");
    BOOST_TEST(left("latch1") == 500);
    BOOST_TEST(unlock("me", "latch1") == ":0");
    BOOST_TEST(field("k", "me") == "1");
    BOOST_TEST(unlock("me", "latch2") == ":1");
    BOOST_TEST(get("latch2") == "1");
    lock("you");
    BOOST_TEST(unlock("me", "latch2") == ":1");
    BOOST_TEST(published() == "");
    BOOST_TEST(field("k", "you") == "1");
    pass(500);
    BOOST_TEST(unlock("me", "latch2") == "nil");
}

BOOST_AUTO_TEST_CASE(a_latch_that_makes_no_sense_leaves_the_lock_held) {
    lock("me");
    for (const std::string_view latch_ms : {"0", "-1", "9223372036854775807"}) {
        BOOST_TEST(eval(release, {"k", "ch", "l"}, {"0", "1000", "me", "PUBLISH", latch_ms}) ==
                   bad_set);
    }
    BOOST_TEST(eval(release, {"k", "ch", "l"}, {"0", "1000", "me", "PUBLISH", "x"}) == not_integer);
    set_hash("l", "a", "b");
    BOOST_TEST(unlock("me", "l") == "-WRONGTYPE");
    BOOST_TEST(field("k", "me") == "1");
}

BOOST_AUTO_TEST_CASE(a_table_too_full_for_the_latch_releases_nevertheless) {
    table.~lock_table();
    new (&table) lockkeeper::shards::lock_table({.keys_max = 1});
    lock("me");
    lock("me");
    BOOST_TEST(unlock("me", "latch1") == ":0");
    BOOST_TEST(!exists("latch1"));
    BOOST_TEST(unlock("me", "latch2") == ":1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(publishing_may_go_to_a_shard_or_not_be_asked_for) {
    lock("me");
    eval(release, {"k", "ch", "l1"}, {"0", "1000", "me", "spublish", "500"});
    BOOST_TEST(published() == "s:ch<-0");
    lock("me");
    BOOST_TEST(eval(release_spin, {"k", "l2"}, {"1000", "me", "500"}) == ":1");
    BOOST_TEST(published() == "");
    BOOST_TEST(get("l2") == "1");
    lock("me");
    BOOST_TEST(eval(release_old, {"k", "ch"}, {"0", "1000", "me"}) == ":1");
    BOOST_TEST(published() == "ch<-0");
    BOOST_TEST(eval(release_old, {"k", "ch"}, {"0", "1000", "me"}) == "nil");
}

BOOST_AUTO_TEST_CASE(the_oldest_release_notifies_even_if_there_is_nothing) {
    BOOST_TEST(eval(release_oldest, {"k", "ch"}, {"0", "1000", "me"}) == ":1");
    BOOST_TEST(published() == "ch<-0");
    lock("you");
    BOOST_TEST(eval(release_oldest, {"k", "ch"}, {"0", "1000", "me"}) == "nil");
    BOOST_TEST(published() == "");
}

// ---- renewal ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(renewal_is_for_holders) {
    BOOST_TEST(eval(renew_one, {"k"}, {"3000", "me"}) == ":0");
    lock("me");
    BOOST_TEST(eval(renew_one, {"k"}, {"3000", "me"}) == ":1");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(eval(renew_one, {"k"}, {"9000", "you"}) == ":0");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(field("k", "me") == "1");
    BOOST_TEST(eval(renew_one, {"k"}, {"x", "me"}) == not_integer);
    BOOST_TEST(eval(renew_one, {"k"}, {"0", "me"}) == ":1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_batch_answers_for_each_key) {
    set_hash("a", "me", "1", 100);
    set_hash("b", "you", "1", 100);
    set_hash("d", "me2", "2", 100);
    BOOST_TEST(eval(renew_all, {"a", "b", "c", "d"}, {"3000", "me", "me", "me", "me2"}) ==
               "[:1 :0 :0 :1]");
    BOOST_TEST(left("a") == 3000);
    BOOST_TEST(left("b") == 100);
    BOOST_TEST(left("d") == 3000);
    BOOST_TEST(eval(renew_all, {"a"}, {"4000", "me"}) == "[:1]");
}

BOOST_AUTO_TEST_SUITE_END()
