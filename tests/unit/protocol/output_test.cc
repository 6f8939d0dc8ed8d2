#include "protocol/output.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

using namespace lockkeeper::protocol;

BOOST_AUTO_TEST_CASE(what_is_appended_stands_in_order) {
    output out;
    BOOST_TEST(out.empty());
    out.append("one ");
    out.append("");
    out.append("two");
    BOOST_TEST(out.view() == "one two");
    BOOST_TEST(out.size() == 7u);
}

BOOST_AUTO_TEST_CASE(growing_keeps_every_byte) {
    output out;
    std::string expected;
    for (int i = 0; i != 20'000; ++i) {
        const std::string word = std::to_string(i) + ",";
        out.append(word);
        expected += word;
    }
    BOOST_TEST((out.view() == expected));
}

BOOST_AUTO_TEST_CASE(a_piece_larger_than_any_block_fits) {
    output out;
    out.append("head ");
    const std::string large(1'000'000, 'x');
    out.append(large);
    BOOST_TEST((out.view() == "head " + large));
}

BOOST_AUTO_TEST_CASE(only_what_was_committed_counts) {
    output out;
    char* at = out.room(100);
    at[0] = 'a';
    at[1] = 'b';
    out.commit(at + 2);
    BOOST_TEST(out.view() == "ab");
}

BOOST_AUTO_TEST_CASE(taking_moves_the_bytes_out_without_a_copy) {
    output out;
    out.append("reply");
    const char* address = out.view().data();
    const output::chunk taken = out.take();
    BOOST_TEST(taken.view() == "reply");
    BOOST_TEST(static_cast<const void*>(taken.bytes.get()) == static_cast<const void*>(address));
    BOOST_TEST(out.empty());
    out.append("next");
    BOOST_TEST(out.view() == "next");
    BOOST_TEST(taken.view() == "reply");
}

BOOST_AUTO_TEST_CASE(clearing_keeps_a_small_block_and_gives_a_large_one_back) {
    output out;
    out.append("small");
    const char* address = out.view().data();
    out.clear();
    BOOST_TEST(out.empty());
    out.append("again");
    BOOST_TEST(static_cast<const void*>(out.view().data()) == static_cast<const void*>(address));
    out.append(std::string(100'000, 'x'));
    out.clear();
    BOOST_TEST(static_cast<const void*>(out.view().data()) == nullptr);
    out.append("and on");
    BOOST_TEST(out.view() == "and on");
}

BOOST_AUTO_TEST_CASE(what_was_written_last_can_be_taken_back) {
    output out;
    out.append("kept");
    const size_t mark = out.size();
    out.append(" not kept");
    out.truncate(mark);
    out.append("!");
    BOOST_TEST(out.view() == "kept!");
}

BOOST_AUTO_TEST_CASE(an_output_can_be_moved) {
    output first;
    first.append("bytes");
    output second = std::move(first);
    BOOST_TEST(second.view() == "bytes");
    output third;
    third.append("others");
    third = std::move(second);
    BOOST_TEST(third.view() == "bytes");
}
