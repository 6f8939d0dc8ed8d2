#include "config/text.hh"

#include <yaml-cpp/yaml.h>

#include <boost/test/unit_test.hpp>

using lockkeeper::config::quoted;

BOOST_AUTO_TEST_CASE(text_is_quoted_as_people_write_it) {
    BOOST_TEST(quoted("") == "''");
    BOOST_TEST(quoted("lock:*") == "'lock:*'");
    BOOST_TEST(quoted("it's") == "'it''s'");
    BOOST_TEST(quoted("a\\b\"") == "'a\\b\"'");
    BOOST_TEST(quoted("a\nb\"\\") == "\"a\\x0ab\\\"\\\\\"");
}

BOOST_AUTO_TEST_CASE(every_text_reads_back_as_it_was) {
    const std::string_view texts[] = {
        "",    "null",   "~",         "# a",   "a: b", "''",           "'",  "\\n",
        " a ", "a\n\nb", "\t'\"\\\r", "a\x7f", "[x]*", "\xc3\xa4\x01", "&a", "\xe2\x82\xac"};
    for (const std::string_view text : texts) {
        BOOST_TEST(YAML::Load(quoted(text)).as<std::string>() == text);
    }
    std::string all;
    for (char c = 0x01; c < 0x7f; ++c) {
        const std::string one(1, c);
        BOOST_TEST(YAML::Load(quoted(one)).as<std::string>() == one);
        all += c;
    }
    BOOST_TEST(YAML::Load(quoted(all)).as<std::string>() == all);
}
