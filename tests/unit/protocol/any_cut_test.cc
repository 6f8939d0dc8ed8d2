/// Every input of the fuzzers' corpus, cut at every byte: the pieces say the same as the whole.

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/transcript.hh"

using namespace lockkeeper::fuzz;
using lockkeeper::protocol::limits;

namespace {

struct named_input {
    std::string name;
    std::string bytes;
};

std::vector<named_input> corpus(const std::string& folder) {
    std::vector<named_input> inputs;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(LOCKKEEPER_CORPUS_DIR) / folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        inputs.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
    }
    return inputs;
}

/// Whole, byte by byte, and in two pieces and in three at every place.
template <typename Transcript>
void check_every_cut(const named_input& input, Transcript transcript) {
    const std::size_t bytes = input.bytes.size();
    const std::string whole = transcript(input.bytes, uncut(bytes));
    BOOST_TEST((transcript(input.bytes, cut_everywhere(bytes)) == whole),
               input.name << " byte by byte");
    BOOST_TEST((transcript(input.bytes, cut_by_content(input.bytes)) == whole),
               input.name << " in pieces");
    for (std::size_t first = 0; first <= bytes; ++first) {
        BOOST_TEST((transcript(input.bytes, cut_once(bytes, first)) == whole),
                   input.name << " cut at " << first);
        // The second cut close by: within the same header, line end or short argument.
        for (std::size_t second = first; second <= bytes && second - first <= 8; ++second) {
            BOOST_TEST((transcript(input.bytes, cuts{first, second, bytes}) == whole),
                       input.name << " cut at " << first << " and " << second);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(requests_are_the_same_however_cut) {
    const auto inputs = corpus("request_parser");
    BOOST_TEST(inputs.size() >= 60u);
    const limits tight{
        .arguments_max = 3, .bulk_bytes_max = 6, .inline_bytes_max = 10, .header_bytes_max = 4};
    for (const client& who : {client{}, client{.authenticated = false}, client{.limits = tight}}) {
        for (const named_input& input : inputs) {
            check_every_cut(input, [&](std::string_view bytes, const cuts& pieces) {
                return transcript_of_requests(bytes, pieces, who);
            });
        }
    }
}

BOOST_AUTO_TEST_CASE(inline_commands_are_the_same_however_cut) {
    const auto lines = corpus("inline_splitter");
    BOOST_TEST(lines.size() >= 15u);
    for (const named_input& line : lines) {
        for (const std::string end : {"\r\n", "\n", "\r\nPING\r\n"}) {
            check_every_cut({line.name, line.bytes + end},
                            [](std::string_view bytes, const cuts& pieces) {
                                return transcript_of_requests(bytes, pieces, client{});
                            });
        }
    }
}

BOOST_AUTO_TEST_CASE(replies_are_the_same_however_cut) {
    const auto inputs = corpus("reply_parser");
    BOOST_TEST(inputs.size() >= 40u);
    const limits tight{.reply_depth_max = 2,
                       .reply_elements_max = 3,
                       .reply_values_max = 5,
                       .reply_bulk_bytes_max = 10,
                       .reply_bytes_max = 30,
                       .reply_line_bytes_max = 8,
                       .reply_double_bytes_max = 4,
                       .reply_big_number_bytes_max = 10};
    for (const limits& bounds : {limits{}, tight}) {
        for (const named_input& input : inputs) {
            check_every_cut(input, [&](std::string_view bytes, const cuts& pieces) {
                return transcript_of_replies(bytes, pieces, bounds);
            });
        }
    }
}
