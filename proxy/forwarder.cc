#include "proxy/forwarder.hh"

#include <fmt/format.h>

#include <optional>
#include <seastar/core/coroutine.hh>
#include <seastar/util/log.hh>
#include <set>
#include <stdexcept>
#include <utility>

#include "protocol/command_writer.hh"
#include "protocol/text.hh"
#include "proxy/away_holders.hh"
#include "proxy/client.hh"
#include "proxy/link.hh"
#include "proxy/peers.hh"
#include "proxy/scripts/library.hh"
#include "proxy/services.hh"
#include "shards/background.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("forwarding");

/// `began`: if how long it took tells something.
void count(forwarding_counters& counted, const forward_result& result,
           std::optional<shards::instant> began) {
    if (result && began) {
        counted.took.count_won(shards::read_clock() - *began);
    }
    counted.not_home += !result && result.error() == forward_trouble::not_home ? 1 : 0;
    counted.broken += !result && result.error() == forward_trouble::unknown ? 1 : 0;
}

/// Who waits for a lock may be many, and what is told of them long; another proxy is one of us.
protocol::limits answer_limits() {
    constexpr size_t bytes_max = 64 * 1024 * 1024;
    constexpr size_t values_max = bytes_max / 4;  // as sent, the shortest has as many
    protocol::limits bounds;
    bounds.reply_bytes_max = bounds.reply_bulk_bytes_max = bytes_max;
    bounds.reply_values_max = bounds.reply_elements_max = values_max;
    return bounds;
}

constexpr std::string_view by_sha = "EVALSHA";
constexpr std::string_view by_sha_read_only = "EVALSHA_RO";

/// Empty: it is no such call, or the script is one that every proxy knows.
std::string_view script_text(const protocol::request& request) {
    using protocol::equals_ignoring_case;
    const bool is_call = equals_ignoring_case(request.name(), by_sha) ||
                         equals_ignoring_case(request.name(), by_sha_read_only);
    return is_call && request.size() > 1 ? scripts::library::here().text_of(request[1])
                                         : std::string_view();
}

}  // namespace

/// With one proxy. Ends with the link, or when the other side ends it; then a new one is begun at
/// the next call.
class forwarder::conversation {
public:
    conversation(client& owner, std::string home, uint64_t number, ss::connected_socket socket)
        : _owner(owner),
          _home(std::move(home)),
          _number(number),
          _socket(std::move(socket)),
          _in(std::move(_socket.input()).detach()),
          _out(std::move(_socket.output()).detach()) {
        shards::background(_gate, log, "listening to another proxy",
                           [this] { return read_loop(); });
    }

    bool is_over() const { return _over; }
    uint64_t number() const { return _number; }

    ss::future<forward_result> call(const protocol::request& request, client_choices as) {
        protocol::output bytes;
        follow(as, bytes);
        write(bytes, request, true);
        return send(bytes);
    }

    ss::future<forward_result> call_together(std::span<const owned_request> requests,
                                             client_choices as) {
        protocol::output bytes;
        follow(as, bytes);
        for (const owned_request& each : requests) {
            const auto views = each.views();
            write(bytes, protocol::request{views}, false);
        }
        for (size_t i = 1; i < requests.size(); ++i) {
            _expected.emplace_back();
        }
        return send(bytes);
    }

    bool is_waiting() const { return !_expected.empty(); }

    /// Any words do; what is answered to them nobody reads.
    void say_something() {
        if (_over) {
            return;
        }
        protocol::output bytes;
        protocol::write_command(bytes, "PING");
        _expected.emplace_back();
        const auto chunk = bytes.take();
        // If it fails, so does the conversation.
        shards::abandon(_out.put(ss::temporary_buffer<char>(chunk.bytes.get(), chunk.size))
                            .handle_exception([](const std::exception_ptr&) {}));
    }

    /// Because its client has left.
    void leave() {
        _left = true;
        cut();
    }

    ss::future<> close() {
        leave();
        co_await _gate.close();
        co_await _out.close().handle_exception([](const std::exception_ptr&) {});
        co_await _in.close().handle_exception([](const std::exception_ptr&) {});
    }

private:
    /// The answer is the next one that nobody waits for yet.
    ss::future<forward_result> send(protocol::output& bytes) {
        auto answer = _expected.emplace_back().emplace().get_future();
        const auto chunk = bytes.take();
        // The bytes are taken at once; if there is no room for more, the answer comes later too.
        auto room = _out.put(ss::temporary_buffer<char>(chunk.bytes.get(), chunk.size));
        if (room.available()) {
            if (room.failed()) {
                cut();
            }
            room.ignore_ready_future();
            return answer;
        }
        return std::move(room)
            .handle_exception([](const std::exception_ptr&) {})
            .then([answer = std::move(answer)]() mutable { return std::move(answer); });
    }

