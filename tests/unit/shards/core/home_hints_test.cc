#include "shards/core/home_hints.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr instant start = start_of_time + 1000s;

lock_key key(std::string_view name, uint32_t database = 0) {
    return {database, name, key_hash{1}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_hint_lasts_as_long_as_its_lease) {
    home_hints hints;
    hints.note(key("k"), "you", start + 5s, start);
    BOOST_TEST((hints.find(key("k"), start + 4s) == "you"));
    BOOST_TEST(!hints.find(key("k"), start + 5s));
    BOOST_TEST(hints.size() == 0u);
}

BOOST_AUTO_TEST_CASE(databases_are_separate) {
    home_hints hints;
    hints.note(key("k"), "you", start + 5s, start);
    BOOST_TEST(!hints.find(key("k", 1), start));
}

BOOST_AUTO_TEST_CASE(a_later_hint_replaces_an_earlier_one) {
    home_hints hints;
    hints.note(key("k"), "you", start + 5s, start);
    hints.note(key("k"), "another", start + 9s, start);
    BOOST_TEST((hints.find(key("k"), start + 6s) == "another"));
    hints.note(key("k"), "nobody", start, start);
    BOOST_TEST(!hints.find(key("k"), start));
}

BOOST_AUTO_TEST_CASE(a_wrong_hint_is_dropped) {
    home_hints hints;
    hints.note(key("k"), "you", start + 5s, start);
    hints.drop(key("k"));
    BOOST_TEST(!hints.find(key("k"), start));
}

BOOST_AUTO_TEST_CASE(who_said_that_it_is_not_the_home_is_not_asked_again_but_remembered) {
    home_hints hints;
    hints.note(key("k"), "you", start + 5s, start);
    BOOST_TEST(!hints.doubted(key("k"), start));
    hints.doubt(key("k"), "you", start);
    BOOST_TEST(!hints.find(key("k"), start));
    // A vote of its that one master still has says nothing new.
    BOOST_TEST((hints.doubted(key("k"), start) == "you"));
    BOOST_TEST(!hints.doubted(key("other"), start));
    BOOST_TEST(!hints.doubted(key("k"), start + 1h));
}

BOOST_AUTO_TEST_CASE(a_doubt_ends_with_the_next_hint) {
    home_hints hints;
    hints.doubt(key("k"), "you", start);
    hints.note(key("k"), "another", start + 5s, start);
    BOOST_TEST((hints.find(key("k"), start) == "another"));
    BOOST_TEST(!hints.doubted(key("k"), start));
}

BOOST_AUTO_TEST_CASE(hints_do_not_grow_without_end) {
    home_hints hints(100);
    for (int i = 0; i < 1000; ++i) {
        hints.note(key("k" + std::to_string(i)), "you", start + 5s, start);
        BOOST_TEST(hints.size() <= 100u);
    }
    BOOST_TEST((hints.find(key("k999"), start) == "you"));
}

BOOST_AUTO_TEST_CASE(hints_that_are_over_make_room_first) {
    home_hints hints(2);
    hints.note(key("old"), "you", start + 1s, start);
    hints.note(key("new"), "you", start + 9s, start);
    hints.note(key("newer"), "you", start + 9s, start + 2s);
    BOOST_TEST(hints.find(key("new"), start + 2s).has_value());
    BOOST_TEST(hints.find(key("newer"), start + 2s).has_value());
}
