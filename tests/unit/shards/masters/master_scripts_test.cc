#include "shards/masters/master_scripts.hh"

#include <boost/test/unit_test.hpp>
#include <set>
#include <stdexcept>

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(the_texts_of_two_incarnations_have_nothing_in_common) {
    const auto one = script_texts({.run_id = "aaaa", .fingerprint = "ffff"});
    const auto other = script_texts({.run_id = "bbbb", .fingerprint = "ffff"});
    std::set<std::string> all(one.begin(), one.end());
    all.insert(other.begin(), other.end());
    BOOST_TEST(all.size() == 2 * master_scripts_count);
    for (const auto& text : one) {
        BOOST_TEST(text.find("aaaa") != std::string::npos, text);
        BOOST_TEST(text.find('@') == std::string::npos, text);
    }
}

BOOST_AUTO_TEST_CASE(what_a_master_says_about_itself_does_not_become_lua) {
    for (const char* bad : {"", "a'", "a b", "a\n", "\\", "a]]"}) {
        BOOST_CHECK_THROW(script_texts({.run_id = bad, .fingerprint = "ffff"}),
                          std::invalid_argument);
        BOOST_CHECK_THROW(script_texts({.run_id = "aaaa", .fingerprint = bad}),
                          std::invalid_argument);
    }
}
