#include "shards/masters/subscription.hh"

#include <seastar/core/manual_clock.hh>
#include <utility>

#include "shards/background.hh"

namespace lockkeeper::shards {

namespace {

constexpr std::chrono::milliseconds not_waited_for{1};

}  // namespace

template <typename Clock>
basic_subscription<Clock>::basic_subscription(redis_master_options options, handlers call)
    : _call(std::move(call)), _link(std::move(options), *this) {}

template <typename Clock>
bool basic_subscription<Clock>::subscribe(std::string_view channel) {
    if (_channels.contains(channel)) {
        return true;
    }
    if (_channels.size() >= channels_max) {
        return false;
    }
    _channels.emplace(channel);
    tell("SUBSCRIBE", channel);
    return true;
}

template <typename Clock>
void basic_subscription<Clock>::unsubscribe(std::string_view channel) {
    if (const auto found = _channels.find(channel); found != _channels.end()) {
        tell("UNSUBSCRIBE", channel);
        _channels.erase(found);
    }
}

/// Without a connection nothing happens here: connected() tells everything.
template <typename Clock>
void basic_subscription<Clock>::tell(std::string_view verb, std::string_view channel) {
    command_batch command;
    const std::string_view words[] = {verb, channel};
    command.add_pushed(words);
    // Answered by a push, so there is nothing to wait for.
    abandon(_link.send(command, {.timeout = not_waited_for}));
}

template <typename Clock>
void basic_subscription<Clock>::connected(master&) {
    for (const std::string& channel : _channels) {
        tell("SUBSCRIBE", channel);
    }
}

template <typename Clock>
void basic_subscription<Clock>::disconnected(master&, const std::string&) {}

template <typename Clock>
void basic_subscription<Clock>::pushed(master&, protocol::reply message) {
    const auto parts = message.items();
    if (parts.size() != 3) {
        return;
    }
    if (parts[0].text() == "message") {
        _call.message(parts[1].text(), parts[2].text());
    } else if (parts[0].text() == "subscribe" && _channels.contains(parts[1].text())) {
        _call.listening(parts[1].text());
    }
}

template class basic_subscription<ss::lowres_clock>;
template class basic_subscription<ss::manual_clock>;

}  // namespace lockkeeper::shards
