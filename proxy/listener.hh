#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/timer.hh>
#include <seastar/net/api.hh>

#include "config/config.hh"
#include "proxy/client_tls.hh"
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
             ss::sharded<pubsub>& messages, ss::sharded<clients>& everyone,
             ss::sharded<user_roll>& users, ss::sharded<peers>& links);

    /// Binds the ports. Fails with std::system_error when it cannot be had.
    ss::future<> start();
    /// Accepts from now on. After every core has bound, so that a failed start never saw a client.
    void serve();
    ss::future<> stop();

    /// Whatever can fail about another configuration, ahead of it.
    ss::future<> prepare(config::config next);
    /// Another configuration from now on, as far as it can change (config/difference.hh), after
    /// prepare(). The users are the new ones already; every session looks its own up.
    void change_to(const config::config& next);

private:
    /// How the clients of a port speak.
    enum class wire : uint8_t { plain, encrypted };

    /// A client that has connected and not yet agreed upon TLS. It has no session, so whoever wants
    /// it to end finds it here.
    struct handshake : boost::intrusive::list_base_hook<
                           boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
        ss::connected_socket socket{};
        bool is_cut = false;

        void cut() {
            is_cut = true;
            socket.shutdown_input();
            socket.shutdown_output();
        }
    };

    ss::future<> accept_loop(ss::server_socket& socket, wire how);
    void welcome(ss::accept_result accepted, wire how);
    ss::future<> serve_one(ss::connected_socket socket, ss::socket_address peer, wire how);
    ss::future<> serve_encrypted(ss::accept_result accepted);
    void refuse(ss::accept_result accepted, std::string_view why);
    ss::future<> turn_away(ss::connected_socket socket, std::string_view why);
    bool is_full() const;
    bool is_full_everywhere() const;
    bool is_protected_from(const ss::socket_address& peer) const;
    void welcome_from(ss::connected_socket channel, link_origin from, std::string who);
    ss::future<> serve_for(ss::connected_socket channel, link_origin from, std::string who);
    ss::future<> serve_session(session& one);
    void look_after_clients();

    config::config _settings;
    services _services;
    ss::server_socket _socket;
    ss::server_socket _encrypted;  ///< for clients that speak TLS
    tls_identity _identity;
    tls_identity _next_identity;
    boost::intrusive::list<handshake, boost::intrusive::constant_time_size<false>> _handshakes;
    ss::gate _gate;
    boost::intrusive::list<session, boost::intrusive::constant_time_size<false>> _sessions;
    size_t _clients = 0;
    size_t _guests = 0;  ///< of those, clients of other proxies
    uint64_t _accepted = 0;
    bool _stopping = false;
    ss::timer<ss::lowres_clock> _caretaker;
};

}  // namespace lockkeeper::proxy
