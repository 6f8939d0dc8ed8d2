#pragma once

#include <cstddef>

namespace lockkeeper::protocol {

/// What the parsers put up with. A peer may claim any number before it has sent a single byte of
/// it, so every number a peer can name has an upper bound here, and nothing is allocated for a mere
/// claim.
struct limits {
    // ---- what clients send
    // -------------------------------------------------------------------------

    /// Arguments of one command, its name included. The longest honest command locks a few hundred
    /// keys at once; Redis would take 2^31 - 1 and let one client make the server keep all of them.
    std::size_t arguments_max = 1024;

    /// Bytes of one argument. Keys, owner tokens and lock scripts are far shorter; Redis takes 512
    /// MiB.
    std::size_t bulk_bytes_max = 64 * 1024;

    /// Bytes of an inline command before its newline: the limit of Redis.
    std::size_t inline_bytes_max = 64 * 1024;

    /// Bytes of a `*count` or `$length` line before its CR: the limit of Redis, so that even
    /// nonsense gets the answer that Redis would give.
    std::size_t header_bytes_max = 64 * 1024;

    /// Arguments before the client has said who it is: HELLO with AUTH and SETNAME fits, as in
    /// Redis.
    std::size_t unauthenticated_arguments_max = 10;

    /// Bytes of one argument before the client has said who it is, as in Redis.
    std::size_t unauthenticated_bulk_bytes_max = 16 * 1024;

    // ---- what masters answer
    // -----------------------------------------------------------------------

    /// Aggregates within aggregates. Our own questions need three; the destructor of a reply
    /// recurses this deep, so the bound also guards the stack.
    std::size_t reply_depth_max = 128;

    /// Elements of one aggregate (a map of n pairs has 2n). The longest answer we ask for is a SCAN
    /// page.
    std::size_t reply_elements_max = 64 * 1024;

    /// Values of one whole reply, at all depths together: wide and deep must not multiply.
    std::size_t reply_values_max = 128 * 1024;

    /// Bytes of one bulk, bulk error or verbatim string. INFO is the longest text we ask for (~10
    /// KiB).
    std::size_t reply_bulk_bytes_max = 1024 * 1024;

    /// Bytes of one whole reply as sent, framing included.
    std::size_t reply_bytes_max = 4 * 1024 * 1024;

    /// Bytes of a simple string or an error line.
    std::size_t reply_line_bytes_max = 64 * 1024;

    /// Bytes of a double: the shortest exact text of any double has at most 24; 64 allows for
    /// padding.
    std::size_t reply_double_bytes_max = 64;

    /// Digits of a big number, its sign included. They are passed on, never computed with.
    std::size_t reply_big_number_bytes_max = 1024;
};

}  // namespace lockkeeper::protocol
