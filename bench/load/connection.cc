#include "bench/load/connection.hh"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace lockkeeper::bench {

connection::connection(int socket, std::size_t questions_max)
    : _socket(socket),
      _questions_size(2 * std::bit_ceil(questions_max)),
      _questions(std::make_unique<question[]>(_questions_size)) {}

connection::~connection() {
    close();
}

connection::connection(connection&& other) noexcept
    : _socket(std::exchange(other._socket, -1)),
      _touched(other._touched),
      _why_lost(other._why_lost),
      _out(std::move(other._out)),
      _sent(other._sent),
      _begun(std::move(other._begun)),
      _questions_size(other._questions_size),
      _questions(std::move(other._questions)),
      _asked(other._asked),
      _answered(other._answered) {}

connection::flush_result connection::flush() {
    _touched = false;
    while (_sent < _out.size()) {
        const std::string_view rest = _out.view().substr(_sent);
        const ssize_t sent = ::send(_socket, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return flush_result::blocked;
            }
            _why_lost = "the connection broke while sending";
            return flush_result::failed;
        }
        _sent += static_cast<std::size_t>(sent);
    }
    _out.clear();
    _sent = 0;
    return flush_result::done;
}

/// What was begun stands in front of what is new. Empty if there was nothing to read.
std::optional<std::string_view> connection::read_into(std::span<char> room) {
    std::ranges::copy(_begun, room.begin());
    const std::size_t begun = _begun.size();
    if (begun == room.size()) {
        _why_lost = "the server sent a reply that is too long";
        return std::nullopt;
    }
    while (true) {
        const ssize_t got = ::recv(_socket, room.data() + begun, room.size() - begun, MSG_DONTWAIT);
        if (got > 0) {
            return std::string_view(room.data(), begun + static_cast<std::size_t>(got));
        }
        if (got == 0) {
            _why_lost = "the server closed the connection";
            return std::nullopt;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return std::string_view(room.data(), begun);
        }
        if (errno != EINTR) {
            _why_lost = "the connection broke while receiving";
            return std::nullopt;
        }
    }
}

void connection::keep(std::string_view unread) {
    _begun.assign(unread.begin(), unread.end());
}

void connection::close() {
    if (_socket >= 0) {
        ::close(std::exchange(_socket, -1));
    }
}

std::optional<question> connection::take_unanswered() {
    if (_answered == _asked) {
        return std::nullopt;
    }
    return _questions[_answered++ & (_questions_size - 1)];
}

}  // namespace lockkeeper::bench
