#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/iostream.hh>
#include <seastar/net/api.hh>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_parser.hh"

namespace lockkeeper::tests {

namespace ss = seastar;

/// The server's end of one connection: hears commands, says bytes, and only what a test tells it.
class fake_peer {
public:
    explicit fake_peer(ss::connected_socket socket);

    /// The next command; empty when the client has closed.
    ss::future<std::vector<std::string>> command();
    ss::future<> say(std::string bytes);
    /// One byte a time, each in a packet of its own.
    ss::future<> say_slowly(std::string bytes);
    /// Takes HELLO and answers as Redis does; the command as it came.
    ss::future<std::vector<std::string>> greet();
    /// Takes commands until the client closes.
    ss::future<> until_closed();
    ss::future<> close();

private:
    ss::connected_socket _socket;
    ss::input_stream<char> _in;
    ss::data_sink _out;  ///< not a stream: those must not be moved while a flush is pending
    std::string _unread;
    std::unique_ptr<protocol::request_parser> _parser;
};

/// A server on loopback that speaks as a test tells it. Use it on core 0.
class fake_server {
public:
    fake_server();
    ~fake_server();
    fake_server(const fake_server&) = delete;
    fake_server& operator=(const fake_server&) = delete;

    uint16_t port() const { return _port; }
    ss::future<fake_peer> accept();
    /// Accepts and greets.
    ss::future<fake_peer> welcome();

private:
    uint16_t _port;
    ss::server_socket _socket;
};

}  // namespace lockkeeper::tests
