#include "proxy/upstream.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/seastar.hh>
#include <seastar/core/with_timeout.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/dns.hh>
#include <seastar/net/inet_address.hh>
#include <seastar/util/log.hh>

#include "protocol/command_writer.hh"
#include "proxy/client.hh"
#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

ss::logger log("upstream");

constexpr auto connect_timeout = 5s;

/// Data is not ours to bound: as much as Redis itself may answer.
protocol::limits data_limits() {
    constexpr size_t redis_bulk_max = 512ULL << 20;
    protocol::limits bounds;
    bounds.reply_bulk_bytes_max = redis_bulk_max;
    bounds.reply_bytes_max = 2 * redis_bulk_max;
    bounds.reply_elements_max = 64ULL << 20;
    bounds.reply_values_max = 128ULL << 20;
    return bounds;
}

}  // namespace

upstream::upstream(const config::redis_address& address, client& owner)
    : _address(address), _owner(owner), _parser(data_limits()) {}

ss::future<> upstream::open() {
    co_await close();  // what is left of an earlier connection
    _gate = ss::gate();
    _parser = protocol::reply_parser(data_limits());
    auto address = co_await ss::net::dns::resolve_name(_address.host);
    _socket = co_await ss::with_timeout(ss::lowres_clock::now() + connect_timeout,
                                        ss::connect(ss::socket_address(address, _address.port)));
    _socket.set_nodelay(true);
    _in = std::move(_socket.input()).detach();
    _out = std::move(_socket.output()).detach();
    _open = true;
    _database = 0;
    _version = 2;
    shards::background(_gate, log, "reading from the upstream", [this] { return read_loop(); });
    _greeted = false;
}

void upstream::greet(protocol::output& bytes) {
    if (_address.password.empty()) {
        return;
    }
    if (_address.user.empty()) {
        protocol::write_command(bytes, "AUTH", _address.password);
    } else {
        protocol::write_command(bytes, "AUTH", _address.user, _address.password);
    }
    _expected.emplace_back(expected::kind::greeting);
}

/// Goes ahead of a command, in the same write.
void upstream::follow_client(protocol::output& bytes) {
    if (!std::exchange(_greeted, true)) {
        greet(bytes);
    }
    const int version = static_cast<int>(_owner.reply.spoken());
    if (version != _version) {
        protocol::write_command(bytes, "HELLO", version);
        _expected.emplace_back(expected::kind::greeting);
        _version = version;
    }
    // The client's database 0 is the one that the address names.
    const uint32_t database = _owner.database == 0 ? _address.database : _owner.database;
    if (database != _database) {
        protocol::write_command(bytes, "SELECT", database);
        _expected.emplace_back(expected::kind::greeting);
        _database = database;
    }
}

ss::future<> upstream::write(protocol::output bytes) {
    if (bytes.empty()) {
        co_return;
    }
    const auto chunk = bytes.take();
    ss::temporary_buffer<char> copy(chunk.size);
    std::copy_n(chunk.bytes.get(), chunk.size, copy.get_write());
    co_await _out->put(std::move(copy));
}

ss::future<std::vector<protocol::reply>> upstream::call(std::vector<owned_request> commands) {
    std::vector<ss::future<protocol::reply>> futures;
    futures.reserve(commands.size());
    std::string trouble;
    try {
        if (!_open) {
            co_await open();
        }
        protocol::output bytes;
        follow_client(bytes);
        for (const owned_request& command : commands) {
            protocol::write_command(bytes, command.views());
            _expected.emplace_back(expected::kind::reply);
            futures.push_back(_expected.back().done.get_future());
        }
        co_await write(std::move(bytes));
    } catch (const std::exception& problem) {
        trouble = problem.what();
    }
    if (!trouble.empty()) {
        cut();
        fail_all(trouble);
    }
    std::vector<protocol::reply> replies;
    replies.reserve(commands.size());
    for (auto& future : futures) {
        replies.push_back(co_await std::move(future));
    }
    while (replies.size() < commands.size()) {
        replies.push_back(
            protocol::reply::error(fmt::format("ERR upstream {}: {}", _address.show(), trouble)));
    }
    if (!trouble.empty()) {
        co_await close();
    }
    co_return replies;
}

