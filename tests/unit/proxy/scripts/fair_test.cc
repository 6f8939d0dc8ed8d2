#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view try_lock = "d20501c2";
constexpr std::string_view try_once = "5bea9498";    // re-entry is an error
constexpr std::string_view try_oldest = "5d26cc9d";  // waiter
constexpr std::string_view lock = "8f6ed299";
constexpr std::string_view lock_until = "c10436d1";   // wait_until_ms
constexpr std::string_view lock_oldest = "a2987bde";  // waiter
constexpr std::string_view give_up = "d1ddef65";
constexpr std::string_view unlock = "367f80bd";
constexpr std::string_view unlock_oldest = "f87d9377";
constexpr std::string_view force = "71ed11d4";

}  // namespace

struct fair_world : world {
    int latches = 0;

    std::string now_ms() const { return std::to_string(wall_ms); }
    std::string take(std::string_view owner, std::string_view lease = "1000") {
        return eval(lock, {"k", "q", "w"}, {lease, owner, "5000", now_ms()});
    }
    std::string poll(std::string_view owner) {
        return eval(try_lock, {"k", "q", "w"}, {"1000", owner, now_ms(), "5000"});
    }
    std::string leave(std::string_view owner) { return eval(give_up, {"q", "w"}, {owner, "5000"}); }
    std::string free(std::string_view owner) {
        const std::string latch = "latch" + std::to_string(++latches);
        return eval(unlock, {"k", "q", "w", "ch", latch},
                    {"0", "1000", owner, now_ms(), "PUBLISH", "500"});
    }
    /// Who waits, in order.
    std::string queue() {
        std::string all;
        for (const auto& one : table.hash_fields(key("q"), now).value()) {
            all += one.name;
        }
        return all;
    }
};

BOOST_FIXTURE_TEST_SUITE(scripts_fair, fair_world)

BOOST_AUTO_TEST_CASE(a_free_lock_is_taken_at_once) {
    BOOST_TEST(take("a") == "nil");
    BOOST_TEST(field("k", "a") == "1");
    BOOST_TEST(left("k") == 1000);
    BOOST_TEST(queue() == "");
    BOOST_TEST(take("a", "3000") == "nil");
    BOOST_TEST(field("k", "a") == "2");
    BOOST_TEST(left("k") == 3000);
}

BOOST_AUTO_TEST_CASE(who_is_refused_stands_in_the_queue) {
    take("a");
    pass(200);
    BOOST_TEST(take("b") == ":800");
    BOOST_TEST(field("q", "b") == std::to_string(wall_ms + 800 + 5000));
    BOOST_TEST(take("c") == ":5800");  // when b gives up
    BOOST_TEST(queue() == "bc");
    pass(100);
    BOOST_TEST(take("b") == ":700");
    BOOST_TEST(queue() == "bc");
    BOOST_TEST(field("q", "b") == std::to_string(wall_ms - 100 + 800 + 5000));
}

BOOST_AUTO_TEST_CASE(the_lock_goes_to_the_head_of_the_queue) {
    take("a");
    take("b");
    take("c");
    BOOST_TEST(free("a") == ":1");
    BOOST_TEST(published() == "ch:b<-0");
    BOOST_TEST(take("c").starts_with(":"));
    BOOST_TEST(take("d").starts_with(":"));
    const int64_t before = std::stoll(field("q", "c"));
    BOOST_TEST(take("b") == "nil");
    BOOST_TEST(queue() == "cd");
    BOOST_TEST(std::stoll(field("q", "c")) == before - 5000);
    BOOST_TEST(free("b") == ":1");
    BOOST_TEST(published() == "ch:c<-0");
}

BOOST_AUTO_TEST_CASE(who_only_tries_does_not_queue_nor_overtake) {
    BOOST_TEST(poll("a") == "nil");
    BOOST_TEST(poll("a") == "nil");
    BOOST_TEST(field("k", "a") == "2");
    BOOST_TEST(poll("b") == ":1");
    BOOST_TEST(queue() == "");
    take("c");
    free("a");
    free("a");
    BOOST_TEST(poll("b") == ":1");
    BOOST_TEST(poll("c") == "nil");
    BOOST_TEST(queue() == "");
}

BOOST_AUTO_TEST_CASE(heads_whose_time_is_over_leave) {
    take("a");
    take("b");
    take("c");
    pass(1000);
    BOOST_TEST(!exists("k"));
    BOOST_TEST(take("c") == ":5000");
    pass(4999);
    BOOST_TEST(queue() == "bc");
    BOOST_TEST(take("c") == ":1");
    pass(1);
    BOOST_TEST(take("c") == "nil");
    BOOST_TEST(queue() == "");
}

BOOST_AUTO_TEST_CASE(who_gives_up_leaves_the_queue_and_those_behind_move_up) {
    take("a");
    take("b");
    take("c");
    const int64_t before = std::stoll(field("q", "c"));
    BOOST_TEST(leave("b") == "nil");
    BOOST_TEST(queue() == "c");
    BOOST_TEST(std::stoll(field("q", "c")) == before - 5000);
    BOOST_TEST(leave("x") == "nil");
    BOOST_TEST(leave("c") == "nil");
    BOOST_TEST(!exists("q"));
}