    /// A script that clients have shown to us the home may not have seen: it gets the text once.
    /// `is_alone`: it is carried out in any case, which a transaction may not be.
    void write(protocol::output& bytes, const protocol::request& request, bool is_alone) {
        constexpr size_t scripts_told_max = 1024;
        const std::string_view text = script_text(request);
        if (text.empty() || _scripts_told.contains(protocol::to_lower(request[1]))) {
            return protocol::write_command(bytes, request.args);
        }
        std::vector<std::string_view> words(request.begin(), request.end());
        words[0] = words[0].size() == by_sha.size() ? "EVAL" : "EVAL_RO";
        words[1] = text;
        protocol::write_command(bytes, words);
        if (is_alone && _scripts_told.size() < scripts_told_max) {
            _scripts_told.insert(protocol::to_lower(request[1]));
        }
    }

    void cut() {
        _socket.shutdown_input();
        _socket.shutdown_output();
    }

    /// Locks that live by this conversation will end, and its client does not know.
    void tell_losses() {
        for (const shards::lost_grant& each : _owner.away.conversation_ended(_home)) {
            _owner.all.locks.local().announce(
                {.channel = "lockkeeper:lost",
                 .payload = fmt::format("{} {} {}", each.key, each.owner, each.fence)});
            _owner.tell_lost(each);
        }
    }

    /// A change of database or version goes ahead of the next command.
    void follow(client_choices as, protocol::output& bytes) {
        if (const int version = static_cast<int>(as.spoken); version != _version) {
            protocol::write_command(bytes, "HELLO", version);
            _expected.emplace_back();
            _version = version;
        }
        if (as.database != _database) {
            protocol::write_command(bytes, "SELECT", as.database);
            _expected.emplace_back();
            _database = as.database;
        }
    }

    ss::future<> read_loop() {
        auto trouble = forward_trouble::unknown;
        try {
            co_await read_replies();
        } catch (const channel_refused&) {
            trouble = forward_trouble::not_sent;  // as good as that
        } catch (const std::exception& problem) {
            log.debug("client {}: {}", _owner.id, problem.what());
        } catch (...) {
            log.debug("client {}: an unknown problem", _owner.id);
        }
        _over = true;
        cut();
        for (auto& each : std::exchange(_expected, {})) {
            if (each) {
                each->set_value(std::unexpected(trouble));
            }
        }
        if (!_left) {
            tell_losses();
        }
    }

    ss::future<> read_replies() {
        std::string unread;
        while (true) {
            const auto bytes = co_await _in.get();
            if (bytes.empty()) {
                co_return;
            }
            std::string_view rest(bytes.get(), bytes.size());
            if (!unread.empty()) {
                rest = unread.append(rest);
            }
            while (true) {
                const auto [outcome, consumed] = _parser.parse(rest);
                rest.remove_prefix(consumed);
                if (outcome == protocol::reply_outcome::broken) {
                    throw std::runtime_error(std::string(_parser.error()));
                }
                if (outcome == protocol::reply_outcome::need_more) {
                    break;
                }
                take(_parser.take());
            }
            unread = std::string(rest);
        }
    }

    void take(protocol::reply reply) {
        if (reply.kind() == protocol::reply_kind::push) {
            if (const auto items = reply.items();
                items.size() == 4 && items[0].text() == "lk.lost") {
                _owner.away.lost(_home, items[1].text(), items[2].text(),
                                 static_cast<uint64_t>(items[3].as_integer().value_or(0)));
            }
            return _owner.relay(reply);
        }
        if (_expected.empty()) {
            throw std::runtime_error("an answer that nobody asked for");
        }
        auto whom = std::move(_expected.front());
        _expected.pop_front();
        if (!whom) {
            return;  // to a command of our own
        }
        if (reply.is_error() && reply.error_code() == not_home_code) {
            whom->set_value(std::unexpected(forward_trouble::not_home));
        } else {
            if (reply.is_error() && reply.error_code() == "NOSCRIPT") {
                _scripts_told.clear();  // they have been flushed there, or there were too many
            }
            whom->set_value(std::move(reply));
        }
    }

    client& _owner;
    std::string _home;
    uint64_t _number;
    ss::connected_socket _socket;
    ss::data_source _in;
    ss::data_sink _out;
    protocol::reply_parser _parser{answer_limits()};
    /// In order; nothing for a command of our own.
    std::deque<std::optional<ss::promise<forward_result>>> _expected;
    std::set<std::string> _scripts_told;  ///< SHA-1s
    uint32_t _database = 0;
    int _version = 2;
    bool _over = false;
    bool _left = false;
    ss::gate _gate;
};

forwarder::forwarder(client& owner) : _owner(owner) {}

forwarder::~forwarder() = default;

client_choices forwarder::choices() const {
    return {.database = _owner.database, .spoken = _owner.reply.spoken()};
}