ss::future<> upstream::subscribe(owned_request command, size_t confirmations) {
    if (!_open) {
        co_await open();
    }
    protocol::output bytes;
    follow_client(bytes);
    protocol::write_command(bytes, command.views());
    for (size_t i = 0; i < confirmations; ++i) {
        _expected.emplace_back(expected::kind::confirmation);
    }
    co_await write(std::move(bytes));
}

ss::future<> upstream::read_loop() {
    auto ended = co_await ss::coroutine::as_future(read_replies());
    std::string why = "the connection ended";
    try {
        ended.get();
    } catch (const std::exception& problem) {
        why = problem.what();
    }
    cut();
    _open = false;
    fail_all(why);
    // Subscriptions and watches went with the connection, and the client must learn of it.
    if (_owner.subscriptions() > 0 || _owner.watches_upstream) {
        _owner.cut();
    }
}

ss::future<> upstream::read_replies() {
    std::string unread;
    while (true) {
        const auto bytes = co_await _in->get();
        if (bytes.empty()) {
            co_return;
        }
        unread.append(bytes.get(), bytes.size());
        std::string_view rest = unread;
        while (true) {
            const auto [outcome, consumed] = _parser.parse(rest);
            rest.remove_prefix(consumed);
            if (outcome == protocol::reply_outcome::broken) {
                throw std::runtime_error(
                    fmt::format("it does not speak RESP: {}", _parser.error()));
            }
            if (outcome == protocol::reply_outcome::need_more) {
                break;
            }
            take(_parser.take());
        }
        unread.erase(0, unread.size() - rest.size());
    }
}

/// Messages come at any time between the others. RESP3 marks them; in RESP2 nothing but messages
/// and confirmations comes while there are subscriptions.
void upstream::take(protocol::reply reply) {
    const bool is_push = reply.kind() == protocol::reply_kind::push;
    const auto items = reply.items();
    const bool confirms = !items.empty() && items.front().text().ends_with("subscribe");
    if (_expected.empty()) {
        return _owner.relay(reply);
    }
    switch (_expected.front().what) {
        case expected::kind::confirmation:
            if (!confirms) {
                return _owner.relay(reply);
            }
            break;
        case expected::kind::reply:
            if (is_push) {
                return _owner.relay(reply);
            }
            _expected.front().done.set_value(std::move(reply));
            break;
        case expected::kind::greeting:
            if (is_push) {
                return _owner.relay(reply);
            }
            if (reply.is_error()) {
                // Nothing that follows can be right.
                log.warn("{} refuses our greeting: {}", _address.show(), reply.text());
                throw std::runtime_error(fmt::format("refused our greeting: {}", reply.text()));
            }
            break;
    }
    _expected.pop_front();
}

void upstream::fail_all(const std::string& why) {
    auto waiting = std::exchange(_expected, {});
    for (auto& one : waiting) {
        if (one.what == expected::kind::reply) {
            one.done.set_value(
                protocol::reply::error(fmt::format("ERR upstream {}: {}", _address.show(), why)));
        }
    }
}

void upstream::cut() {
    if (_open) {
        _socket.shutdown_input();
        _socket.shutdown_output();
    }
}

ss::future<> upstream::close() {
    cut();
    if (!_gate.is_closed()) {
        co_await _gate.close();
    }
    if (_out) {
        co_await _out->close().handle_exception([](const std::exception_ptr&) {});
        _out.reset();
    }
    if (_in) {
        co_await _in->close().handle_exception([](const std::exception_ptr&) {});
        _in.reset();
    }
    _open = false;
}

}  // namespace lockkeeper::proxy
