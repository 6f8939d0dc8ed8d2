#include "shards/core/habit_log.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace std::chrono_literals;
using namespace lockkeeper::shards;

namespace {

lock_key key(std::string_view name) {
    return {0, name, key_hash{1}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_and_ids_in_a_key_become_stars) {
    BOOST_TEST(pattern_of("order:4711:pay") == "order:*:pay");
    BOOST_TEST(pattern_of("lock:3f2b8c1e-7a55-4c0e-9d0a-1b2c3d4e5f60") == "lock:*");
    BOOST_TEST(pattern_of("user/0a1b2c3d4e5f/cart") == "user/*/cart");
    BOOST_TEST(pattern_of("report-2026-11-18") == "report-*");
    BOOST_TEST(pattern_of("2026-north") == "*-north");
    BOOST_TEST(pattern_of("7-") == "*-");
    BOOST_TEST(pattern_of("7--x") == "*--x");
    BOOST_TEST(pattern_of("db2:jobs") == "db2:jobs");
    BOOST_TEST(pattern_of("facade") == "facade");
    BOOST_TEST(pattern_of("") == "");
    BOOST_TEST(pattern_of(std::string(10'000, 'x')).size() == 128u);
}

BOOST_AUTO_TEST_CASE(every_one_is_counted_and_some_are_looked_at) {
    habit_log log;
    instant now{1'000'000'000};
    for (int i = 0; i < 1'000; ++i) {
        log.note(habit::no_ttl, key("job:" + std::to_string(i)), 7, now);
    }
    BOOST_TEST(log.count(habit::no_ttl) == 1'000u);
    BOOST_REQUIRE(log.rows().size() == 1u);
    BOOST_TEST(log.rows()[0].count == 1u);
    // What was not looked at counts for the next one that is.
    log.note(habit::no_ttl, key("job:9999"), 7, now + 1s);
    BOOST_REQUIRE(log.rows().size() == 1u);
    BOOST_TEST(log.rows()[0].count == 1'001u);
    BOOST_TEST(log.rows()[0].pattern == "job:*");
    BOOST_TEST(log.rows()[0].example == "job:0");
}

BOOST_AUTO_TEST_CASE(habits_clients_and_keys_have_rows_of_their_own) {
    habit_log log;
    instant now{};
    for (const auto what : {habit::no_ttl, habit::late_release}) {
        for (const uint64_t client : {1u, 2u}) {
            for (const auto* const name : {"a:1", "b:1"}) {
                now = now + 1s;
                log.note(what, key(name), client, now);
            }
        }
    }
    BOOST_TEST(log.rows().size() == 8u);
    log.clear();
    BOOST_TEST(log.rows().empty());
    BOOST_TEST(log.count(habit::no_ttl) == 0u);
}

BOOST_AUTO_TEST_CASE(rare_ones_make_room) {
    habit_log log;
    instant now{};
    for (int i = 0; i < 2; ++i) {
        log.note(habit::no_ttl, key("frequent"), 1, now = now + 1s);
    }
    for (size_t i = 0; i < 10 * habit_log::rows_max; ++i) {
        log.note(habit::no_ttl, key("rare"), 2 + i, now = now + 1s);
    }
    BOOST_TEST(log.rows().size() == habit_log::rows_max);
    BOOST_TEST(log.rows().front().pattern == "frequent");
}
