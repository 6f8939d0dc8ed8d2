#include "protocol/inline_splitter.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace lockkeeper::protocol;
using namespace std::string_view_literals;

namespace {

using words = std::vector<std::string>;

struct split {
    split_outcome outcome;
    words found;
};

split cut(std::string_view line, std::size_t words_max = 100) {
    std::string storage = "left over";
    std::vector<std::string_view> views{"left", "over"};
    const split_outcome outcome = split_inline(line, words_max, storage, views);
    return {outcome, words(views.begin(), views.end())};
}

void check_words(std::string_view line, const words& expected) {
    const split result = cut(line);
    BOOST_TEST((result.outcome == split_outcome::words), "'" << line << "'");
    BOOST_TEST(result.found == expected, boost::test_tools::per_element());
}

void check_unbalanced(std::string_view line) {
    BOOST_TEST((cut(line).outcome == split_outcome::unbalanced_quotes), "'" << line << "'");
}

}  // namespace

BOOST_AUTO_TEST_CASE(blanks_and_tabs_part_words) {
    check_words("PING", {"PING"});
    check_words("  SET \t k   v ", {"SET", "k", "v"});
    check_words("PI\rNG", {"PI", "NG"});
}

BOOST_AUTO_TEST_CASE(a_line_without_words_has_none) {
    check_words("", {});
    check_words(" \t \r\v\f ", {});
}

BOOST_AUTO_TEST_CASE(vertical_tabs_and_form_feeds_are_skipped_before_a_word_but_do_not_end_one) {
    check_words("\v\fECHO\va\fb", {"ECHO\va\fb"});
}

BOOST_AUTO_TEST_CASE(double_quotes_hold_blanks_and_escapes) {
    check_words(R"(SET "a b" "")", {"SET", "a b", ""});
    check_words(R"("\n\r\t\b\a\q\"\\")", {"\n\r\t\b\aq\"\\"});
    check_words(R"("\x41\xfF\x00")", {std::string("A\xff\0", 3)});
    check_words(R"("it's")", {"it's"});
}

BOOST_AUTO_TEST_CASE(an_escape_that_is_not_two_hex_digits_is_the_letter_x) {
    check_words(R"("\x4")", {"x4"});
    check_words(R"("\xzz")", {"xzz"});
    check_words(R"("\x4g")", {"x4g"});
    check_words(R"("\x")", {"x"});
}

BOOST_AUTO_TEST_CASE(single_quotes_know_only_the_escaped_quote) {
    check_words(R"('a b' '')", {"a b", ""});
    check_words(R"('it\'s' '\n' '\x41' '"' '\\.')", {"it's", "\\n", "\\x41", "\"", "\\\\."});
    check_unbalanced(R"('\\')");
}

BOOST_AUTO_TEST_CASE(outside_quotes_a_backslash_is_a_backslash) {
    check_words(R"(a\nb \ c)", {R"(a\nb)", R"(\)", "c"});
    check_unbalanced(R"(\")");
}

BOOST_AUTO_TEST_CASE(a_quote_may_begin_within_a_word) {
    check_words(R"(a"b c" d'e')", {"ab c", "de"});
}

BOOST_AUTO_TEST_CASE(a_closing_quote_must_end_the_word) {
    check_unbalanced(R"("a"b)");
    check_unbalanced(R"('a'b)");
    check_unbalanced(R"("a"'b')");
    check_unbalanced(R"(a"b"c)");
    check_words("\"a\"\vb", {"a", "b"});
}

BOOST_AUTO_TEST_CASE(a_quote_must_be_closed) {
    for (const auto line :
         {"\""sv, "'"sv, "a \"b"sv, "a 'b"sv, "\"a\\"sv, "\"a\\\""sv, "'a\\'"sv, "\"\\x4"sv}) {
        check_unbalanced(line);
    }
}

BOOST_AUTO_TEST_CASE(a_nul_is_a_byte_as_any_other) {
    check_words("a\0b \0"sv, {std::string("a\0b", 3), std::string("\0", 1)});
    check_unbalanced("\"a\"\0"sv);
}

BOOST_AUTO_TEST_CASE(words_are_counted) {
    BOOST_TEST((cut("a b", 3).outcome == split_outcome::words));
    BOOST_TEST((cut("a b c ", 3).outcome == split_outcome::words));
    BOOST_TEST((cut("a b c d", 3).outcome == split_outcome::too_many_words));
}

BOOST_AUTO_TEST_CASE(words_without_quotes_are_not_copied) {
    const std::string line = "GET plain";
    std::string storage;
    std::vector<std::string_view> views;
    split_inline(line, 10, storage, views);
    BOOST_TEST(storage.empty());
    BOOST_TEST(static_cast<const void*>(views.at(1).data()) ==
               static_cast<const void*>(line.data() + 4));
}

BOOST_AUTO_TEST_CASE(unquoted_words_stay_where_they_are_while_others_are_added) {
    std::string line;
    words expected;
    for (int i = 0; i != 1000; ++i) {
        expected.push_back("word " + std::to_string(i));
        line += "\"" + expected.back() + "\" ";
    }
    std::string storage;
    std::vector<std::string_view> views;
    BOOST_TEST((split_inline(line, 1000, storage, views) == split_outcome::words));
    BOOST_TEST(words(views.begin(), views.end()) == expected, boost::test_tools::per_element());
}
