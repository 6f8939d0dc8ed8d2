#include "shards/masters/redis_master.hh"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/manual_clock.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/when_all.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/coroutine/maybe_yield.hh>
#include <seastar/util/later.hh>
#include <seastar/util/log.hh>
#include <utility>

#include "protocol/text.hh"
#include "shards/background.hh"
#include "shards/masters/greeting.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

ss::logger log("masters");

/// A master that was restarted is back soon; after this the pauses grow.
constexpr milliseconds first_pause = 20ms;
/// Of bytes that make no sense, for the log.
constexpr std::size_t shown_bytes_max = 40;

std::string text_of(const std::exception_ptr& problem) {
    try {
        std::rethrow_exception(problem);
    } catch (const std::exception& cause) {
        return protocol::sanitised(cause.what());
    } catch (...) {
        return "unknown";
    }
}

}  // namespace

template <typename Clock>
basic_redis_master<Clock>::basic_redis_master(redis_master_options options, master_events& events)
    : _options(std::move(options)),
      _events(events),
      _pipeline(_options.limits, _counted),
      _attempt_timer([this] {
          end(fmt::format("{} took longer than {}", _stage, _options.masters.connect_timeout));
      }),
      _watch_timer([this] { watch(); }),
      _since(read_clock()),
      _backoff(first_pause, _options.masters.reconnect),
      _random(std::random_device{}()) {}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::start() {
    background(_gate, log, "talking to a master", [this] { return run(); });
    return ss::make_ready_future<>();
}

