#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "protocol/text.hh"

namespace lockkeeper::protocol {

/// One command as a client sent it: the name and its arguments, as bytes. It is never empty (silent
/// commands such as an empty line never become a request), but the name itself may be "".
///
/// It owns nothing. The views point into the buffer that was given to the parser (or, for an inline
/// command with quotes, into the parser): they are good until the caller drops those bytes or
/// parses again, whichever comes first.
struct request {
    std::span<const std::string_view> args;

    std::string_view name() const { return args.front(); }
    std::size_t size() const { return args.size(); }
    std::string_view operator[](std::size_t i) const { return args[i]; }
    auto begin() const { return args.begin(); }
    auto end() const { return args.end(); }
};

/// True if a web page made a browser talk to us: the first line of an HTTP POST or a Host header
/// has come in as a command. Such a connection is closed without a reply, for what follows in the
/// body was written by an attacker in the name of a user behind our firewall.
inline bool is_http(const request& r) {
    return equals_ignoring_case(r.name(), "post") || equals_ignoring_case(r.name(), "host:");
}

}  // namespace lockkeeper::protocol
