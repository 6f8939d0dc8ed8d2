/// Any bytes of a client: no crash, and the same commands and the same error however they are cut,
/// under the usual limits, before authentication, and with limits so tight that each of them is
/// met.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/transcript.hh"

namespace {

using namespace lockkeeper::fuzz;

constexpr lockkeeper::protocol::limits tight{.arguments_max = 4,
                                             .bulk_bytes_max = 12,
                                             .inline_bytes_max = 16,
                                             .header_bytes_max = 6,
                                             .unauthenticated_arguments_max = 2,
                                             .unauthenticated_bulk_bytes_max = 8};

void same_however_cut(std::string_view input, const client& who) {
    const auto whole = transcript_of_requests(input, uncut(input.size()), who);
    require(transcript_of_requests(input, cut_by_content(input), who) == whole,
            "any cut, same result");
    if (input.size() <= 64) {
        require(transcript_of_requests(input, cut_everywhere(input.size()), who) == whole,
                "byte by byte, same result");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const unsigned choice = size == 0 ? 0 : data[size - 1];
    same_however_cut(input, {.limits = (choice & 1) != 0 ? tight : lockkeeper::protocol::limits{},
                             .authenticated = (choice & 2) != 0});
    return 0;
}
