#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/limits.hh"
#include "protocol/request.hh"

namespace lockkeeper::protocol {

enum class request_outcome : std::uint8_t {
    request,    ///< one command is complete: see request_parser::request()
    need_more,  ///< the bytes end within a command (or there are none)
    broken,     ///< the stream makes no sense any more: answer error(), then close
};

struct request_result {
    request_outcome outcome;
    /// Bytes at the front of the unread buffer that the parser is done with. Counts for every
    /// outcome: commands that want no answer (an empty line, `*0`) are consumed on the way.
    std::size_t consumed;
};

/// Cuts a stream of client bytes into commands: arrays of bulks, and inline commands typed by hand.
/// One per connection, used by the session that owns the bytes; no I/O, no copy of an argument.
///
///     auto [outcome, consumed] = parser.parse(unread);
///     ... use parser.request() while `unread` still stands ...
///     unread.remove_prefix(consumed);
///
/// Invariant: however a stream is cut into calls, the same commands (and the same error) come out.
/// The caller drops exactly `consumed` bytes after each call, and appends what it reads. The buffer
/// may move in memory between calls: while a command is incomplete only offsets are remembered, and
/// bytes that were looked at once are not looked at again.
class request_parser {
public:
    explicit request_parser(const limits& bounds = {});
    request_parser(const request_parser&) = delete;
    request_parser& operator=(const request_parser&) = delete;

    /// Takes the next command off the front of `unread`. After `broken` it stays broken.
    request_result parse(std::string_view unread);

    /// The command of the last `request` outcome; for how long it is good, see protocol/request.hh.
    protocol::request request() const { return _request; }

    /// After `broken`: the text for the client, as Redis words it, to be sent after "ERR ".
    std::string_view error() const { return _error; }

    /// After `need_more`: at least so many more bytes must come before the command can be complete.
    /// A hint for the size of a read; never memory to set aside, for the client has merely claimed
    /// it.
    std::size_t wanted() const { return _wanted; }

    /// Stricter limits hold until the client has said who it is. Starts as true; a listener that
    /// wants a password says false. Counts from the next header on: do not parse beyond an AUTH
    /// command before its verdict is known.
    void set_authenticated(bool authenticated);

private:
    enum class phase : std::uint8_t { idle, count_line, bulk_line, bulk_body, inline_line, broken };
    enum class step : std::uint8_t { complete, nothing, need_more, broken };
    struct slice {
        std::size_t offset;
        std::size_t length;
    };
    /// Commands of so many arguments, each of at most two digits of length, take the short road.
    static constexpr std::size_t plain_arguments = 16;
    static constexpr std::size_t plain_bulk_bytes = 99;

    [[gnu::noinline]] request_result parse_any(std::string_view unread);
    step advance(std::string_view rest);
    step read_inline(std::string_view rest);
    step read_count(std::string_view rest);
    step read_bulks(std::string_view rest);
    step read_bulk_length(std::string_view rest);
    step find_line_end(std::string_view rest, char terminator, std::size_t bytes_max,
                       const char* too_big);
    step fail(std::string text);
    void forget();

    limits _limits;
    bool _authenticated = true;
    phase _phase = phase::idle;
    std::size_t _plain_arguments_max;  ///< 0: the short road is closed
    protocol::request _request;
    std::array<std::string_view, plain_arguments> _plain;

    // The incomplete command. Offsets count from its first byte.
    std::size_t _at = 0;             ///< where the line or body we are in begins
    std::size_t _seen = 0;           ///< the line's end is not before this offset
    std::size_t _line_end = 0;       ///< where find_line_end() found it
    std::size_t _arguments_due = 0;  ///< still to come, the current one included
    std::size_t _bulk_length = 0;
    std::size_t _wanted = 0;
    std::vector<slice> _slices;

    std::vector<std::string_view> _views;
    std::string _unquoted;  ///< arguments of an inline command that had quotes or escapes
    std::string _error;
};

}  // namespace lockkeeper::protocol
