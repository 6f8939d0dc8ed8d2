#include "proxy/idioms/lua_lexer.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::proxy::idioms;
using namespace std::string_literals;

namespace {

/// Tokens with a bar between them, or "refused".
std::string row(std::string_view text) {
    const auto tokens = lua_tokens(text, 100);
    if (!tokens) {
        return "refused";
    }
    std::string out;
    for (const auto& token : *tokens) {
        out += out.empty() ? "" : "|";
        out += token.is_string() ? "'" + lua_string_value(token) + "'" : std::string(token.text);
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(names_numbers_and_symbols_are_told_apart) {
    BOOST_TEST(row("local a1=b.c[2]~=3 ..d") == "local|a1|=|b|.|c|[|2|]|~=|3|..|d");
    BOOST_TEST(row("x = a..b...c == 1.5e-3 <= 0xFF") == "x|=|a|..|b|...|c|==|1.5e-3|<=|0xFF");
}

BOOST_AUTO_TEST_CASE(a_number_takes_all_that_sticks_to_it) {
    // Lua reads it so too, and then finds that it is no number.
    BOOST_TEST(row("3..d") == "3..d");
    BOOST_TEST(row("3 ..d") == "3|..|d");
}

BOOST_AUTO_TEST_CASE(comments_are_blank) {
    BOOST_TEST(row("a -- b\nc") == "a|c");
    BOOST_TEST(row("a --[[ b\n b ]] c") == "a|c");
    BOOST_TEST(row("a --[==[ b ]] ]=] \n ]==] c") == "a|c");
    BOOST_TEST(row("a --[=x\nc --") == "a|c");
    BOOST_TEST(row("a --[[ b") == "refused");
}

BOOST_AUTO_TEST_CASE(strings_mean_the_same_however_they_are_quoted) {
    BOOST_TEST(row(R"('a' "a" [[a]] [=[a]=] '\97' '\a')") == "'a'|'a'|'a'|'a'|'a'|'\a'");
    BOOST_TEST(row(R"("it's" 'it\'s')") == "'it's'|'it's'");
    BOOST_TEST(row(R"('\065\10\0')") == "'A\n\0'"s);
    BOOST_TEST(row("'a\\\r\nb'") == "'a\nb'");
    BOOST_TEST(row("[[\r\na\r\nb]]") == "'a\nb'");
    BOOST_TEST(row(R"('\q')") == "'q'");
}

BOOST_AUTO_TEST_CASE(what_lua_cannot_read_is_refused) {
    BOOST_TEST(row("'a") == "refused");
    BOOST_TEST(row("'a\nb'") == "refused");
    BOOST_TEST(row("'a\\") == "refused");
    BOOST_TEST(row("'\\256'") == "refused");
    BOOST_TEST(row("[[a") == "refused");
    BOOST_TEST(row("a ! b") == "refused");
    BOOST_TEST(row("a ~ b") == "refused");
    BOOST_TEST(row("\xEF\xBB\xBF"
                   "a") == "refused");
    BOOST_TEST(row("a\0b"s) == "refused");
}

BOOST_AUTO_TEST_CASE(too_many_tokens_are_refused) {
    BOOST_TEST(lua_tokens("a a a", 3).has_value());
    BOOST_TEST(!lua_tokens("a a a a", 3).has_value());
}
