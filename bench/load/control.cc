#include "bench/load/control.hh"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace lockkeeper::bench {

namespace {

constexpr timeval reply_patience{.tv_sec = 30, .tv_usec = 0};

}  // namespace

std::expected<control, std::string> control::connect(const endpoint& where) {
    const int socket = connect_to(where);
    if (socket < 0) {
        return std::unexpected("cannot connect to " + where.text + ": " + std::strerror(errno));
    }
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &reply_patience, sizeof(reply_patience));
    return control(where, socket);
}

control::~control() {
    if (_socket >= 0) {
        ::close(_socket);
    }
}

control::control(control&& other) noexcept
    : _where(std::move(other._where)),
      _socket(std::exchange(other._socket, -1)),
      _unread(std::move(other._unread)),
      _parser(std::move(other._parser)) {}

std::expected<protocol::reply, std::string> control::exchange(const protocol::output& out,
                                                              std::size_t replies) {
    std::string_view unsent = out.view();
    while (!unsent.empty()) {
        const ssize_t sent = ::send(_socket, unsent.data(), unsent.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            return std::unexpected(_where.text + ": sending failed: " + std::strerror(errno));
        }
        unsent.remove_prefix(static_cast<std::size_t>(sent));
    }
    protocol::reply last;
    while (true) {
        const auto [outcome, consumed] = _parser.parse(_unread);
        _unread.erase(0, consumed);
        if (outcome == protocol::reply_outcome::broken) {
            return std::unexpected(_where.text +
                                   " does not speak RESP: " + std::string(_parser.error()));
        }
        if (outcome == protocol::reply_outcome::reply) {
            last = _parser.take();
            if (last.is_error()) {
                return std::unexpected(_where.text + ": " + std::string(last.text()));
            }
            if (--replies == 0) {
                return last;
            }
            continue;
        }
        std::array<char, 16 * 1024> room;
        const ssize_t got = ::recv(_socket, room.data(), room.size(), 0);
        if (got <= 0) {
            return std::unexpected(_where.text +
                                   (got == 0 ? " closed the connection" : " does not answer"));
        }
        _unread.append(room.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace lockkeeper::bench
