#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/limits.hh"
#include "protocol/output.hh"
#include "protocol/reply_parser.hh"
#include "protocol/reply_writer.hh"
#include "protocol/request_parser.hh"

/// Plays a connection: bytes come in pieces, a parser reads them, and all that comes out is written
/// down. Two transcripts of the same bytes must be equal however the bytes were cut. Breaking the
/// parsers' contract throws, which fails a unit test and stops a fuzzer.
namespace lockkeeper::fuzz {

inline void require(bool holds, const char* promise) {
    if (!holds) {
        throw std::logic_error(promise);
    }
}

/// Where each piece ends, in ascending order; the last is the end of the input.
using cuts = std::vector<std::size_t>;

inline cuts uncut(std::size_t bytes) {
    return {bytes};
}
inline cuts cut_once(std::size_t bytes, std::size_t at) {
    return {at, bytes};
}
inline cuts cut_everywhere(std::size_t bytes) {
    cuts all;
    for (std::size_t i = 1; i <= bytes; ++i) {
        all.push_back(i);
    }
    return all;
}

/// Pieces of 1 to 16 bytes that follow from the input alone, so that a finding can be played again.
inline cuts cut_by_content(std::string_view input) {
    std::uint64_t state = 0xcbf29ce484222325;
    for (const char c : input) {
        state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    cuts some;
    for (std::size_t at = 0; at < input.size();) {
        state = state * 6364136223846793005 + 1442695040888963407;
        at = std::min(input.size(), at + 1 + (state >> 60));
        some.push_back(at);
    }
    return some.empty() ? uncut(0) : some;
}

/// A copy of exactly these bytes at an address of its own: reading beyond it is an error that the
/// sanitizers see, and a parser that kept an old address is found out.
class moved_bytes {
public:
    explicit moved_bytes(std::string_view bytes)
        : _bytes(std::make_unique_for_overwrite<char[]>(bytes.size())), _size(bytes.size()) {
        if (!bytes.empty()) {
            std::memcpy(_bytes.get(), bytes.data(), bytes.size());
        }
    }
    std::string_view view() const { return {_bytes.get(), _size}; }

private:
    std::unique_ptr<char[]> _bytes;
    std::size_t _size;
};

inline std::string show(std::string_view bytes) {
    return "[" + std::to_string(bytes.size()) + ":" + std::string(bytes) + "]";
}

struct client {
    protocol::limits limits{};
    bool authenticated = true;
};

inline std::string transcript_of_requests(std::string_view input, const cuts& pieces,
                                          const client& who = {}) {
    protocol::request_parser parser(who.limits);
    parser.set_authenticated(who.authenticated);
    std::string transcript;
    std::size_t begin = 0;     // of what is unread
    std::size_t promised = 0;  // no command can be complete before this offset
    for (const std::size_t end : pieces) {
        const moved_bytes arrived(input.substr(begin, end - begin));
        std::string_view unread = arrived.view();
        while (true) {
            const auto [outcome, consumed] = parser.parse(unread);
            require(consumed <= unread.size(), "no more is consumed than there is");
            const bool more = outcome == protocol::request_outcome::need_more;
            require(more || begin + unread.size() >= promised || !parser.error().empty(),
                    "wanted() is no more than what is missing");
            unread.remove_prefix(consumed);
            begin += consumed;
            if (more) {
                require(parser.wanted() > 0, "who needs more wants something");
                promised = begin + unread.size() + parser.wanted();
                break;
            }
            if (outcome == protocol::request_outcome::broken) {
                require(!parser.error().empty(), "an error has a text");
                require(parser.parse(unread).outcome == outcome, "broken stays broken");
                return transcript + "broken at " + std::to_string(begin) + ": " +
                       std::string(parser.error());
            }
            require(consumed > 0, "a command has bytes");
            require(parser.request().size() > 0, "a command has a name");
            require(parser.request().size() <= who.limits.arguments_max, "arguments are limited");
            for (const std::string_view argument : parser.request()) {
                transcript += show(argument);
            }
            transcript += '\n';
        }
    }
    return transcript + "needs more from " + std::to_string(begin);
}

inline std::string transcript_of_replies(std::string_view input, const cuts& pieces,
                                         const protocol::limits& limits = {}) {
    protocol::reply_parser parser(limits);
    std::string transcript;
    std::size_t begin = 0;
    for (const std::size_t end : pieces) {
        const moved_bytes arrived(input.substr(begin, end - begin));
        std::string_view unread = arrived.view();
        while (true) {
            const auto [outcome, consumed] = parser.parse(unread);
            require(consumed <= unread.size(), "no more is consumed than there is");
            unread.remove_prefix(consumed);
            begin += consumed;
            if (outcome == protocol::reply_outcome::need_more) {
                break;
            }
            if (outcome == protocol::reply_outcome::broken) {
                require(!parser.error().empty(), "an error has a text");
                require(parser.parse(unread).outcome == outcome, "broken stays broken");
                return transcript + "broken at " + std::to_string(begin) + ": " +
                       std::string(parser.error());
            }
            protocol::output out;
            protocol::reply_writer(out, protocol::version::resp3).value(parser.take());
            transcript += show(out.view()) + '\n';
        }
    }
    return transcript + "needs more from " + std::to_string(begin);
}

}  // namespace lockkeeper::fuzz
