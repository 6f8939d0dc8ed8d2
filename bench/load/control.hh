#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "bench/load/endpoint.hh"
#include "protocol/command_writer.hh"
#include "protocol/output.hh"
#include "protocol/reply.hh"
#include "protocol/reply_parser.hh"

namespace lockkeeper::bench {

/// A connection beside the load, for questions about the server and for preparations: one command
/// after the other, blocking, with a time limit. Errors are sentences that name the server.
class control {
public:
    static std::expected<control, std::string> connect(const endpoint& where);
    ~control();
    control(control&& other) noexcept;
    control& operator=(control&&) = delete;

    /// Error replies are errors too.
    template <typename... Arguments>
    std::expected<protocol::reply, std::string> call(const Arguments&... arguments) {
        protocol::output out;
        protocol::write_command(out, arguments...);
        return exchange(out, 1);
    }

    /// Sends what was written, `replies` commands, and returns the last reply; the first error ends
    /// it.
    std::expected<protocol::reply, std::string> exchange(const protocol::output& out,
                                                         std::size_t replies);

    const endpoint& where() const { return _where; }

private:
    control(endpoint where, int socket) : _where(std::move(where)), _socket(socket) {}

    endpoint _where;
    int _socket;
    std::string _unread;
    protocol::reply_parser _parser;
};

}  // namespace lockkeeper::bench
