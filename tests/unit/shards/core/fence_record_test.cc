#include "shards/core/fence_record.hh"

#include <boost/test/unit_test.hpp>

#include "shards/core/fence_counter.hh"

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(what_is_written_reads_back) {
    for (const uint64_t ceiling :
         {uint64_t{0}, uint64_t{1}, fence_block, fences_by_clock(1'790'000'000), fence_limit}) {
        const auto again = parse_fence_record(show_fence_record(ceiling));
        BOOST_REQUIRE(again.has_value());
        BOOST_TEST(*again == ceiling);
    }
}

BOOST_AUTO_TEST_CASE(the_form_of_the_record_stays_for_later_versions_to_read) {
    BOOST_TEST(show_fence_record(1'876'951'040'000'000) ==
               "lockkeeper fences up to 1876951040000000 checksum 392be491ff043ce1\n");
}

BOOST_AUTO_TEST_CASE(a_record_says_what_is_wrong_with_it) {
    const auto problem = [](std::string_view text) { return parse_fence_record(text).error(); };
    BOOST_TEST(problem("") == "it is empty");
    BOOST_TEST(problem("1876951040000000\n") == "it is no record of fences");
    BOOST_TEST(problem("lockkeeper fences up to x") == "its number makes no sense");
    BOOST_TEST(problem("lockkeeper fences up to -1") == "its number makes no sense");
    BOOST_TEST(problem("lockkeeper fences up to 99999999999999999999") ==
               "its number makes no sense");
    BOOST_TEST(problem(show_fence_record(fence_limit + 1)) == "its number makes no sense");
    BOOST_TEST(problem("lockkeeper fences up to 5 checksum 0000000000000000\n") ==
               "its checksum is wrong");
}

BOOST_AUTO_TEST_CASE(a_record_that_is_cut_longer_or_has_one_other_byte_is_refused) {
    const std::string good = show_fence_record(1'876'951'040'000'000);
    for (size_t length = 0; length < good.size(); ++length) {
        BOOST_TEST(!parse_fence_record(good.substr(0, length)).has_value());
    }
    BOOST_TEST(!parse_fence_record(good + "\n").has_value());
    BOOST_TEST(!parse_fence_record(good + good).has_value());
    for (size_t at = 0; at < good.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string other = good;
            other[at] = static_cast<char>(other[at] ^ (1 << bit));
            BOOST_TEST(!parse_fence_record(other).has_value(), other);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_clock_gives_a_block_a_second_and_never_wraps) {
    BOOST_TEST(fences_by_clock(0) == 0u);
    BOOST_TEST(fences_by_clock(1) == fence_block);
    BOOST_TEST(fences_by_clock(1'790'000'000) < fence_limit);
    BOOST_TEST(fences_by_clock(uint64_t{1} << 33) == fence_limit);
    BOOST_TEST(fences_by_clock(UINT64_MAX) > fence_limit);
}
