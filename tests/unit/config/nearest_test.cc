#include "config/nearest.hh"

#include <array>
#include <boost/test/unit_test.hpp>

using lockkeeper::config::nearest;

namespace {
constexpr std::array<std::string_view, 4> words = {"address", "port", "backlog", "redis_version"};
}

BOOST_AUTO_TEST_CASE(a_swapped_or_missing_letter_finds_the_word) {
    BOOST_TEST(nearest("prt", words) == "port");
    BOOST_TEST(nearest("adress", words) == "address");
    BOOST_TEST(nearest("redis-version", words) == "redis_version");
}

BOOST_AUTO_TEST_CASE(a_word_that_is_far_from_all_finds_none) {
    BOOST_TEST(nearest("masters", words).empty());
    BOOST_TEST(nearest("", words).empty());
    BOOST_TEST(nearest("port", std::span<const std::string_view>{}).empty());
}
