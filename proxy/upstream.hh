#pragma once

#include <deque>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/iostream.hh>
#include <seastar/net/api.hh>
#include <string>
#include <vector>

#include "config/redis_address.hh"
#include "protocol/output.hh"
#include "protocol/reply.hh"
#include "protocol/reply_parser.hh"
#include "proxy/owned_request.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;

/// One client's own connection to the upstream for data: what the client does there (transactions,
/// subscriptions, blocking calls) behaves as if it had connected itself. Opened at the first need,
/// closed with the session. Always in the client's protocol version and database: a change of
/// either goes ahead of the next command.
class upstream {
public:
    upstream(const config::redis_address& address, client& owner);

    /// Sends the commands in one write; their replies, in order. A connection that cannot be had or
    /// breaks gives error replies that say so.
    ss::future<std::vector<protocol::reply>> call(std::vector<owned_request> commands);

    /// Sends a command of the SUBSCRIBE family. Its `confirmations` are swallowed (the session has
    /// told the client already), messages go to the client as they come.
    ss::future<> subscribe(owned_request command, size_t confirmations);

    bool is_open() const { return _open; }

    /// Ends the connection now; who waits for replies gets errors. Then close() it.
    void cut();
    ss::future<> close();

private:
    /// What is to come, in order.
    struct expected {
        enum class kind : uint8_t {
            reply,         ///< for who waits for it
            greeting,      ///< to a command of our own: must not be an error
            confirmation,  ///< of a subscription
        };
        kind what;
        ss::promise<protocol::reply> done{};
    };

    ss::future<> open();
    void greet(protocol::output& bytes);
    void follow_client(protocol::output& bytes);
    ss::future<> write(protocol::output bytes);
    ss::future<> read_loop();
    ss::future<> read_replies();
    void take(protocol::reply reply);
    void fail_all(const std::string& why);

    const config::redis_address& _address;
    client& _owner;
    bool _open = false;
    bool _greeted = false;
    ss::connected_socket _socket;
    std::optional<ss::data_source> _in;
    std::optional<ss::data_sink> _out;
    protocol::reply_parser _parser;
    std::deque<expected> _expected;
    uint32_t _database = 0;
    int _version = 2;
    ss::gate _gate;
};

}  // namespace lockkeeper::proxy
