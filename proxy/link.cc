#include "proxy/link.hh"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <seastar/core/coroutine.hh>
#include <seastar/core/when_all.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/packet.hh>
#include <seastar/net/stack.hh>
#include <seastar/util/later.hh>
#include <stdexcept>

#include "protocol/command_writer.hh"
#include "protocol/text.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

constexpr shards::link_rules rules;

/// As the core counts time.
shards::instant now_for_watch() {
    return shards::instant{
        std::chrono::nanoseconds(ss::lowres_clock::now().time_since_epoch()).count()};
}

/// Of one frame; longer replies are sent in pieces.
constexpr size_t frame_bytes_max = 32 * 1024;
/// Of a message; what is longer stays at the proxy that it was said to.
constexpr size_t message_bytes_max = 256 * 1024;
/// What one side has not taken yet. Beyond it, who sends waits.
constexpr size_t unsent_max = 1024 * 1024;
/// What a channel has been given and has not read: its other end sends a batch and waits for the
/// answers, so this much means that something is wrong.
constexpr size_t unread_max = 64 * 1024 * 1024;
constexpr size_t channels_max = 200'000;

protocol::limits frame_limits() {
    protocol::limits bounds;
    bounds.arguments_max = 6;
    bounds.bulk_bytes_max = message_bytes_max;
    return bounds;
}

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

/// One end of a conversation. Shared by the link and by whoever reads and writes; outlives either.
class link_channel : public ss::enable_lw_shared_from_this<link_channel> {
public:
    link_channel(link& owner, uint64_t number) : _owner(&owner), _number(number) {}

    // What the link does.
    void deliver(std::string_view bytes) {
        if (_in_ended) {
            return;
        }
        ss::temporary_buffer<char> copy(bytes.data(), bytes.size());
        if (_reader) {
            std::exchange(_reader, std::nullopt)->set_value(std::move(copy));
            return;
        }
        _unread_bytes += copy.size();
        _unread.push_back(std::move(copy));
    }
    size_t unread_bytes() const { return _unread_bytes; }
    /// The other side has gone, or the link has.
    void end() {
        _owner = nullptr;
        end_input();
    }
    /// The other side has not opened it.
    void refuse() {
        _is_refused = true;
        end();
    }

    // What its user does.
    ss::future<ss::temporary_buffer<char>> get() {
        if (!_unread.empty()) {
            auto next = std::move(_unread.front());
            _unread.pop_front();
            _unread_bytes -= next.size();
            return ss::make_ready_future<ss::temporary_buffer<char>>(std::move(next));
        }
        if (_in_ended) {
            return last_words();
        }
        return _reader.emplace().get_future();
    }
    ss::future<> put(std::string_view bytes) {
        if (_owner == nullptr || _out_ended) {
            return ss::make_exception_future<>(std::runtime_error("the link has ended"));
        }
        return _owner->send(_number, bytes);
    }
    void end_input() {
        if (std::exchange(_in_ended, true)) {
            return;
        }
        if (_reader) {
            last_words().forward_to(std::move(*std::exchange(_reader, std::nullopt)));
        }
        if (_hang_up) {
            std::exchange(_hang_up, std::nullopt)->set_value();
        }
    }
    void end_output() {
        if (!std::exchange(_out_ended, true) && _owner != nullptr) {
            const auto self = shared_from_this();
            std::exchange(_owner, nullptr)->close(_number);
        }
    }
    ss::future<> hang_up() {
        return _in_ended ? ss::make_ready_future<>() : _hang_up.emplace().get_future();
    }

private:
    ss::future<ss::temporary_buffer<char>> last_words() const {
        using bytes = ss::temporary_buffer<char>;
        return _is_refused ? ss::make_exception_future<bytes>(channel_refused())
                           : ss::make_ready_future<bytes>();
    }

    link* _owner;
    uint64_t _number;
    std::deque<ss::temporary_buffer<char>> _unread;
    size_t _unread_bytes = 0;
    std::optional<ss::promise<ss::temporary_buffer<char>>> _reader;
    std::optional<ss::promise<>> _hang_up;
    bool _is_refused = false;
    bool _in_ended = false;
    bool _out_ended = false;
};

namespace {

using channel_ptr = ss::lw_shared_ptr<link_channel>;

class channel_source final : public ss::data_source_impl {
public:
    explicit channel_source(channel_ptr channel) : _channel(std::move(channel)) {}
    ss::future<ss::temporary_buffer<char>> get() override { return _channel->get(); }
    ss::future<> close() override {
        _channel->end_input();
        return ss::make_ready_future<>();
    }

private:
    channel_ptr _channel;
};

class channel_sink final : public ss::data_sink_impl {
public:
    explicit channel_sink(channel_ptr channel) : _channel(std::move(channel)) {}
    ss::future<> put(ss::net::packet data) override { return fallback_put(std::move(data)); }
    ss::future<> put(ss::temporary_buffer<char> bytes) override {
        return _channel->put({bytes.get(), bytes.size()});  // copied before it returns
    }
    ss::future<> close() override {
        _channel->end_output();
        return ss::make_ready_future<>();
    }
    size_t buffer_size() const noexcept override { return frame_bytes_max; }

private:
    channel_ptr _channel;
};

/// A channel, as a socket.
class channel_socket final : public ss::net::connected_socket_impl {
public:
    explicit channel_socket(channel_ptr channel) : _channel(std::move(channel)) {}
    ~channel_socket() override {
        _channel->end_input();
        _channel->end_output();
    }

