#include "proxy/listener.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <atomic>
#include <seastar/core/coroutine.hh>
#include <seastar/core/seastar.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/inet_address.hh>
#include <seastar/util/log.hh>

#include "proxy/errand.hh"
#include "proxy/peers.hh"
#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

ss::logger log("listener");

/// Clients of all listeners. All who come over one link are served by one core, so a share of the
/// limit would be too little for them.
std::atomic<size_t> on_all_cores{0};

/// A client that vanished without a word (power, cable) must not hold its place for two hours,
/// Linux' default.
void watch_for_death(ss::connected_socket& socket) {
    socket.set_keepalive(true);
    socket.set_keepalive_parameters(ss::net::tcp_keepalive_params{10s, 5s, 3});
    const unsigned unacknowledged_ms = 20'000;
    socket.set_sockopt(IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
                       sizeof(unacknowledged_ms));
}

constexpr std::string_view denied =
    "-DENIED Lockkeeper is running in protected mode because no password is set for the default "
    "user. In this mode connections are only accepted from the loopback interface. Give the "
    "clients users with passwords ('users' in the configuration), or set server.protected_mode to "
    "false if the network itself keeps strangers out.\r\n";

/// Also as IPv6 tells an address of IPv4.
bool is_loopback(const ss::socket_address& peer) {
    constexpr uint8_t loopback_network = 127;
    if (peer.family() == AF_INET) {
        return ntohl(peer.as_posix_sockaddr_in().sin_addr.s_addr) >> 24 == loopback_network;
    }
    const in6_addr& address = peer.as_posix_sockaddr_in6().sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == loopback_network);
}

/// A limit on time is late by a quarter of itself at most, or by a second.
std::chrono::milliseconds caretaker_period(const config::limit_options& limits) {
    std::chrono::milliseconds period = 1s;
    for (const auto limit : {limits.output_slow, limits.handshake, limits.idle}) {
        if (limit > 0ms) {
            period = std::min<std::chrono::milliseconds>(period, limit / 4);
        }
    }
    return std::max<std::chrono::milliseconds>(period, 10ms);
}

}  // namespace

listener::listener(config::config settings, ss::sharded<shards::lock_service>& locks,
                   ss::sharded<pubsub>& messages, ss::sharded<clients>& everyone,
                   ss::sharded<user_roll>& users, ss::sharded<peers>& links)
    : _settings(std::move(settings)),
      _services{.settings = _settings,
                .locks = locks,
                .messages = messages,
                .everyone = everyone,
                .users = users,
                .links = links,
                .counted = everyone.local().counted},
      _caretaker([this] { look_after_clients(); }) {}

ss::future<> listener::start() {
    ss::listen_options options;
    options.reuse_address = true;
    options.listen_backlog = static_cast<int>(_settings.server.backlog);
    const ss::net::inet_address address(_settings.server.address);
    if (_settings.tls.port > 0) {
        _identity = co_await load_tls_identity(_settings.tls);
        _encrypted = ss::listen(ss::socket_address(address, _settings.tls.port), options);
    }
    if (!_settings.tls.only) {
        _socket = ss::listen(ss::socket_address(address, _settings.server.port), options);
    }
}

void listener::serve() {
    if (_socket) {
        shards::background(_gate, log, "accepting clients",
                           [this] { return accept_loop(_socket, wire::plain); });
    }
    if (_encrypted) {
        shards::background(_gate, log, "accepting clients that speak TLS",
                           [this] { return accept_loop(_encrypted, wire::encrypted); });
    }
    _caretaker.arm_periodic(caretaker_period(_settings.limits));
    _services.links.local().serve_with(
        [this](ss::connected_socket channel, link_origin from, std::string who) {
            welcome_from(std::move(channel), std::move(from), std::move(who));
        },
        [this] { return !_stopping && !is_full_everywhere(); });
    _services.links.local().ask_with([this](uint32_t database, std::string key) {
        return ss::with_gate(_gate, [this, database, &key] {
            return find_holder(_services, database, std::move(key));
        });
    });
}

ss::future<> listener::accept_loop(ss::server_socket& socket, wire how) {
    while (!_stopping) {
        auto next = co_await ss::coroutine::as_future(socket.accept());
        if (!next.failed()) {
            welcome(next.get(), how);
            continue;
        }
        const auto problem = next.get_exception();
        if (_stopping) {
            co_return;
        }
        // Out of file descriptors, most likely: the connections that we have matter more than new
        // ones.
        log.warn("cannot accept a client: {}; trying again in 100 ms", problem);
        co_await ss::sleep(100ms);
    }
}

bool listener::is_full() const {
    // Cores get even shares of the connections, so that a share of the limit is enough to check.
    const size_t share = (_settings.limits.clients + ss::smp::count - 1) / ss::smp::count;
    return _clients - _guests >= share || is_full_everywhere();
}

bool listener::is_full_everywhere() const {
    return on_all_cores.load(std::memory_order_relaxed) >= _settings.limits.clients;
}

void listener::welcome(ss::accept_result accepted, wire how) {
    if (how == wire::encrypted) {
        shards::background(_gate, log, "serving a client by TLS",
                           [this, accepted = std::move(accepted)]() mutable {
                               return serve_encrypted(std::move(accepted));
                           });
        return;
    }
    if (is_protected_from(accepted.remote_address)) {
        return refuse(std::move(accepted), denied);
    }
    if (is_full()) {
        return refuse(std::move(accepted), "-ERR max number of clients reached\r\n");
    }
    shards::background(
        _gate, log, "serving a client", [this, accepted = std::move(accepted)]() mutable {
            watch_for_death(accepted.connection);
            return serve_one(std::move(accepted.connection), accepted.remote_address, wire::plain);
        });
}