BOOST_AUTO_TEST_CASE(giving_up_leaves_others_alone_whose_clock_differs) {
    take("a");
    take("b");
    take("c");
    wall_ms += 1'000'000;
    leave("c");
    BOOST_TEST(queue() == "b");
}

BOOST_AUTO_TEST_CASE(release_is_for_the_owner_and_counts) {
    take("a");
    take("a");
    BOOST_TEST(free("b") == "nil");
    BOOST_TEST(free("a") == ":0");
    BOOST_TEST(free("a") == ":1");
    BOOST_TEST(published() == "");  // nobody waits
}

BOOST_AUTO_TEST_CASE(releasing_what_is_gone_wakes_the_head) {
    take("a");
    take("b");
    pass(1000);
    const words arguments{"0", "1000", "a", "0", "SPUBLISH", "500"};
    BOOST_TEST(eval(unlock, {"k", "q", "w", "ch", "l"}, arguments) == ":1");
    BOOST_TEST(published() == "s:ch:b<-0");
    BOOST_TEST(get("l") == "1");
    BOOST_TEST(eval(unlock, {"k", "q", "w", "ch", "l"}, arguments) == ":1");
    BOOST_TEST(published() == "");
}

BOOST_AUTO_TEST_CASE(force_wakes_the_head_too) {
    BOOST_TEST(eval(force, {"k", "q", "w", "ch"}, {"0", now_ms(), "PUBLISH"}) == ":0");
    take("a");
    take("b");
    BOOST_TEST(eval(force, {"k", "q", "w", "ch"}, {"0", now_ms(), "PUBLISH"}) == ":1");
    BOOST_TEST(published() == "ch:b<-0");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(re_entry_may_be_an_error) {
    const words keys{"k", "q", "w"};
    BOOST_TEST(eval(try_once, keys, {"1000", "a", now_ms(), "5000", "NO"}) == "nil");
    BOOST_TEST(eval(try_once, keys, {"1000", "a", now_ms(), "5000", "NO"}) == "-ERR NO");
    BOOST_TEST(eval(try_once, keys, {"1000", "b", now_ms(), "5000", "NO"}) == ":1");
}

BOOST_AUTO_TEST_CASE(a_wait_may_be_told_as_a_moment) {
    take("a");
    const std::string until = std::to_string(wall_ms + 3000);
    BOOST_TEST(eval(lock_until, {"k", "q", "w"}, {"1000", "b", until, now_ms()}) == ":1000");
    BOOST_TEST(field("q", "b") == std::to_string(wall_ms + 4000));
}

BOOST_AUTO_TEST_CASE(the_oldest_layout_goes_by_our_clock) {
    BOOST_TEST(eval(lock_oldest, {"k", "q", "q:a"}, {"1000", "a", "5000"}) == "nil");
    BOOST_TEST(eval(lock_oldest, {"k", "q", "q:b"}, {"1000", "b", "5000"}) == ":1000");
    BOOST_TEST(eval(try_oldest, {"k", "q", "q:c"}, {"1000", "c"}) == ":1");
    BOOST_TEST(eval(unlock_oldest, {"k", "ch", "q"}, {"0", "1000", "a"}) == ":1");
    BOOST_TEST(published() == "ch:b<-0");
    BOOST_TEST(eval(try_oldest, {"k", "q", "q:c"}, {"1000", "c"}) == ":1");
    pass(6000);
    BOOST_TEST(eval(try_oldest, {"k", "q", "q:c"}, {"1000", "c"}) == "nil");
}

BOOST_AUTO_TEST_CASE(a_lock_without_expiry_gives_no_hint) {
    set_hash("k", "a", "1");
    BOOST_TEST(take("b") == ":-1");
}

BOOST_AUTO_TEST_CASE(clocks_may_say_anything) {
    take("a");
    for (const std::string_view until :
         {"9223372036854775807", "-9223372036854775808", "0", "9000000000000000000"}) {
        for (const std::string_view now_text : {"-9223372036854775808", "9223372036854775807"}) {
            eval(lock_until, {"k", "q", "w"}, {"1000", "b", until, now_text});
            eval(lock_until, {"k", "q", "w"}, {"1000", "c", until, now_text});
            eval(lock, {"k", "q", "w"}, {"1000", "d", until, now_text});
            eval(give_up, {"q", "w"}, {"b", until});
        }
    }
    BOOST_TEST(field("k", "a") == "1");
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_changes_nothing) {
    BOOST_TEST(take("a", "x") == not_integer);
    BOOST_TEST(eval(lock, {"k", "q", "w"}, {"1000", "a", "x", now_ms()}) == not_integer);
    BOOST_TEST(eval(lock, {"k", "q", "w"}, {"1000", "a", "5000", "x"}) == not_integer);
    take("a");
    BOOST_TEST(eval(lock, {"k", "q", "w"}, {"1000", "b", "9223372036854775807", now_ms()}) ==
               not_integer);
    BOOST_TEST(queue() == "");
    set("s", "string");
    BOOST_TEST(eval(lock, {"s", "q", "w"}, {"1000", "b", "5000", now_ms()}) == "-WRONGTYPE");
    BOOST_TEST(eval(lock, {"k", "s", "w"}, {"1000", "b", "5000", now_ms()}) == "-WRONGTYPE");
}

BOOST_AUTO_TEST_SUITE_END()
