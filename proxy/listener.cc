#include "proxy/listener.hh"

#include <netinet/tcp.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/seastar.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/inet_address.hh>
#include <seastar/util/log.hh>

#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

ss::logger log("listener");

/// A client that vanished without a word (power, cable) must not hold its place for two hours,
/// Linux' default.
void watch_for_death(ss::connected_socket& socket) {
    socket.set_keepalive(true);
    socket.set_keepalive_parameters(ss::net::tcp_keepalive_params{10s, 5s, 3});
    const unsigned unacknowledged_ms = 20'000;
    socket.set_sockopt(IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
                       sizeof(unacknowledged_ms));
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
                   ss::sharded<pubsub>& messages, ss::sharded<clients>& everyone)
    : _settings(std::move(settings)),
      _services{.settings = _settings,
                .locks = locks,
                .messages = messages,
                .everyone = everyone,
                .counted = everyone.local().counted},
      _caretaker([this] { look_after_clients(); }) {}

ss::future<> listener::start() {
    ss::listen_options options;
    options.reuse_address = true;
    options.listen_backlog = static_cast<int>(_settings.server.backlog);
    const ss::socket_address where(ss::net::inet_address(_settings.server.address),
                                   _settings.server.port);
    _socket = ss::listen(where, options);
    return ss::make_ready_future<>();
}

void listener::serve() {
    shards::background(_gate, log, "accepting clients", [this] { return accept_loop(); });
    _caretaker.arm_periodic(caretaker_period(_settings.limits));
}

ss::future<> listener::accept_loop() {
    while (!_stopping) {
        auto next = co_await ss::coroutine::as_future(_socket.accept());
        if (!next.failed()) {
            welcome(next.get());
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

void listener::welcome(ss::accept_result accepted) {
    // Cores get even shares of the connections, so that a share of the limit is enough to check.
    const size_t share = (_settings.limits.clients + ss::smp::count - 1) / ss::smp::count;
    if (_clients >= share) {
        ++_services.counted.connections_refused;
        shards::background(_gate, log, "turning a client away",
                           [this, socket = std::move(accepted.connection)]() mutable {
                               return turn_away(std::move(socket));
                           });
        return;
    }
    shards::background(_gate, log, "serving a client",
                       [this, accepted = std::move(accepted)]() mutable {
                           return serve_one(std::move(accepted));
                       });
}

ss::future<> listener::serve_one(ss::accept_result accepted) {
    watch_for_death(accepted.connection);
    ++_services.counted.connections;
    session one(std::move(accepted.connection), accepted.remote_address, _accepted++, _services);
    _sessions.push_back(one);
    ++_clients;
    if (_stopping) {
        one.request_stop();
    }
    co_await one.serve();
    --_clients;
}

ss::future<> listener::turn_away(ss::connected_socket socket) {
    auto out = socket.output();
    co_await out.write("-ERR max number of clients reached\r\n");
    co_await out.close();
}

void listener::look_after_clients() {
    const auto now = ss::lowres_clock::now();
    for (session& one : _sessions) {
        one.end_if_overdue(now);
    }
}

ss::future<> listener::stop() {
    _stopping = true;
    _caretaker.cancel();
    if (_socket) {
        _socket.abort_accept();
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
