#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view read_lock = "95553a6f";
constexpr std::string_view read_lock_oldest = "60b39bb8";
constexpr std::string_view read_unlock = "6e1b10e1";
constexpr std::string_view read_unlock_before = "5947c0fe";  // absent is 1
constexpr std::string_view read_unlock_oldest = "34184309";  // with lease_ms
constexpr std::string_view write_lock = "6306ba3b";          // re-entry adds
constexpr std::string_view write_lock_oldest = "fc3a53f6";
constexpr std::string_view write_unlock = "21f5fb0f";
constexpr std::string_view read_renew_one = "6563941f";
constexpr std::string_view read_renew_all = "1affef78";
constexpr std::string_view read_renew_groups = "38d2b478";
constexpr std::string_view write_renew = "6a3d3157";
constexpr std::string_view read_force = "27dbe744";
constexpr std::string_view write_force = "2e2cb2a3";
constexpr std::string_view is_read_locked = "8ad44f1b";

}  // namespace

struct read_write_world : world {
    int latches = 0;

    std::string read(std::string owner, std::string_view lease = "1000") {
        return eval(read_lock, {"k", "{k}:" + owner + ":rwlock_timeout"},
                    {lease, owner, owner + ":write"});
    }
    std::string unread(std::string owner) {
        const std::string latch = "latch" + std::to_string(++latches);
        return eval(read_unlock, {"k", "ch", "{k}:" + owner + ":rwlock_timeout", "{k}", latch},
                    {"0", owner, "PUBLISH", "500"});
    }
    std::string write(std::string owner, std::string_view lease = "1000") {
        return eval(write_lock, {"k"}, {lease, owner + ":write"});
    }
    std::string unwrite(std::string owner, std::string_view lease = "1000") {
        const std::string latch = "latch" + std::to_string(++latches);
        return eval(write_unlock, {"k", "ch", latch},
                    {"1", lease, owner + ":write", "PUBLISH", "500"});
    }
};

BOOST_FIXTURE_TEST_SUITE(scripts_read_write, read_write_world)

BOOST_AUTO_TEST_CASE(readers_share_a_lock) {
    BOOST_TEST(read("a") == "nil");
    BOOST_TEST(field("k", "mode") == "read");
    BOOST_TEST(field("k", "a") == "1");
    BOOST_TEST(left("k") == 1000);
    BOOST_TEST(left("{k}:a:rwlock_timeout:1") == 1000);
    BOOST_TEST(read("b", "3000") == "nil");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(read("a", "2000") == "nil");
    BOOST_TEST(field("k", "a") == "2");
    BOOST_TEST(left("{k}:a:rwlock_timeout:2") == 2000);
    BOOST_TEST(left("k") == 3000);
}

BOOST_AUTO_TEST_CASE(old_readers_may_shorten_the_lock) {
    BOOST_TEST(eval(read_lock_oldest, {"k"}, {"3000", "a"}) == "nil");
    BOOST_TEST(eval(read_lock_oldest, {"k"}, {"1000", "b"}) == "nil");
    BOOST_TEST(left("k") == 1000);
}

BOOST_AUTO_TEST_CASE(a_writer_keeps_everybody_out) {
    BOOST_TEST(write("a") == "nil");
    BOOST_TEST(field("k", "mode") == "write");
    BOOST_TEST(field("k", "a:write") == "1");
    BOOST_TEST(read("b") == ":1000");
    BOOST_TEST(write("b") == ":1000");
    BOOST_TEST(eval(read_lock_oldest, {"k"}, {"1000", "a"}) == ":1000");
    BOOST_TEST(table.hash_length(key("k"), now).value() == 2u);
}

BOOST_AUTO_TEST_CASE(readers_keep_writers_out_even_themselves) {
    read("a");
    BOOST_TEST(write("b") == ":1000");
    BOOST_TEST(write("a") == ":1000");
}

BOOST_AUTO_TEST_CASE(a_writer_may_write_again_and_read) {
    write("a");
    BOOST_TEST(write("a", "2000") == "nil");
    BOOST_TEST(field("k", "a:write") == "2");
    BOOST_TEST(left("k") == 3000);  // what remained, and the new lease
    BOOST_TEST(read("a", "500") == "nil");
    BOOST_TEST(field("k", "a") == "1");
    BOOST_TEST(field("k", "mode") == "write");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(eval(write_lock_oldest, {"k"}, {"700", "a:write"}) == "nil");
    BOOST_TEST(left("k") == 700);
}