    ss::data_source source() override {
        return ss::data_source(std::make_unique<channel_source>(_channel));
    }
    ss::data_source source(ss::connected_socket_input_stream_config) override { return source(); }
    ss::data_sink sink() override {
        return ss::data_sink(std::make_unique<channel_sink>(_channel));
    }
    void shutdown_input() override { _channel->end_input(); }
    void shutdown_output() override { _channel->end_output(); }
    ss::future<> wait_input_shutdown() override { return _channel->hang_up(); }

    // What a channel has not got.
    void set_nodelay(bool) override {}
    bool get_nodelay() const override { return true; }
    void set_keepalive(bool) override {}
    bool get_keepalive() const override { return true; }
    void set_keepalive_parameters(const ss::net::keepalive_params&) override {}
    ss::net::keepalive_params get_keepalive_parameters() const override {
        return ss::net::tcp_keepalive_params{};
    }
    void set_sockopt(int, int, const void*, size_t) override {}
    int get_sockopt(int, int, void*, size_t) const override { return 0; }
    ss::socket_address local_address() const noexcept override { return {}; }
    ss::socket_address remote_address() const noexcept override { return {}; }

private:
    channel_ptr _channel;
};

ss::connected_socket to_socket(channel_ptr channel) {
    return ss::connected_socket(std::make_unique<channel_socket>(std::move(channel)));
}

}  // namespace

link::link(link_wire& wire, callee who)
    : _wire(wire),
      _callee(std::move(who)),
      _parser(frame_limits()),
      _timer([this] { watch(); }),
      _watch(rules, now_for_watch()) {}

link::~link() = default;

ss::future<std::string> link::serve(std::string early) {
    _timer.arm_periodic(rules.watch_period);
    auto written = write_loop();
    auto read = read_loop(std::move(early));
    co_await ss::when_all_succeed(std::move(written), std::move(read)).discard_result();
    _timer.cancel();
    co_await _waiting.close();
    co_return _why;
}

void link::cut(std::string why) {
    if (std::exchange(*_ended, true)) {
        return;
    }
    _why = std::move(why);
    _wire.cut();
    _write_wanted.broadcast();
    _written.broadcast();
    for (const auto& [number, channel] : std::exchange(_channels, {})) {
        channel->end();
    }
}

void link::finish() {
    _finishing = true;
    _write_wanted.broadcast();
}

void link::tell(const shards::announcement& what) {
    if (*_ended || _unsent.size() > unsent_max || what.channel.size() > message_bytes_max ||
        what.payload.size() > message_bytes_max) {
        return;
    }
    const std::string_view space = what.where == shards::announcement::space::channel ? "c" : "s";
    if (what.frees) {
        protocol::write_command(_unsent, "m", space, what.channel, what.payload,
                                what.frees->database, what.frees->key);
    } else {
        protocol::write_command(_unsent, "m", space, what.channel, what.payload);
    }
    wake_writer();
}

ss::connected_socket link::open(std::string_view greeting) {
    const uint64_t number = ++_opened;
    auto channel = ss::make_lw_shared<link_channel>(*this, number);
    _channels.emplace(number, channel);
    protocol::write_command(_unsent, "o", number, greeting);
    wake_writer();
    return to_socket(std::move(channel));
}

// ---- out ----------------------------------------------------------------------------------------

void link::wake_writer() {
    _write_wanted.signal();
}

ss::future<> link::send(uint64_t channel, std::string_view bytes) {
    for (size_t at = 0; at < bytes.size(); at += frame_bytes_max) {
        protocol::write_command(_unsent, "d", channel, bytes.substr(at, frame_bytes_max));
    }
    wake_writer();
    if (_unsent.size() < unsent_max) {
        return ss::make_ready_future<>();
    }
    return ss::with_gate(_waiting, [this] {
        return _written.wait([this] { return *_ended || _unsent.size() < unsent_max; });
    });
}

void link::close(uint64_t channel) {
    if (_channels.erase(channel) > 0 && !*_ended) {
        protocol::write_command(_unsent, "c", channel);
        wake_writer();
    }
}

ss::future<> link::write_loop() {
    auto over = co_await ss::coroutine::as_future(write_frames());
    if (over.failed()) {
        cut(text_of(over.get_exception()));
    }
}

