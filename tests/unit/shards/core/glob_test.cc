#include "shards/core/glob.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::shards;
using namespace std::string_view_literals;

namespace {

struct glob_case {
    std::string_view pattern;
    std::string_view text;
    bool matches;
};

/// As redis-server 7.0 answers to KEYS.
constexpr glob_case cases[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"**", "", false},
    {"?", "", false},
    {"*", "anything", true},
    {"**", "anything", true},
    {"?", "a", true},
    {"?", "ab", false},
    {"lock:*", "lock:", true},
    {"lock:*", "lock:1", true},
    {"lock:*", "Lock:1", false},
    {"*:lock", "a:b:lock", true},
    {"*:lock", "a:b:locks", false},
    {"a*b*c", "aXbYc", true},
    {"a*b*c", "abbc", true},
    {"a*b*c", "acb", false},
    {"*ab", "aab", true},
    {"*ab*", "xxabyy", true},
    {"a?c", "abc", true},
    {"a?c", "ac", false},
    {"[abc]x", "bx", true},
    {"[abc]x", "dx", false},
    {"[^abc]x", "dx", true},
    {"[^abc]x", "ax", false},
    {"[a-c]", "b", true},
    {"[c-a]", "b", true},
    {"[a-c]", "d", false},
    {"[^a-c]", "d", true},
    {"[a-c0-9]", "7", true},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\[a]", "[a]", true},
    {"a\\", "a\\", true},
    {"\\", "\\", true},
    {"[\\]]", "]", true},
    {"[\\a-c]", "-", true},
    {"[\\a-c]", "b", false},
    {"[]", "]", false},
    {"[]a]", "a]", false},
    {"[^]", "a", true},
    {"[^]a]", "xa]", true},
    {"[^", "a", true},
    {"[", "[", false},
    {"[a", "a", true},
    {"[a-", "-", true},
    {"[a-]", "^", true},
    {"[a-]", "b", false},
    {"[\\", "\\", true},
    {"[a-\xff]", "\xff", true},
    {"[a-\xff]", "b", false},
    {"[\x80-\xff]", "\x90", true},
    {"*[", "a[", false},
    {"\x00*"sv, "\x00"sv, true},
    {"a\x00*"sv, "a\x00z"sv, true},
    {"{*}:lock", "{a}:lock", true},
};

}  // namespace

BOOST_AUTO_TEST_CASE(patterns_match_what_redis_matches) {
    for (const auto& [pattern, text, matches] : cases) {
        BOOST_TEST(glob_match(pattern, text) == matches,
                   "pattern '" << pattern << "' text '" << text << "'");
    }
}

BOOST_AUTO_TEST_CASE(many_stars_cost_no_more_than_the_product_of_the_lengths) {
    std::string pattern;
    for (int i = 0; i < 1'000; ++i) {
        pattern += "a*";
    }
    pattern += 'b';
    BOOST_TEST(!glob_match(pattern, std::string(10'000, 'a')));
    BOOST_TEST(glob_match(pattern, std::string(10'000, 'a') + "b"));
}