/// Whoever does not make sense of TLS, or has no certificate that we trust, costs a line in the log
/// and disturbs nobody.
ss::future<> listener::serve_encrypted(ss::accept_result accepted) {
    static thread_local ss::logger::rate_limit seldom(1s);
    watch_for_death(accepted.connection);
    const ss::socket_address peer = accepted.remote_address;
    if (_stopping || is_full() || is_protected_from(peer)) {
        ++_services.counted.connections_refused;
        co_return;
    }
    handshake under_way;
    under_way.socket = co_await ss::tls::wrap_server(_identity, std::move(accepted.connection));
    _handshakes.push_back(under_way);
    ss::timer<ss::lowres_clock> deadline([&under_way] { under_way.cut(); });
    if (_settings.limits.handshake > 0ms) {
        deadline.arm(_settings.limits.handshake);
    }
    // Asking for the certificate completes the handshake.
    auto agreed = co_await ss::coroutine::as_future(ss::tls::get_dn_information(under_way.socket));
    deadline.cancel();
    under_way.unlink();
    if (agreed.failed() || under_way.is_cut) {
        const std::string why =
            agreed.failed() ? explain_handshake(agreed.get_exception()) : "it took too long";
        if (!_stopping) {
            ++_services.counted.connections_refused;
            log.log(ss::log_level::warn, seldom,
                    "client at {}: no TLS connection: {}, connection closed", peer, why);
        }
        under_way.cut();
        co_return;
    }
    agreed.ignore_ready_future();
    co_await serve_one(std::move(under_way.socket), peer, wire::encrypted);
}

ss::future<> listener::serve_one(ss::connected_socket socket, ss::socket_address peer, wire how) {
    ++_services.counted.connections;
    session one(std::move(socket), peer, _accepted++, _services);
    one.is_encrypted = how == wire::encrypted;
    co_await serve_session(one);
}

/// A client of another proxy, for whom there is a place: it counts as one here, too. Beyond the
/// limit its own proxy does without us.
void listener::welcome_from(ss::connected_socket channel, link_origin from, std::string who) {
    shards::background(_gate, log, "serving a client of another proxy",
                       [this, channel = std::move(channel), from = std::move(from),
                        who = std::move(who)]() mutable {
                           return serve_for(std::move(channel), std::move(from), std::move(who));
                       });
}

ss::future<> listener::serve_for(ss::connected_socket channel, link_origin from, std::string who) {
    session one(std::move(channel), std::move(from), who, _accepted++, _services);
    ++_guests;
    co_await serve_session(one);
    --_guests;
}

ss::future<> listener::serve_session(session& one) {
    _sessions.push_back(one);
    ++_clients;
    on_all_cores.fetch_add(1, std::memory_order_relaxed);
    if (_stopping) {
        one.request_stop();
    }
    co_await one.serve();
    --_clients;
    on_all_cores.fetch_sub(1, std::memory_order_relaxed);
}

/// `why` is a literal.
void listener::refuse(ss::accept_result accepted, std::string_view why) {
    ++_services.counted.connections_refused;
    shards::background(_gate, log, "turning a client away",
                       [this, why, socket = std::move(accepted.connection)]() mutable {
                           return turn_away(std::move(socket), why);
                       });
}

/// Nobody has said who may connect: then only this machine may.
bool listener::is_protected_from(const ss::socket_address& peer) const {
    return _settings.server.protected_mode && !is_loopback(peer) &&
           _services.users.local().standard_is_open();
}

ss::future<> listener::turn_away(ss::connected_socket socket, std::string_view why) {
    auto out = socket.output();
    co_await out.write(why.data(), why.size());
    co_await out.close();
}

void listener::look_after_clients() {
    const auto now = ss::lowres_clock::now();
    for (session& one : _sessions) {
        one.end_if_overdue(now);
    }
}

ss::future<> listener::prepare(config::config next) {
    _next_identity = {};
    if (next.tls.port > 0) {
        _next_identity = co_await load_tls_identity(next.tls);
    }
}

void listener::change_to(const config::config& next) {
    _settings.server = next.server;
    _settings.tls = next.tls;
    _settings.log = next.log;
    _settings.limits = next.limits;
    _settings.shutdown = next.shutdown;
    _settings.users = next.users;
    if (_next_identity) {
        _identity = std::exchange(_next_identity, {});
    }
    if (!_stopping) {
        _caretaker.rearm_periodic(caretaker_period(_settings.limits));
    }
    for (session& one : _sessions) {
        one.renew_user();
    }
}

ss::future<> listener::stop() {
    _stopping = true;
    _services.links.local().ask_with(nullptr);
    _caretaker.cancel();
    if (_socket) {
        _socket.abort_accept();
    }
    if (_encrypted) {
        _encrypted.abort_accept();
    }
    for (handshake& one : _handshakes) {
        one.cut();
    }
    for (session& one : _sessions) {
        one.request_stop();
    }
    ss::timer<ss::lowres_clock> deadline([this] {
        log.warn("{} clients did not read their replies in time, connections cut", _clients);
        for (session& one : _sessions) {
            one.cut();
        }
    });
    deadline.arm(_settings.shutdown.deadline);
    co_await _gate.close();
}

}  // namespace lockkeeper::proxy