/// Which of the locks that live by a connection do so no longer when this is done; it may be that
/// of another client.
forwarder::ended_locks forwarder::locks_ended_by(const protocol::request& request,
                                                 uint32_t database) const {
    using protocol::equals_ignoring_case;
    const auto name = request.name();
    ended_locks ends{.database = database};
    if (!away_holders::any() || request.size() < 3) {
        return ends;
    }
    const bool is_release = equals_ignoring_case(name, "lk.release");
    if (is_release || equals_ignoring_case(name, "lk.extend")) {
        ends.keys.emplace_back(request[1]);
        ends.owner = request[2];
        ends.only_if_none_left = is_release;
    } else if (equals_ignoring_case(name, "lk.releaseall")) {
        ends.owner = request[request.size() - 1];
        for (size_t i = 2; i + 1 < request.size(); ++i) {
            ends.keys.emplace_back(request[i]);
        }
    }
    return ends;
}

void forwarder::note_ended(const ended_locks& ends, const protocol::reply& answer) {
    const auto number = answer.as_integer();
    if (!number || (ends.only_if_none_left && *number != 0)) {
        return;
    }
    for (const std::string& key : ends.keys) {
        _owner.away.gone(ends.database, key, ends.owner);
        away_holders::released(ends.database, key, ends.owner);
    }
}

forwarder::conversation* forwarder::talk_to(std::string_view home) {
    auto known = _with.find(home);
    if (known != _with.end() && known->second->is_over()) {
        // Nothing is under way in it any more but its end.
        auto over = std::move(known->second);
        _with.erase(known);
        known = _with.end();
        shards::abandon(over->close().finally([over = std::move(over)] {}));
    }
    if (known == _with.end()) {
        const std::string whose = fmt::format("{}\n{}", _owner.peer, _owner.name);
        auto socket = _owner.all.links.local().open(home, whose);
        if (!socket) {
            return nullptr;
        }
        known = _with
                    .emplace(std::string(home),
                             std::make_unique<conversation>(_owner, std::string(home), ++_begun,
                                                            std::move(*socket)))
                    .first;
    }
    return known->second.get();
}

ss::future<forward_result> forwarder::call(std::string_view home, const protocol::request& request,
                                           call_options how) {
    conversation* const with = talk_to(home);
    if (with == nullptr) {
        return ss::make_ready_future<forward_result>(std::unexpected(forward_trouble::not_sent));
    }
    auto& counted = _owner.all.links.local().counted(home);
    ++counted.forwarded;
    const auto began = how.may_last ? std::nullopt : std::optional(shards::read_clock());
    const client_choices as = how.as_of.value_or(choices());
    return with->call(request, as)
        .then([this, ends = locks_ended_by(request, as.database), &counted,
               began](forward_result result) {
            if (!ends.keys.empty() && result) {
                note_ended(ends, *result);
            }
            count(counted, result, began);
            return result;
        });
}

ss::future<forward_result> forwarder::call_together(std::string_view home,
                                                    std::span<const owned_request> requests,
                                                    std::optional<uint64_t> only_in) {
    const bool may_be_sent = !only_in || (*only_in != 0 && *only_in == conversation_with(home));
    conversation* const with = may_be_sent ? talk_to(home) : nullptr;
    if (with == nullptr) {
        return ss::make_ready_future<forward_result>(std::unexpected(forward_trouble::not_sent));
    }
    // Of a transaction: its answers are one reply, to the EXEC at the end.
    const client_choices as = choices();
    std::vector<std::pair<size_t, ended_locks>> ends;
    for (size_t i = 0; i < requests.size(); ++i) {
        const auto views = requests[i].views();
        if (auto ended = locks_ended_by(protocol::request{views}, as.database);
            !ended.keys.empty()) {
            ends.emplace_back(requests.size() - 1 - i, std::move(ended));
        }
    }
    auto& counted = _owner.all.links.local().counted(home);
    ++counted.forwarded;
    const auto began = shards::read_clock();
    return with->call_together(requests, as)
        .then([this, ends = std::move(ends), &counted, began](forward_result result) {
            const auto answers = result ? result->items() : std::span<const protocol::reply>();
            for (const auto& [from_the_end, ended] : ends) {
                if (from_the_end <= answers.size()) {
                    note_ended(ended, answers[answers.size() - from_the_end]);
                }
            }
            count(counted, result, began);
            return result;
        });
}

void forwarder::say_that_there_is_more() {
    for (const auto& [home, with] : _with) {
        if (with->is_waiting()) {
            with->say_something();
        }
    }
}

void forwarder::say_that_all_was_heard() {
    for (const auto& [home, with] : _with) {
        with->say_something();
    }
}

uint64_t forwarder::conversation_with(std::string_view home) const {
    const auto found = _with.find(home);
    return found == _with.end() || found->second->is_over() ? 0 : found->second->number();
}

void forwarder::cut() {
    for (const auto& [home, with] : _with) {
        with->leave();
    }
}

ss::future<> forwarder::close() {
    for (auto& [home, with] : std::exchange(_with, {})) {
        co_await with->close();
    }
}

}  // namespace lockkeeper::proxy
