#include "proxy/idioms/reply_map.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::proxy::idioms;

namespace {

/// As in the table of reply_map.hh.
std::string shown(const script_reply& reply) {
    using kind = script_reply::kind;
    const std::string text(reply.text);
    const std::string number = ":" + std::to_string(reply.number);
    switch (reply.what) {
        case kind::nil:
            return "nil";
        case kind::integer:
            return number;
        case kind::status:
            return "+" + text;
        case kind::text:
            return '"' + text + '"';
        case kind::number_text:
            return '"' + std::to_string(reply.number) + '"';
        case kind::colon_number_text:
            return '"' + number + '"';
        case kind::error:
            return "-ERR " + text;
        case kind::integer_pair:
            return "[" + number + ", :" + std::to_string(reply.second) + "]";
        case kind::text_integer_pair:
            return "[\"" + text + "\", " + number + "]";
        case kind::nil_integer_pair:
            return "[nil, " + number + "]";
    }
    return {};
}

std::string reply_of(reply_map map, const result& ended) {
    return shown(reply_to(map, ended));
}

}  // namespace

BOOST_AUTO_TEST_CASE(releases_of_one_string_key_answer_in_seven_ways) {
    const result released{.what = outcome::released};
    const result absent{.what = outcome::absent};
    const result refused{.what = outcome::refused};
    const struct {
        reply_map map;
        std::string released, absent, refused;
    } wanted[] = {
        {reply_map::one_zero, ":1", ":0", ":0"},
        {reply_map::one_nil, ":1", "nil", "nil"},
        {reply_map::one_zero_minus, ":1", ":-1", ":0"},
        {reply_map::zero_one_two, ":0", ":1", ":1"},
        {reply_map::ok_nil, "+OK", "nil", "nil"},
        {reply_map::ok_one_error, ":1", "+OK", "-ERR ERROR"},
        {reply_map::true_false, "\"true\"", "\"false\"", "\"false\""},
    };
    for (const auto& each : wanted) {
        BOOST_TEST_CONTEXT(static_cast<int>(each.map)) {
            BOOST_TEST(reply_of(each.map, released) == each.released);
            BOOST_TEST(reply_of(each.map, absent) == each.absent);
            BOOST_TEST(reply_of(each.map, refused) == each.refused);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_extension_that_finds_no_expiry_has_its_own_answer_in_one_map) {
    BOOST_TEST(reply_of(reply_map::zero_one_two, {.what = outcome::untimed}) == ":2");
    BOOST_TEST(reply_of(reply_map::one_zero, {.what = outcome::untimed}) == ":0");
}

BOOST_AUTO_TEST_CASE(a_reentrant_acquire_answers_nil_or_the_time_left) {
    BOOST_TEST(reply_of(reply_map::nil_number, {.what = outcome::granted}) == "nil");
    BOOST_TEST(reply_of(reply_map::nil_number, {.what = outcome::renewed}) == "nil");
    BOOST_TEST(reply_of(reply_map::nil_number, {.what = outcome::refused, .number = 1234}) ==
               ":1234");
    BOOST_TEST(reply_of(reply_map::nil_number, {.what = outcome::refused, .number = -1}) == ":-1");
    BOOST_TEST(reply_of(reply_map::nil_number, {.what = outcome::forbidden, .text = "NO"}) ==
               "-ERR NO");
}

BOOST_AUTO_TEST_CASE(a_fenced_acquire_answers_a_pair) {
    BOOST_TEST(reply_of(reply_map::fenced_pair, {.what = outcome::granted, .fence = 42}) ==
               "[:-1, :42]");
    BOOST_TEST(reply_of(reply_map::fenced_pair, {.what = outcome::refused, .number = 99}) ==
               "[:99, :-1]");
}

BOOST_AUTO_TEST_CASE(releases_of_hash_locks_differ_in_what_absent_and_left_mean) {
    const struct {
        reply_map map;
        std::string absent, left;
    } wanted[] = {
        {reply_map::release_nil, "nil", ":0"},
        {reply_map::release_one, ":1", ":0"},
        {reply_map::leave_nil, "nil", ":1"},
        {reply_map::leave_one, ":1", ":1"},
    };
    for (const auto& each : wanted) {
        BOOST_TEST(reply_of(each.map, {.what = outcome::absent}) == each.absent);
        BOOST_TEST(reply_of(each.map, {.what = outcome::left}) == each.left);
        BOOST_TEST(reply_of(each.map, {.what = outcome::refused}) == "nil");
        BOOST_TEST(reply_of(each.map, {.what = outcome::kept}) == ":0");
        BOOST_TEST(reply_of(each.map, {.what = outcome::released}) == ":1");
        BOOST_TEST(reply_of(each.map, {.what = outcome::latched_kept}) == ":0");
        BOOST_TEST(reply_of(each.map, {.what = outcome::latched_released}) == ":1");
    }
}

BOOST_AUTO_TEST_CASE(counts_and_times_come_out_as_the_script_gives_them) {
    BOOST_TEST(reply_of(reply_map::count, {.what = outcome::released, .number = 3}) == ":3");
    BOOST_TEST(reply_of(reply_map::count, {.what = outcome::refused, .number = 3}) == ":0");
    BOOST_TEST(reply_of(reply_map::number_or_nil, {.what = outcome::refused}) == "nil");
    BOOST_TEST(reply_of(reply_map::number_or_zero, {.what = outcome::found, .number = -1}) == ":0");
    BOOST_TEST(reply_of(reply_map::number_or_gone, {.what = outcome::absent}) == ":-3");
    BOOST_TEST(reply_of(reply_map::seconds_or_error, {.what = outcome::found, .number = 1499}) ==
               ":1");
    BOOST_TEST(reply_of(reply_map::seconds_or_error, {.what = outcome::found, .number = 1500}) ==
               ":2");
    BOOST_TEST(reply_of(reply_map::seconds_or_error, {.what = outcome::found, .number = -1}) ==
               ":-1");
    BOOST_TEST(reply_of(reply_map::value_ttl_pair, {.what = outcome::absent}) == "[nil, :-2]");
    BOOST_TEST(reply_of(reply_map::value_ttl_pair,
                        {.what = outcome::found, .number = 7, .text = "t"}) == "[\"t\", :7]");
}

BOOST_AUTO_TEST_CASE(semaphores_mix_numbers_and_texts) {
    BOOST_TEST(reply_of(reply_map::permit_id, {.what = outcome::granted, .text = "id"}) ==
               "\"id\"");
    BOOST_TEST(reply_of(reply_map::permit_ok, {.what = outcome::granted, .text = "id"}) ==
               "\"OK\"");
    BOOST_TEST(reply_of(reply_map::permit_ok, {.what = outcome::refused, .number = 1700}) ==
               "\":1700\"");
    BOOST_TEST(reply_of(reply_map::permit_ok, {.what = outcome::refused, .number = -1}) == "nil");
    BOOST_TEST(reply_of(reply_map::drained, {.what = outcome::found, .number = 5}) == "\"5\"");
    BOOST_TEST(reply_of(reply_map::drained, {.what = outcome::absent}) == ":0");
    BOOST_TEST(reply_of(reply_map::free_or_zero, {.what = outcome::lapsed, .number = 5}) == ":5");
    BOOST_TEST(reply_of(reply_map::free_or_zero, {.what = outcome::found, .number = 5}) == "\"5\"");
    BOOST_TEST(reply_of(reply_map::free_or_nil, {.what = outcome::absent}) == "nil");
}

BOOST_AUTO_TEST_CASE(some_scripts_answer_nothing_whatever_happened) {
    for (int i = 0; i <= static_cast<int>(outcome::found); ++i) {
        BOOST_TEST(reply_of(reply_map::nothing, {.what = static_cast<outcome>(i), .number = 9}) ==
                   "nil");
    }
}
