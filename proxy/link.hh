#pragma once

#include <cstdint>
#include <functional>
#include <seastar/core/condition-variable.hh>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/shared_ptr.hh>
#include <seastar/core/temporary_buffer.hh>
#include <seastar/core/timer.hh>
#include <seastar/net/api.hh>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/output.hh"
#include "protocol/request_parser.hh"
#include "shards/announcement.hh"
#include "shards/core/link_watch.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// The connection below a link, whoever made it.
class link_wire {
public:
    /// Empty at the end.
    virtual ss::future<ss::temporary_buffer<char>> read() = 0;
    /// The bytes stay where they are until it is done.
    virtual ss::future<> write(std::string_view bytes) = 0;
    /// Ends whatever is under way.
    virtual void cut() noexcept = 0;

protected:
    ~link_wire() = default;
};

class link_channel;

/// Why nothing can be read from a channel: the other side has no place for it, and has heard
/// nothing of what was said in it.
struct channel_refused final : std::runtime_error {
    channel_refused() : std::runtime_error("the other proxy takes nobody in now") {}
};

/// Many conversations over one connection between two proxies. Each is a channel, and to those at
/// its ends a channel is a connection like any other: a session serves one without knowing. The
/// side that made the connection opens channels, the other side serves them.
///
/// What goes over the wire are RESP arrays, both ways:
///
///     o <channel> <greeting>    opens it; whose it is
///     d <channel> <bytes>       what is said in it
///     c <channel>               closes it, for both sides
///     n <channel>               the other side did not open it
///     m <space> <channel> <payload> [<database> <key>]
///                               a message for all who listen there; what lock came free
///     p <number>                a sign of life of the caller, which the other side says back
///
/// Everything that is sent in one turn of the reactor leaves in one write. A side that is silent
/// for too long is gone: all channels end, as connections do.
class link {
public:
    /// The side that was called has something to do.
    struct callee {
        /// For each channel that the other side opens, if there is a place for it.
        std::function<void(ss::connected_socket, std::string greeting)> welcome;
        std::function<bool()> has_place = [] { return true; };
        std::function<void(shards::announcement)> hear;
    };

    /// Without a callee the other side may open nothing.
    link(link_wire& wire, callee who);
    ~link();

    /// Until the wire ends or is cut; why. `early`: bytes that came before. Never fails.
    ss::future<std::string> serve(std::string early);
    void cut(std::string why);
    /// No more channels; when the last one has ended, so does the link.
    void finish();

    /// A new conversation. The link is up.
    ss::connected_socket open(std::string_view greeting);
    /// For those who listen to messages at the other side.
    void tell(const shards::announcement& what);
    bool is_up() const { return !*_ended; }
    /// Tells those who are served over it why their channels end.
    ss::lw_shared_ptr<const bool> end() const { return _ended; }
    size_t channels() const { return _channels.size(); }

private:
    friend class link_channel;

    ss::future<> read_loop(std::string early);
    ss::future<> read_frames(std::string early);
    ss::future<> write_loop();
    ss::future<> write_frames();
    void take(const protocol::request& frame);
    void hear(const protocol::request& frame);
    void hear_sign(const protocol::request& frame);
    bool is_finished() const { return _finishing && _channels.empty() && _unsent.empty(); }
    void watch();
    void wake_writer();
    /// Waits if the other side takes less than it is given.
    ss::future<> send(uint64_t channel, std::string_view bytes);
    void close(uint64_t channel);

    link_wire& _wire;
    callee _callee;
    std::unordered_map<uint64_t, ss::lw_shared_ptr<link_channel>> _channels;
    uint64_t _opened = 0;
    protocol::request_parser _parser;
    protocol::output _unsent;
    ss::condition_variable _write_wanted;
    ss::condition_variable _written;
    ss::timer<ss::lowres_clock> _timer;
    shards::link_watch _watch;
    bool _finishing = false;
    ss::lw_shared_ptr<bool> _ended = ss::make_lw_shared<bool>(false);
    std::string _why;
    ss::gate _waiting;  ///< those whose bytes wait for room
};

}  // namespace lockkeeper::proxy
