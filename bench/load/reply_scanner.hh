#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockkeeper::bench {

/// What a lock client wants to know of a reply; a view into the bytes that were scanned.
struct scanned_reply {
    enum class kind : std::uint8_t { text, error, integer, null, array };

    kind what = kind::null;
    std::int64_t integer = 0;
    std::string_view text{};     ///< of a simple string, bulk or error
    std::uint32_t elements = 0;  ///< of an array
    /// The first elements of an array, where they are integers; 0 for others.
    std::array<std::int64_t, 3> numbers{};
};

struct scan_result {
    enum class outcome : std::uint8_t {
        complete,
        incomplete,  ///< scan again from the same start when there are more bytes
        broken,      ///< not RESP
    };

    outcome what = outcome::incomplete;
    std::size_t consumed = 0;  ///< if complete
};

/// Finds the reply at the front of `bytes` without copying or keeping anything: replies to lock
/// commands are short, so looking again at a cut one is cheaper than remembering where it was cut.
/// For the load itself; what is long (INFO) is read with protocol::reply_parser.
scan_result scan_reply(std::string_view bytes, scanned_reply& reply);

}  // namespace lockkeeper::bench
