#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/load/reply_scanner.hh"
#include "protocol/output.hh"

namespace lockkeeper::bench {

/// Who asked, and which of its rounds the reply is a vote in.
struct question {
    std::uint32_t client = 0;
    std::uint32_t round = 0;
};

/// A non-blocking socket to one server: commands collect in `out` until flush(), replies come in
/// the order of the questions. Belongs to one worker. Does not allocate once its blocks have their
/// size.
///
/// A closed loop bounds what is under way. Only a master of RedLock can fall behind, for a round
/// may be decided without it: while it owes `questions_max` replies it gets no new requests for
/// locks, but there is always room for the release of what it was asked for.
class connection {
public:
    /// Takes over the connected socket.
    connection(int socket, std::size_t questions_max);
    ~connection();
    connection(connection&& other) noexcept;
    connection& operator=(connection&&) = delete;

    int socket() const { return _socket; }
    bool is_lost() const { return _socket < 0; }
    bool is_behind() const { return _asked - _answered >= _questions_size / 2; }

    /// Of a connection that is not lost: the caller writes one command.
    protocol::output& ask(question who) {
        _questions[_asked++ & (_questions_size - 1)] = who;
        return _out;
    }

    /// True once per flush: the caller puts the connection on its list.
    bool mark_touched() { return !std::exchange(_touched, true); }

    enum class flush_result : std::uint8_t { done, blocked, failed };
    flush_result flush();

    /// Reads what is there into `room` and calls on_reply(question, reply) for each reply. False if
    /// the connection has ended or talks nonsense; why_lost() says why.
    template <typename OnReply>
    bool receive(std::span<char> room, OnReply&& on_reply) {
        while (true) {
            const std::optional<std::string_view> bytes = read_into(room);
            if (!bytes) {
                return false;
            }
            std::string_view unread = *bytes;
            while (!unread.empty()) {
                scanned_reply reply;
                const scan_result scanned = scan_reply(unread, reply);
                if (scanned.what == scan_result::outcome::incomplete) {
                    break;
                }
                if (scanned.what == scan_result::outcome::broken || _answered == _asked) {
                    _why_lost = "the server sent something that is no reply";
                    return false;
                }
                unread.remove_prefix(scanned.consumed);
                on_reply(_questions[_answered++ & (_questions_size - 1)], reply);
            }
            keep(unread);
            // A read that did not fill the room has emptied the socket.
            if (bytes->size() < room.size()) {
                return true;
            }
        }
    }

    std::string_view why_lost() const { return _why_lost; }
    /// Closes the socket. The questions that are still open get no answer.
    void close();
    /// The next open question of a lost connection.
    std::optional<question> take_unanswered();

private:
    std::optional<std::string_view> read_into(std::span<char> room);
    void keep(std::string_view unread);

    int _socket;
    bool _touched = false;
    std::string_view _why_lost;
    protocol::output _out;
    std::size_t _sent = 0;        ///< of _out
    std::vector<char> _begun;     ///< the beginning of a reply whose end has not come
    std::size_t _questions_size;  ///< a power of two
    std::unique_ptr<question[]> _questions;
    std::size_t _asked = 0;
    std::size_t _answered = 0;
};

}  // namespace lockkeeper::bench