template <typename Clock>
void basic_redis_master<Clock>::request_stop() {
    if (_stop_source.abort_requested()) {
        return;
    }
    _stop_source.request_abort();
    end("stopping");
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::stop() {
    request_stop();
    if (!_stopped) {
        _stopped.emplace(_gate.close());
    }
    return _stopped->get_future();
}

template <typename Clock>
ss::future<master_result> basic_redis_master<Clock>::send(const command_batch& commands,
                                                          send_options how) {
    if (!_connected || (how.only_on && *how.only_on != _generation)) {
        return ss::make_ready_future<master_result>(std::unexpected(master_error::unreachable));
    }
    if (!_pipeline.has_room(commands.bytes().size())) {
        ++_counted.refused;
        return ss::make_ready_future<master_result>(std::unexpected(master_error::overloaded));
    }
    return expect(commands, how.timeout);
}

template <typename Clock>
void basic_redis_master<Clock>::reconnect(std::string why) {
    if (_connected) {
        end(std::move(why));
    }
}

template <typename Clock>
void basic_redis_master<Clock>::change_credentials(const config::redis_address& address,
                                                   const config::master_options& masters) {
    const bool is_other_user =
        _options.address.user != address.user || _options.address.password != address.password;
    _options.address.user = address.user;
    _options.address.password = address.password;
    _options.address.password_reference = address.password_reference;
    _options.masters.tls_ca = masters.tls_ca;
    _options.masters.tls_certificate = masters.tls_certificate;
    _options.masters.tls_key = masters.tls_key;
    _trust = {};
    ++_certificates;
    if (is_other_user) {
        ++_credentials;
        log_in_again();
    }
}

/// A connection needs no other one for that: Redis changes whose it is, and forgets nothing else.
template <typename Clock>
void basic_redis_master<Clock>::log_in_again() {
    if (_connected && !_options.address.password.empty()) {
        background(_gate, log, "logging in anew", [this] { return log_in(); });
    }
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::log_in() {
    const auto answer = co_await expect(login(_options.address), std::nullopt);
    if (!answer) {
        co_return;  // the next connection begins with it
    }
    if (answer->replies.front().is_error()) {
        log.warn("{}: master {} does not take the new credentials: {}; the connection stays",
                 _options.name, _options.address.show(),
                 protocol::sanitised(answer->replies.front().text(), shown_bytes_max));
        co_return;
    }
    log.info("{}: logged in anew at master {}", _options.name, _options.address.show());
}

template <typename Clock>
ss::future<master_result> basic_redis_master<Clock>::expect(const command_batch& commands,
                                                            std::optional<milliseconds> timeout) {
    enqueue(commands.bytes());
    if (commands.replies() == 0) {
        return ss::make_ready_future<master_result>(master_replies{.replies = {},
                                                                   .generation = _generation,
                                                                   .sent = _unsent_since,
                                                                   .received = _unsent_since});
    }
    return _pipeline.expect({.replies = commands.replies(),
                             .bytes = commands.bytes().size(),
                             .timeout = timeout,
                             .generation = _generation,
                             .sent = _unsent_since});
}

template <typename Clock>
void basic_redis_master<Clock>::enqueue(std::string_view bytes) {
    if (_unsent.empty()) {
        // One look at the clock serves all that leaves together.
        _unsent_since = read_clock();
        _write_wanted.signal();
    }
    _unsent.append(bytes);
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::run() {
    while (!_stop_source.abort_requested()) {
        co_await live();
        if (!_stop_source.abort_requested()) {
            co_await pause();
        }
    }
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::pause() {
    const double chance = std::uniform_real_distribution<double>(0.0, 1.0)(_random);
    const milliseconds length = _backoff.next(chance);
    report_failure(length);
    // A stop ends the pause with an exception; run() sees the stop itself.
    (co_await ss::coroutine::as_future(ss::sleep_abortable<Clock>(length, _stop_source)))
        .ignore_ready_future();
}

/// One connection, from the attempt to the end.
template <typename Clock>
ss::future<> basic_redis_master<Clock>::live() {
    _ended = false;
    _why_ended.clear();
    _parser = protocol::reply_parser();
    ++_attempts;
    _attempt_timer.arm(Clock::now() + _options.masters.connect_timeout);
    auto opened = co_await ss::coroutine::as_future(open());
    if (opened.failed()) {
        end(text_of(opened.get_exception()));
    }
    if (!_ended) {
        // The greeting first: a master that is full or forbidden speaks before it is spoken to, and
        // what it says must find someone who waits for it.
        auto greeted = greet();
        auto written = write_loop();
        auto read = read_loop();
        co_await ss::when_all_succeed(std::move(greeted), std::move(written), std::move(read))
            .discard_result();
    }
    if (_socket) {
        co_await _socket->close();
        _socket.reset();
    }
    _unsent.clear();
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::open() {
    if (_options.address.tls) {
        _stage = "reading certificates";
        co_await read_certificates();
        if (_ended) {
            co_return;
        }
    }
    _stage = "connecting";
    _socket.emplace(link_socket::options{.address = _options.address,
                                         .trust = _trust,
                                         .silence = _options.masters.silence,
                                         .first_address = _attempts - 1});
    co_await _socket->open();
    _stage = "the greeting";
}

/// Files are read for each connection, because certificates are replaced before they expire; those
/// of the system's authorities once, for they are many.
template <typename Clock>
ss::future<> basic_redis_master<Clock>::read_certificates() {
    const auto& files = _options.masters;
    if (_trust && files.tls_ca.empty() && files.tls_certificate.empty()) {
        co_return;
    }
    const auto edition = _certificates;
    auto read = co_await ss::coroutine::as_future(load_tls_trust(tls_files_of(files)));
    if (edition != _certificates) {
        read.ignore_ready_future();
        throw std::runtime_error("there are other certificates now");
    }
    if (!read.failed()) {
        _trust = read.get();
        co_return;
    }
    if (!_trust) {
        std::rethrow_exception(read.get_exception());
    }
    log.warn("{}: {}; the certificates from before stay in use", _options.name,
             text_of(read.get_exception()));
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::greet() {
    const uint64_t credentials = _credentials;
    const auto answer = co_await expect(greeting(_options.address, _options.name), std::nullopt);
    if (_ended || !answer) {
        co_return;  // whoever ended it has said why
    }
    if (auto refused = greeting_refused(_options.address, answer->replies)) {
        end(std::move(*refused));
        co_return;
    }
    welcome();
    if (credentials != _credentials) {
        log_in_again();  // they have changed meanwhile
    }
}

template <typename Clock>
void basic_redis_master<Clock>::welcome() {
    _attempt_timer.cancel();
    _connected = true;
    ++_generation.value;
    ++_counted.connections;
    _attempts = 0;
    _overdue.reset();
    _since = read_clock();
    log.info("{}: connected to master {}, connection {}", _options.name, _options.address.show(),
             _generation.value);
    _logged_error.clear();
    const milliseconds patience = std::min(_options.masters.ping, _options.masters.silence);
    _watch_timer.arm_periodic(std::max<milliseconds>(patience / 4, 1ms));
    _events.connected(*this);
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::read_loop() {
    auto over = co_await ss::coroutine::as_future(read_replies());
    if (over.failed()) {
        end(text_of(over.get_exception()));
    }
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::read_replies() {
    std::string tail;  // of an incomplete reply; whole ones are read where they came in
    while (!_ended) {
        const auto bytes = co_await _socket->read();
        if (bytes.empty()) {
            end(_connected ? "the master closed the connection"
                           : "the master closed the connection before it had greeted us");
            co_return;
        }
        const instant now = read_clock();
        _last_heard = Clock::now();
        _counted.bytes_received += bytes.size();
        std::string_view unread(bytes.get(), bytes.size());
        if (!tail.empty()) {
            tail.append(unread);
            unread = tail;
        }
        while (!_ended) {
            const std::string_view at = unread;
            const auto [outcome, consumed] = _parser.parse(unread);
            unread.remove_prefix(consumed);
            if (outcome == protocol::reply_outcome::need_more) {
                break;
            }
            if (outcome == protocol::reply_outcome::broken) {
                end(fmt::format("it does not speak RESP: {}, in '{}'", _parser.error(),
                                protocol::sanitised(at, shown_bytes_max)),
                    master_error::protocol_error);
                co_return;
            }
            take(_parser.take(), now);
            co_await ss::coroutine::maybe_yield();
        }
        tail = std::string(unread);
    }
}

template <typename Clock>
void basic_redis_master<Clock>::take(protocol::reply reply, instant now) {
    if (reply.kind() == protocol::reply_kind::push) {
        ++_counted.pushes;
        if (_connected) {
            _events.pushed(*this, std::move(reply));
        }
        return;
    }
    const std::string text = reply.is_error() ? std::string(reply.text()) : std::string();
    if (!_pipeline.take(std::move(reply), now)) {
        end(fmt::format("it answered what nobody had asked: '{}'",
                        protocol::sanitised(text, shown_bytes_max)),
            master_error::protocol_error);
    }
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::write_loop() {
    auto over = co_await ss::coroutine::as_future(write_requests());
    if (over.failed()) {
        end(text_of(over.get_exception()));
    }
}

template <typename Clock>
ss::future<> basic_redis_master<Clock>::write_requests() {
    while (!_ended) {
        co_await _write_wanted.wait([this] { return _ended || !_unsent.empty(); });
        // Behind everything that can already run in this turn, so that its requests come along.
        co_await ss::yield();
        while (!_ended && !_unsent.empty()) {
            auto block = _unsent.take();
            ++_counted.writes;
            _counted.bytes_sent += block.size();
            co_await _socket->write(block.view());
            _unsent.give_back(std::move(block));
        }
    }
}

/// Called now and then while connected.
template <typename Clock>
void basic_redis_master<Clock>::watch() {
    const auto now = Clock::now();
    const auto since = _pipeline.owed_since();
    if (since && now - *since >= _options.masters.silence) {
        // Once more, after everything has been read that there is: it may be us who stood still.
        if (_overdue == since) {
            end(fmt::format("no answer for {}: gone or stuck",
                            std::chrono::duration_cast<milliseconds>(now - *since)));
        }
        _overdue = since;
        return;
    }
    if (since) {
        return;
    }
    if (now - _last_heard >= _options.masters.ping) {
        command_batch ping;
        ping.add("PING");
        // That something comes back is all that matters; if nothing does, this timer sees it.
        abandon(expect(ping, std::nullopt));
    }
}

/// The end of a connection or attempt, whatever ended it; the first reason counts. Everything that
/// is under way on it ends by itself, soon.
template <typename Clock>
void basic_redis_master<Clock>::end(std::string why, master_error error) {
    if (std::exchange(_ended, true)) {
        return;
    }
    _why_ended = std::move(why);
    _attempt_timer.cancel();
    _watch_timer.cancel();
    const bool was_connected = std::exchange(_connected, false);
    if (_socket) {
        _socket->cut();
    }
    _write_wanted.broadcast();
    if (!_stop_source.abort_requested()) {
        _last_error = _why_ended;
        _counted.failed_attempts += was_connected ? 0 : 1;
    }
    if (was_connected) {
        if (error != master_error::protocol_error) {
            _backoff.reset();  // nonsense would be as quick to come again as we are
        }
        _since = read_clock();
        _events.disconnected(*this, _why_ended);
    }
    _pipeline.fail_all(error);
}

/// Once per reason: a master that is down for a day is not worth a line every two seconds.
template <typename Clock>
void basic_redis_master<Clock>::report_failure(milliseconds pause) {
    const auto level = _why_ended == _logged_error ? ss::log_level::debug : ss::log_level::warn;
    log.log(level, "{}: no connection to master {}: {}; next attempt in {}", _options.name,
            _options.address.show(), _why_ended, pause);
    _logged_error = _why_ended;
}

template <typename Clock>
master_state basic_redis_master<Clock>::state() const {
    return {.address = _options.address.show(),
            .connected = _connected,
            .generation = _generation,
            .since = _since,
            .last_error = _last_error,
            .requests_in_flight = _pipeline.requests(),
            .bytes_in_flight = _pipeline.bytes(),
            .statistics = _counted};
}

template class basic_redis_master<ss::lowres_clock>;
template class basic_redis_master<ss::manual_clock>;

}  // namespace lockkeeper::shards