BOOST_AUTO_TEST_CASE(reading_ends_hold_by_hold) {
    read("a", "1000");
    read("a", "2000");
    read("b", "1500");
    BOOST_TEST(left("k") == 2000);
    BOOST_TEST(unread("a") == ":0");
    BOOST_TEST(!exists("{k}:a:rwlock_timeout:2"));
    BOOST_TEST(left("k") == 1500);  // that of the longest hold left
    BOOST_TEST(unread("a") == ":0");
    BOOST_TEST(field("k", "a") == "<absent>");
    BOOST_TEST(published() == "");
    BOOST_TEST(unread("a") == "nil");
    BOOST_TEST(unread("b") == ":1");
    BOOST_TEST(published() == "ch<-0");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(!exists("{k}:b:rwlock_timeout:1"));
}

BOOST_AUTO_TEST_CASE(holds_whose_lease_is_over_do_not_keep_the_lock) {
    read("a", "1000");
    read("b", "5000");
    pass(2000);
    BOOST_TEST(field("k", "a") == "1");
    BOOST_TEST(unread("b") == ":1");
    BOOST_TEST(published() == "ch<-0");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(releasing_a_read_lock_that_is_gone_tells_the_channel) {
    const auto again = [this](std::string_view sha) {
        return eval(sha, {"k", "ch", "{k}:a:rwlock_timeout", "{k}", "latch"},
                    {"0", "a", "PUBLISH", "500"});
    };
    BOOST_TEST(again(read_unlock) == "nil");
    BOOST_TEST(published() == "ch<-0");
    BOOST_TEST(get("latch") == "1");
    BOOST_TEST(again(read_unlock) == ":1");
    BOOST_TEST(published() == "");
    remove("latch");
    BOOST_TEST(again(read_unlock_before) == ":1");
    BOOST_TEST(get("latch") == "1");
}

BOOST_AUTO_TEST_CASE(the_oldest_read_release_says_its_lease) {
    eval(read_lock_oldest, {"k"}, {"1000", "a"});
    eval(read_lock_oldest, {"k"}, {"1000", "b"});
    BOOST_TEST(eval(read_unlock_oldest, {"k", "ch"}, {"0", "7000", "a"}) == ":1");
    BOOST_TEST(left("k") == 7000);
    BOOST_TEST(eval(read_unlock_oldest, {"k", "ch"}, {"0", "7000", "x"}) == "nil");
    BOOST_TEST(eval(read_unlock_oldest, {"k", "ch"}, {"0", "7000", "b"}) == ":1");
    BOOST_TEST(published() == "ch<-0");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(eval(read_unlock_oldest, {"k", "ch"}, {"0", "7000", "b"}) == ":1");
}

BOOST_AUTO_TEST_CASE(writing_ends_hold_by_hold) {
    write("a");
    write("a");
    BOOST_TEST(unwrite("b") == "nil");
    BOOST_TEST(unwrite("a", "4000") == ":0");
    BOOST_TEST(left("k") == 4000);
    BOOST_TEST(unwrite("a") == ":1");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(unwrite("a") == "nil");
    BOOST_TEST(published() == "ch<-1");
}

BOOST_AUTO_TEST_CASE(a_writer_who_reads_on_leaves_a_read_lock) {
    write("a");
    read("a");
    BOOST_TEST(unwrite("a") == ":1");
    BOOST_TEST(published() == "");
    BOOST_TEST(field("k", "mode") == "read");
    BOOST_TEST(read("b") == "nil");
    BOOST_TEST(unread("a") == ":0");
    BOOST_TEST(unread("b") == ":1");
}

BOOST_AUTO_TEST_CASE(a_writer_whose_read_hold_is_over_leaves_nothing) {
    write("a", "9000");
    read("a", "1000");
    pass(2000);
    BOOST_TEST(unwrite("a") == ":1");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_writer_who_stops_reading_writes_on) {
    write("a", "3000");
    read("a", "1000");
    BOOST_TEST(unread("a") == ":0");
    BOOST_TEST(field("k", "a:write") == "1");
    BOOST_TEST(left("k") == 3000);
    BOOST_TEST(write("b") == ":3000");
}

BOOST_AUTO_TEST_CASE(a_read_lock_is_not_released_as_a_write_lock) {
    read("a");
    BOOST_TEST(unwrite("a") == "nil");
    BOOST_TEST(field("k", "a") == "1");
}

BOOST_AUTO_TEST_CASE(renewal_covers_the_lock_and_its_holds) {
    BOOST_TEST(eval(read_renew_one, {"k", "{k}"}, {"5000", "a"}) == ":0");
    read("a");
    read("a");
    read("b");
    BOOST_TEST(eval(read_renew_one, {"k", "{k}"}, {"5000", "x"}) == ":0");
    BOOST_TEST(left("k") == 1000);
    BOOST_TEST(eval(read_renew_one, {"k", "{k}"}, {"5000", "a"}) == ":1");
    BOOST_TEST(left("k") == 5000);
    BOOST_TEST(left("{k}:a:rwlock_timeout:2") == 5000);
    BOOST_TEST(left("{k}:b:rwlock_timeout:1") == 5000);
}

BOOST_AUTO_TEST_CASE(renewal_of_several_read_locks_answers_for_each) {
    read("a");
    BOOST_TEST(eval(read_renew_all, {"k", "{k}", "l", "{l}"}, {"5000", "a", "a"}) == "[:1 :0]");
    BOOST_TEST(left("k") == 5000);
}

BOOST_AUTO_TEST_CASE(renewal_by_groups_of_owners_is_for_those_alone) {
    read("a");
    read("b");
    BOOST_TEST(eval(read_renew_groups, {"k", "{k}", "l", "{l}"},
                    {"5000", "2", "x", "a", "1", "a"}) == "[:1 :0]");
    BOOST_TEST(left("{k}:a:rwlock_timeout:1") == 5000);
    BOOST_TEST(left("{k}:b:rwlock_timeout:1") == 1000);
    BOOST_TEST(eval(read_renew_groups, {"k", "{k}"}, {"5000", "0"}) == "[:0]");
    BOOST_TEST(eval(read_renew_groups, {"k", "{k}"}, {"5000", "3", "a"}) == not_integer);
    BOOST_TEST(eval(read_renew_groups, {"k", "{k}"}, {"5000", "-1", "a"}) == not_integer);
    BOOST_TEST(eval(read_renew_groups, {"k", "{k}"}, {"5000", "a", "1"}) == not_integer);
}

BOOST_AUTO_TEST_CASE(a_write_lock_is_renewed_as_any_lock) {
    write("a");
    BOOST_TEST(eval(write_renew, {"k"}, {"5000", "a:write"}) == "[:1]");
    BOOST_TEST(left("k") == 5000);
}

BOOST_AUTO_TEST_CASE(force_is_for_one_mode) {
    BOOST_TEST(eval(read_force, {"k", "ch"}, {"0", "PUBLISH"}) == ":0");
    read("a");
    BOOST_TEST(eval(write_force, {"k", "ch"}, {"1", "PUBLISH"}) == ":0");
    BOOST_TEST(eval(read_force, {"k", "ch"}, {"0", "SPUBLISH"}) == ":1");
    BOOST_TEST(published() == "s:ch<-0");
    write("a");
    BOOST_TEST(eval(read_force, {"k", "ch"}, {"0", "PUBLISH"}) == ":0");
    BOOST_TEST(eval(write_force, {"k", "ch"}, {"1", "PUBLISH"}) == ":1");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_lock_is_read_locked_while_somebody_reads) {
    BOOST_TEST(eval(is_read_locked, {"k"}, {}) == ":0");
    write("a");
    BOOST_TEST(eval(is_read_locked, {"k"}, {}) == ":0");
    read("a");
    BOOST_TEST(eval(is_read_locked, {"k"}, {}) == ":1");
    unwrite("a");
    BOOST_TEST(eval(is_read_locked, {"k"}, {}) == ":1");
}

BOOST_AUTO_TEST_CASE(a_string_is_of_the_wrong_type) {
    set("k", "x", 100);
    BOOST_TEST(read("a") == "-WRONGTYPE");
    BOOST_TEST(unread("a") == "-WRONGTYPE");
    BOOST_TEST(write("a") == "-WRONGTYPE");
    BOOST_TEST(unwrite("a") == "-WRONGTYPE");
    BOOST_TEST(eval(read_renew_one, {"k", "{k}"}, {"5000", "a"}) == "-WRONGTYPE");
    BOOST_TEST(eval(read_force, {"k", "ch"}, {"0", "PUBLISH"}) == "-WRONGTYPE");
    BOOST_TEST(eval(is_read_locked, {"k"}, {}) == "-WRONGTYPE");
}

BOOST_AUTO_TEST_CASE(leases_that_make_no_sense_change_nothing) {
    BOOST_TEST(read("a", "x") == not_integer);
    BOOST_TEST(write("a", "x") == not_integer);
    BOOST_TEST(read("a", "9223372036854775807") == bad_pexpire_text);
    BOOST_TEST(write("a", "9223372036854775807") == bad_pexpire_text);
    BOOST_TEST(!exists("k"));
    BOOST_TEST(read("a", "0") == "nil");
    BOOST_TEST(!exists("k"));
    write("a");
    BOOST_TEST(unwrite("a", "x") == not_integer);
    BOOST_TEST(field("k", "a:write") == "1");
}

BOOST_AUTO_TEST_CASE(a_full_table_gives_no_half_of_a_read_lock) {
    table.~lock_table();
    new (&table) lockkeeper::shards::lock_table({.keys_max = 1});
    BOOST_TEST(read("a") == "-TOOMANYLOCKS");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_name_with_braces_is_not_put_into_more) {
    eval(read_lock, {"x{y}", "x{y}:a:rwlock_timeout"}, {"1000", "a", "a:write"});
    BOOST_TEST(left("x{y}:a:rwlock_timeout:1") == 1000);
}

BOOST_AUTO_TEST_SUITE_END()
