#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "protocol/text.hh"

/// The few byte patterns that both writers are made of. Each writes at `at`, where the caller has
/// made room, and returns the end.
namespace lockkeeper::protocol::wire {

inline constexpr std::size_t crlf_bytes = 2;

/// A type byte, a length or count, and a CRLF.
inline constexpr std::size_t header_bytes_max = 1 + integer_text_max + crlf_bytes;

constexpr std::size_t bulk_bytes_max(std::size_t bytes) {
    return header_bytes_max + bytes + crlf_bytes;
}

inline char* put_crlf(char* at) {
    std::memcpy(at, "\r\n", crlf_bytes);
    return at + crlf_bytes;
}

inline char* put_bytes(char* at, std::string_view bytes) {
    if (!bytes.empty()) {
        std::memcpy(at, bytes.data(), bytes.size());
    }
    return at + bytes.size();
}

inline char* put_header(char* at, char type, std::uint64_t count) {
    *at++ = type;
    return put_crlf(write_integer(at, count));
}

inline char* put_bulk(char* at, std::string_view bytes) {
    return put_crlf(put_bytes(put_header(at, '$', bytes.size()), bytes));
}

}  // namespace lockkeeper::protocol::wire
