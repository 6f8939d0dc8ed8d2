#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;

namespace {

constexpr std::string_view acquire = "992c96b0";      // "OK", several ids
constexpr std::string_view acquire_one = "9dd7dc38";  // the id
constexpr std::string_view release_one = "4ce07945";
constexpr std::string_view release_oldest = "53d4f9a6";  // no clock
constexpr std::string_view release_some = "bb41a8ec";
constexpr std::string_view release_all = "cf3ab77b";
constexpr std::string_view extend = "2298b02c";
constexpr std::string_view available = "26b3972b";
constexpr std::string_view available_oldest = "e41f6223";
constexpr std::string_view total = "e242db5c";
constexpr std::string_view acquired = "6f0b0be7";
constexpr std::string_view lease_time = "8be95cb5";
constexpr std::string_view set_total = "494d8561";

constexpr std::string_view never = "92233720368547758";
const words keys{"s", "leases", "ch"};
const words release_keys{"s", "ch", "leases"};

}  // namespace

struct leases_world : world {
    std::string now_ms(int64_t later = 0) const { return std::to_string(wall_ms + later); }

    std::string take(std::string_view count, int64_t lease, words ids) {
        const std::string until = now_ms(lease);
        const std::string now_text = now_ms();
        words arguments{count, until, now_text, never, "PUBLISH"};
        arguments.insert(arguments.end(), ids.begin(), ids.end());
        return eval(acquire, keys, arguments);
    }
    std::string ask(std::string_view sha) { return eval(sha, keys, {now_ms(), "PUBLISH"}); }
};

BOOST_FIXTURE_TEST_SUITE(scripts_leases, leases_world)

BOOST_AUTO_TEST_CASE(permits_are_taken_until_an_instant) {
    BOOST_TEST(take("1", 1000, {"p"}) == "nil");  // no semaphore
    set("s", "3");
    BOOST_TEST(take("2", 1000, {"p", "q"}) == "\"OK\"");
    BOOST_TEST(get("s") == "1");
    BOOST_TEST(field("leases", "p") == now_ms(1000));
    BOOST_TEST(field("leases", "q") == now_ms(1000));
    BOOST_TEST(take("2", 9000, {"r", "t"}) == "\":" + now_ms(1000) + "\"");
    BOOST_TEST(take("1", 500, {"r"}) == "\"OK\"");
    BOOST_TEST(take("1", 500, {"t"}) == "\":" + now_ms(500) + "\"");
    BOOST_TEST(ask(total) == ":3");
    BOOST_TEST(ask(acquired) == ":3");
    BOOST_TEST(ask(available) == "\"0\"");
}

BOOST_AUTO_TEST_CASE(an_id_is_the_answer_of_old_texts) {
    set("s", "1");
    BOOST_TEST(eval(acquire_one, keys, {"1", now_ms(1000), "id", now_ms(), never}) == "\"id\"");
    BOOST_TEST(eval(acquire_one, keys, {"1", now_ms(1000), "jd", now_ms(), never}) ==
               "\":" + now_ms(1000) + "\"");
}

BOOST_AUTO_TEST_CASE(a_permit_without_end_gives_no_hint) {
    set("s", "1");
    eval(acquire_one, keys, {"1", never, "id", now_ms(), never});
    BOOST_TEST(take("1", 500, {"r"}) == "nil");
}

BOOST_AUTO_TEST_CASE(permits_whose_time_is_over_are_taken_back) {
    set("s", "2");
    take("1", 1000, {"p"});
    take("1", 2000, {"q"});
    pass(999);
    BOOST_TEST(take("1", 1000, {"r"}).starts_with("\":"));
    pass(1);
    BOOST_TEST(take("1", 5000, {"r"}) == "\"OK\"");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(field("leases", "p") == "<absent>");
    pass(1000);
    BOOST_TEST(ask(available) == ":1");  // another type of reply when some came back
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(ask(available) == "\"1\"");
}

BOOST_AUTO_TEST_CASE(no_more_are_taken_back_than_are_asked_for) {
    set("s", "3");
    take("3", 100, {"p", "q", "r"});
    pass(100);
    BOOST_TEST(take("1", 5000, {"t"}) == "\"OK\"");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(get("s") == "0");
    BOOST_TEST(ask(acquired) == ":1");
    BOOST_TEST(get("s") == "2");
}

