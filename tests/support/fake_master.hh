#pragma once

#include <cassert>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "protocol/request_parser.hh"
#include "shards/masters/master.hh"

namespace lockkeeper::tests {

namespace ss = seastar;

/// A master without a Redis behind it, for those who drive masters. It remembers what it was sent,
/// and answers when and what the test says: in time, late, never, or with the end of the
/// connection. It keeps no time of its own: a test says when a request has timed out.
class fake_master final : public shards::master {
public:
    using words = std::vector<std::string>;
    struct request {
        std::vector<words> commands;
        shards::send_options how;
    };

    explicit fake_master(uint32_t index = 0, shards::master_events* events = nullptr)
        : _index(index), _events(events) {}

    // What the driver sees.

    ss::future<shards::master_result> send(const shards::command_batch& commands,
                                           shards::send_options how) override {
        if (!_connected || (how.only_on && *how.only_on != _generation)) {
            return ss::make_ready_future<shards::master_result>(
                std::unexpected(shards::master_error::unreachable));
        }
        _waiting.push_back(waiting{.asked = {.commands = split(commands.bytes()), .how = how}});
        return _waiting.back().done.get_future();
    }
    void reconnect(std::string why) override { disconnect(why); }
    bool is_connected() const override { return _connected; }
    shards::link_generation generation() const override { return _generation; }
    uint32_t index() const override { return _index; }

    // What the test does.

    void connect() {
        _connected = true;
        ++_generation.value;
        if (_events != nullptr) {
            _events->connected(*this);
        }
    }
    void disconnect(const std::string& why = "the test says so") {
        if (!std::exchange(_connected, false)) {
            return;
        }
        if (_events != nullptr) {
            _events->disconnected(*this, why);
        }
        while (!_waiting.empty()) {
            fail(shards::master_error::connection_lost);
        }
    }
    std::size_t waiting_requests() const { return _waiting.size(); }
    /// The oldest request that has not been answered.
    const request& front() const { return _waiting.front().asked; }
    void answer(std::vector<protocol::reply> replies, shards::instant sent = {},
                shards::instant received = {}) {
        take().set_value(shards::master_replies{.replies = std::move(replies),
                                                .generation = _generation,
                                                .sent = sent,
                                                .received = received});
    }
    void fail(shards::master_error why) { take().set_value(std::unexpected(why)); }

private:
    struct waiting {
        request asked;
        ss::promise<shards::master_result> done{};
    };

    ss::promise<shards::master_result> take() {
        assert(!_waiting.empty());  // the test answers what was not asked
        auto done = std::move(_waiting.front().done);
        _waiting.pop_front();
        return done;
    }
    static std::vector<words> split(std::string_view bytes) {
        protocol::request_parser parser;
        std::vector<words> commands;
        while (true) {
            const auto [outcome, consumed] = parser.parse(bytes);
            if (outcome != protocol::request_outcome::request) {
                return commands;
            }
            const auto command = parser.request();
            commands.emplace_back(command.begin(), command.end());
            bytes.remove_prefix(consumed);
        }
    }

    uint32_t _index;
    shards::master_events* _events;
    bool _connected = false;
    shards::link_generation _generation{};
    std::deque<waiting> _waiting;
};

}  // namespace lockkeeper::tests
