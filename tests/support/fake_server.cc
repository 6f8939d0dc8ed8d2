#include "tests/support/fake_server.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/seastar.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/inet_address.hh>
#include <utility>

#include "tests/support/free_port.hh"

namespace lockkeeper::tests {

namespace {

constexpr const char* hello =
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n"
    "$2\r\nid\r\n:9\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
    "$7\r\nmodules\r\n*0\r\n";

ss::server_socket listen_on(uint16_t port) {
    ss::listen_options options;
    options.reuse_address = true;
    options.lba = ss::server_socket::load_balancing_algorithm::fixed;
    options.fixed_cpu = ss::this_shard_id();
    return ss::listen(ss::socket_address(ss::net::inet_address("127.0.0.1"), port), options);
}

}  // namespace

fake_peer::fake_peer(ss::connected_socket socket)
    : _socket(std::move(socket)),
      _in(_socket.input()),
      _out(std::move(_socket.output()).detach()),
      _parser(std::make_unique<protocol::request_parser>()) {
    _socket.set_nodelay(true);
}

ss::future<std::vector<std::string>> fake_peer::command() {
    while (true) {
        const auto [outcome, consumed] = _parser->parse(_unread);
        if (outcome == protocol::request_outcome::request) {
            const auto request = _parser->request();
            std::vector<std::string> words(request.begin(), request.end());
            _unread.erase(0, consumed);
            co_return words;
        }
        _unread.erase(0, consumed);
        auto bytes = co_await ss::coroutine::as_future(_in.read());
        if (bytes.failed()) {
            bytes.ignore_ready_future();
            co_return std::vector<std::string>{};
        }
        const auto more = bytes.get();
        if (more.empty()) {
            co_return std::vector<std::string>{};
        }
        _unread.append(more.get(), more.size());
    }
}

ss::future<> fake_peer::say(std::string bytes) {
    co_await _out.put(ss::temporary_buffer<char>(bytes.data(), bytes.size()));
}

ss::future<> fake_peer::say_slowly(std::string bytes) {
    for (const char byte : bytes) {
        co_await say(std::string(1, byte));
    }
}

ss::future<std::vector<std::string>> fake_peer::greet() {
    auto words = co_await command();
    co_await say(hello);
    co_return words;
}

ss::future<> fake_peer::until_closed() {
    while (!(co_await command()).empty()) {
    }
}

ss::future<> fake_peer::close() {
    (co_await ss::coroutine::as_future(_out.close())).ignore_ready_future();
    (co_await ss::coroutine::as_future(_in.close())).ignore_ready_future();
}

fake_server::fake_server() : _port(free_port()), _socket(listen_on(_port)) {}

fake_server::~fake_server() {
    _socket.abort_accept();
}

ss::future<fake_peer> fake_server::accept() {
    auto accepted = co_await _socket.accept();
    co_return fake_peer(std::move(accepted.connection));
}

ss::future<fake_peer> fake_server::welcome() {
    fake_peer peer = co_await accept();
    co_await peer.greet();
    co_return peer;
}

}  // namespace lockkeeper::tests