BOOST_AUTO_TEST_CASE(the_permits_live_as_long_as_the_semaphore) {
    set("s", "2", 700);
    take("1", 100'000, {"p"});
    BOOST_TEST(left("leases") == 700);
}

BOOST_AUTO_TEST_CASE(a_permit_is_released_once) {
    set("s", "1");
    take("1", 1000, {"p"});
    BOOST_TEST(eval(release_one, release_keys, {"p", "1", now_ms(), "PUBLISH"}) == ":1");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(eval(release_one, release_keys, {"p", "1", now_ms(), "PUBLISH"}) == ":0");
    BOOST_TEST(published() == "");
    BOOST_TEST(get("s") == "1");
    take("1", 1000, {"p"});
    pass(1000);
    BOOST_TEST(eval(release_one, release_keys, {"p", "1", now_ms(), "PUBLISH"}) == ":0");
    BOOST_TEST(published() == "ch<-1");  // released nevertheless
    BOOST_TEST(get("s") == "1");
    take("1", 1000, {"p"});
    BOOST_TEST(eval(release_oldest, release_keys, {"p", "1"}) == ":1");
}

BOOST_AUTO_TEST_CASE(several_permits_are_released_together) {
    set("s", "3");
    take("3", 1000, {"p", "q", "r"});
    BOOST_TEST(eval(release_some, release_keys, {"2", now_ms(), "PUBLISH", "p", "x"}) == ":1");
    BOOST_TEST(published() == "ch<-1");
    BOOST_TEST(eval(release_some, release_keys, {"2", now_ms(), "PUBLISH", "x", "y"}) == ":0");
    BOOST_TEST(eval(release_all, release_keys, {"2", now_ms(), "PUBLISH", "q", "x"}) == ":0");
    BOOST_TEST(get("s") == "1");
    BOOST_TEST(eval(release_all, release_keys, {"2", now_ms(), "PUBLISH", "q", "r"}) == ":2");
    BOOST_TEST(get("s") == "3");
    take("1", 1000, {"p"});
    pass(1000);
    BOOST_TEST(eval(release_all, release_keys, {"1", now_ms(), "PUBLISH", "p"}) == ":0");
    BOOST_TEST(get("s") == "2");
}

BOOST_AUTO_TEST_CASE(a_permit_is_extended_while_it_lasts) {
    set("s", "1");
    BOOST_TEST(eval(extend, keys, {"p", now_ms(9000), now_ms(), "PUBLISH"}) == ":0");
    take("1", 1000, {"p"});
    BOOST_TEST(eval(extend, keys, {"p", now_ms(9000), now_ms(), "PUBLISH"}) == ":1");
    BOOST_TEST(eval(lease_time, keys, {"p", never, now_ms(), "PUBLISH"}) == ":9000");
    pass(9000);
    BOOST_TEST(eval(extend, keys, {"p", now_ms(9000), now_ms(), "PUBLISH"}) == ":0");
    BOOST_TEST(eval(lease_time, keys, {"p", never, now_ms(), "PUBLISH"}) == ":0");
    BOOST_TEST(get("s") == "1");
    eval(acquire_one, keys, {"1", never, "id", now_ms(), never});
    BOOST_TEST(eval(lease_time, keys, {"id", never, now_ms(), "PUBLISH"}) == ":-1");
}

BOOST_AUTO_TEST_CASE(without_a_semaphore_there_are_no_permits) {
    BOOST_TEST(ask(available) == ":0");
    BOOST_TEST(eval(available_oldest, keys, {now_ms()}) == "nil");
    BOOST_TEST(ask(total) == ":0");
    BOOST_TEST(ask(acquired) == ":0");
}

BOOST_AUTO_TEST_CASE(the_total_is_what_is_free_and_what_is_out) {
    const auto make = [this](std::string_view count) {
        return eval(set_total, release_keys, {count, "PUBLISH"});
    };
    BOOST_TEST(make("3") == "nil");
    BOOST_TEST(published() == "ch<-3");
    take("2", 1000, {"p", "q"});
    BOOST_TEST(make("5") == "nil");
    BOOST_TEST(published() == "ch<-5");
    BOOST_TEST(get("s") == "3");
    make("5");
    BOOST_TEST(published() == "");
    make("1");
    BOOST_TEST(get("s") == "-1");
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_changes_nothing) {
    set("s", "2");
    BOOST_TEST(take("x", 1000, {"p"}) == not_integer);
    BOOST_TEST(take("-1", 1000, {"p"}) == not_integer);
    BOOST_TEST(eval(acquire, keys, {"1", "x", now_ms(), never, "PUBLISH", "p"}) == not_integer);
    BOOST_TEST(eval(available, keys, {"x", "PUBLISH"}) == not_integer);
    BOOST_TEST(get("s") == "2");
    set_hash("h", "a", "b");
    BOOST_TEST(eval(available, {"h", "leases", "ch"}, {now_ms(), "PUBLISH"}) == "-WRONGTYPE");
    BOOST_TEST(eval(available, {"s", "s", "ch"}, {now_ms(), "PUBLISH"}) == "-WRONGTYPE");
    set("s", "x");
    BOOST_TEST(take("1", 1000, {"p"}) == not_integer);
    BOOST_TEST(!exists("leases"));
}

BOOST_AUTO_TEST_SUITE_END()
