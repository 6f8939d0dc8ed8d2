#pragma once

#include <boost/intrusive/list.hpp>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/timer.hh>
#include <seastar/net/api.hh>

#include "config/config.hh"
#include "proxy/services.hh"
#include "proxy/session.hh"

namespace lockkeeper::proxy {

/// Accepts clients on one core and owns their sessions. There is one on every core; Seastar spreads
/// the connections evenly over them.
///
/// Its end is a story in three steps: accept no more and read no more; let replies under way be
/// written until the deadline; cut who is left.
class listener {
public:
    listener(config::config settings, ss::sharded<shards::lock_service>& locks,
             ss::sharded<pubsub>& messages, ss::sharded<clients>& everyone);

    /// Binds the port. Fails with std::system_error when it cannot be had.
    ss::future<> start();
    /// Accepts from now on. After every core has bound, so that a failed start never saw a client.
    void serve();
    ss::future<> stop();

private:
    ss::future<> accept_loop();
    void welcome(ss::accept_result accepted);
    ss::future<> serve_one(ss::accept_result accepted);
    ss::future<> turn_away(ss::connected_socket socket);
    void look_after_clients();

    config::config _settings;
    services _services;
    ss::server_socket _socket;
    ss::gate _gate;
    boost::intrusive::list<session, boost::intrusive::constant_time_size<false>> _sessions;
    size_t _clients = 0;
    uint64_t _accepted = 0;
    bool _stopping = false;
    ss::timer<ss::lowres_clock> _caretaker;
};

}  // namespace lockkeeper::proxy