ss::future<> link::write_frames() {
    while (!*_ended) {
        if (is_finished()) {
            co_return cut("stopping");
        }
        co_await _write_wanted.wait(
            [this] { return *_ended || !_unsent.empty() || is_finished(); });
        // Behind everything that can already run in this turn, so that it comes along.
        co_await ss::yield();
        while (!*_ended && !_unsent.empty()) {
            const auto chunk = _unsent.take();
            _written.broadcast();
            co_await _wire.write(chunk.view());
        }
    }
}

// ---- in -----------------------------------------------------------------------------------------

ss::future<> link::read_loop(std::string early) {
    auto over = co_await ss::coroutine::as_future(read_frames(std::move(early)));
    if (over.failed()) {
        cut(text_of(over.get_exception()));
    } else {
        cut("the other side closed the connection");
    }
}

ss::future<> link::read_frames(std::string early) {
    std::string tail = std::move(early);
    bool is_first = !tail.empty();
    while (!*_ended) {
        ss::temporary_buffer<char> bytes;
        if (!std::exchange(is_first, false)) {
            bytes = co_await _wire.read();
            if (bytes.empty()) {
                co_return;
            }
        }
        if (_callee.welcome) {
            _watch.heard(now_for_watch());
        }
        std::string_view unread(bytes.get(), bytes.size());
        if (!tail.empty()) {
            unread = tail.append(unread);
        }
        while (!*_ended) {
            const auto [outcome, taken] = _parser.parse(unread);
            if (outcome == protocol::request_outcome::request) {
                take(_parser.request());
            }
            unread.remove_prefix(taken);
            if (outcome == protocol::request_outcome::need_more) {
                break;
            }
            if (outcome == protocol::request_outcome::broken) {
                throw std::runtime_error(
                    fmt::format("what it says makes no sense: {}", _parser.error()));
            }
        }
        tail = std::string(unread);
    }
}

void link::take(const protocol::request& frame) {
    if (frame.name() == "p") {
        return hear_sign(frame);
    }
    if (frame.name() == "m" && _callee.hear) {
        return hear(frame);
    }
    const auto number = frame.size() > 1 ? protocol::parse_integer(frame[1]) : std::nullopt;
    if (!number || *number < 0) {
        return cut("what it says makes no sense: a frame without a channel");
    }
    const auto channel = static_cast<uint64_t>(*number);
    const auto found = _channels.find(channel);
    if (frame.name() == "d" && frame.size() == 3) {
        if (found == _channels.end()) {
            return;  // closed here meanwhile
        }
        found->second->deliver(frame[2]);
        if (found->second->unread_bytes() > unread_max) {
            cut("it sends more than anybody reads");
        }
    } else if (frame.name() == "c" || frame.name() == "n") {
        if (found != _channels.end()) {
            const auto ended = found->second;
            _channels.erase(found);
            frame.name() == "n" ? ended->refuse() : ended->end();
            _write_wanted.signal();
        }
    } else if (frame.name() == "o" && frame.size() == 3 && _callee.welcome &&
               found == _channels.end() && _channels.size() < channels_max) {
        if (_finishing || !_callee.has_place()) {
            protocol::write_command(_unsent, "n", channel);
            return wake_writer();
        }
        auto opened = ss::make_lw_shared<link_channel>(*this, channel);
        _channels.emplace(channel, opened);
        _callee.welcome(to_socket(std::move(opened)), std::string(frame[2]));
    } else {
        cut(fmt::format("what it says makes no sense: '{}'",
                        protocol::sanitised(frame.name(), 20)));
    }
}

/// The side that was called says the number back.
void link::hear_sign(const protocol::request& frame) {
    const auto number = frame.size() == 2 ? protocol::parse_integer(frame[1]) : std::nullopt;
    if (!number || *number < 0) {
        return cut("what it says makes no sense: a sign of life without a number");
    }
    if (_callee.welcome) {
        protocol::write_command(_unsent, "p", *number);
        return wake_writer();
    }
    _watch.echoed(static_cast<uint64_t>(*number));
}

void link::hear(const protocol::request& frame) {
    if (frame.size() != 4 && frame.size() != 6) {
        return cut("what it says makes no sense: half a message");
    }
    shards::announcement what{.where = frame[1] == "s" ? shards::announcement::space::shard_channel
                                                       : shards::announcement::space::channel,
                              .channel = std::string(frame[2]),
                              .payload = std::string(frame[3])};
    if (frame.size() == 6) {
        const auto database = protocol::parse_integer(frame[4]);
        if (!database || *database < 0) {
            return cut("what it says makes no sense: a lock of no database");
        }
        what.frees = shards::freed_lock{.database = static_cast<uint32_t>(*database),
                                        .key = std::string(frame[5])};
    }
    _callee.hear(std::move(what));
}

void link::watch() {
    const auto now = now_for_watch();
    if (_watch.is_gone(now)) {
        return cut("silent for too long: gone or stuck");
    }
    if (_callee.welcome) {
        return;  // it is the caller who asks
    }
    if (const auto number = _watch.sign(now)) {
        protocol::write_command(_unsent, "p", *number);
        wake_writer();
    }
}

}  // namespace lockkeeper::proxy
