#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/limits.hh"
#include "protocol/reply.hh"

namespace lockkeeper::protocol {

enum class reply_outcome : std::uint8_t {
    reply,      ///< one is complete: take() it
    need_more,  ///< the bytes end within a reply (or there are none)
    broken,     ///< not RESP, or beyond a limit: close the connection, error() says why for the log
};

struct reply_result {
    reply_outcome outcome;
    /// Bytes at the front of the unread buffer that the parser is done with, for every outcome.
    std::size_t consumed;
};

/// Builds replies from a master's bytes, RESP2 and RESP3 alike. One per connection to a master. The
/// master may be hostile: depth, widths, lengths and the whole are bounded, no memory is set aside
/// for a claimed length, and nested values live on a stack of our own, not on the machine's.
///
/// Invariant: however a stream is cut into calls, the same replies (and the same error) come out.
/// The caller drops exactly `consumed` bytes after each call and appends what it reads. A long bulk
/// is taken piece by piece, so the caller's buffer stays small.
///
/// Attributes are read and dropped: they annotate a reply, and nothing here asks for them. Streamed
/// types
/// (`$?`, `*?`) are refused: no Redis sends them, and they have no length to bound. A push may
/// stand between replies, never within one.
class reply_parser {
public:
    explicit reply_parser(const limits& bounds = {}) : _limits(bounds) {}

    /// Takes the next reply off the front of `unread`. After `broken` it stays broken.
    reply_result parse(std::string_view unread);

    /// The reply of the last `reply` outcome; once.
    reply take() { return std::move(_done); }

    std::string_view error() const { return _error; }

private:
    enum class step : std::uint8_t { value, unfinished, need_more, broken };
    /// An aggregate whose elements are still coming.
    struct frame {
        reply_kind kind;
        bool is_attribute;
        std::size_t due;
        std::vector<reply> items;
    };

    step advance(std::string_view rest);
    step read_line(std::string_view rest);
    step read_leaf(char type, std::string_view text);
    step read_number(std::string_view text);
    step read_length(char type, std::string_view text);
    step begin_bulk(char type, std::size_t length);
    step read_bulk(std::string_view rest);
    step begin_aggregate(char type, std::size_t count);
    step deliver(reply&& value);
    step fail(const char* why);
    std::size_t line_bytes_max(char type) const;
    void start_over();

    limits _limits;
    std::string_view _error;

    // The incomplete reply.
    std::size_t _consumed = 0;  ///< of the buffer given to this call
    std::size_t _seen = 0;      ///< the line's end is not before this offset of what is left
    std::size_t _values = 0;
    std::size_t _bytes = 0;
    bool _in_bulk = false;
    char _bulk_type = 0;
    std::size_t _bulk_due = 0;  ///< bytes of the body still to come, without its CRLF
    std::string _bulk;
    std::vector<frame> _stack;

    reply _done;
};

}  // namespace lockkeeper::protocol
