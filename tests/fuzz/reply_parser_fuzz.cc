/// Any bytes of a master: no crash, the same replies and the same error however they are cut, and
/// what was understood reads the same after it was written again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/transcript.hh"

namespace {

using namespace lockkeeper;
using namespace lockkeeper::fuzz;

constexpr protocol::limits tight{.reply_depth_max = 3,
                                 .reply_elements_max = 4,
                                 .reply_values_max = 8,
                                 .reply_bulk_bytes_max = 12,
                                 .reply_bytes_max = 64,
                                 .reply_line_bytes_max = 10,
                                 .reply_double_bytes_max = 5,
                                 .reply_big_number_bytes_max = 8};

void same_however_cut(std::string_view input, const protocol::limits& limits) {
    const auto whole = transcript_of_replies(input, uncut(input.size()), limits);
    require(transcript_of_replies(input, cut_by_content(input), limits) == whole,
            "any cut, same result");
    if (input.size() <= 64) {
        require(transcript_of_replies(input, cut_everywhere(input.size()), limits) == whole,
                "byte by byte, same result");
    }
}

std::string written(const protocol::reply& value, protocol::version spoken) {
    protocol::output out;
    protocol::reply_writer(out, spoken).value(value);
    return std::string(out.view());
}

/// Writing may clean a text once (control bytes), never twice. A reply in RESP2 has fewer types,
/// but it is still one reply.
void survives_writing(std::string_view input) {
    protocol::reply_parser parser;
    if (parser.parse(input).outcome != protocol::reply_outcome::reply) {
        return;
    }
    const protocol::reply first = parser.take();
    for (const auto spoken : {protocol::version::resp2, protocol::version::resp3}) {
        const std::string once = written(first, spoken);
        protocol::reply_parser second({.reply_elements_max = 128 * 1024});
        const auto [outcome, consumed] = second.parse(once);
        require(outcome == protocol::reply_outcome::reply, "what we write can be read");
        require(consumed == once.size(), "one reply is one reply");
        require(written(second.take(), spoken) == once, "written twice, same bytes");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const bool is_tight = size != 0 && (data[size - 1] & 1) != 0;
    same_however_cut(input, is_tight ? tight : protocol::limits{});
    survives_writing(input);
    return 0;
}
