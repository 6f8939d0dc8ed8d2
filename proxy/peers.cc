#include "proxy/peers.hh"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <seastar/core/abort_source.hh>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/log.hh>
#include <stdexcept>
#include <utility>

#include "protocol/command_writer.hh"
#include "protocol/reply_parser.hh"
#include "protocol/text.hh"
#include "proxy/link.hh"
#include "proxy/link_handshake.hh"
#include "proxy/version.hh"
#include "shards/background.hh"
#include "shards/masters/backoff.hh"
#include "shards/masters/link_socket.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

ss::logger log("proxies");

constexpr milliseconds first_pause = 50ms;
constexpr milliseconds longest_pause = 2s;

std::string text_of(const std::exception_ptr& problem) {
    try {
        std::rethrow_exception(problem);
    } catch (const std::exception& cause) {
        return protocol::sanitised(cause.what());
    } catch (...) {
        return "unknown";
    }
}

/// Our end of a connection to a peer.
class caller_wire final : public link_wire {
public:
    explicit caller_wire(shards::link_socket& socket) : _socket(socket) {}
    ss::future<ss::temporary_buffer<char>> read() override { return _socket.read(); }
    ss::future<> write(std::string_view bytes) override { return _socket.write(bytes); }
    void cut() noexcept override { _socket.cut(); }

private:
    shards::link_socket& _socket;
};

}  // namespace

std::optional<config::redis_address> parse_endpoint(std::string_view text) {
    const auto address = config::parse_redis_address("redis://" + std::string(text));
    if (!address || !address->password.empty() || text.contains('/')) {
        return std::nullopt;
    }
    return *address;
}

/// One address at which a peer may be, and the link to it.
///
///     connecting --greeted--> up --broke--> down --pause--> connecting
///         +--it is not one of us, or not as we are--> refused --pause--> connecting
class peers::peer {
public:
    peer(peers& all, config::redis_address address)
        : _all(all),
          _address(std::move(address)),
          _name(show_endpoint(_address)),
          _backoff(first_pause, longest_pause),
          _random(std::random_device{}()) {
        _address.tls = all._settings.proxies->tls;
    }

    ss::future<> run() {
        while (!_stop.abort_requested()) {
            const std::string why = co_await attempt();
            if (_stop.abort_requested()) {
                break;
            }
            const auto pause = _backoff.next(std::uniform_real_distribution<>(0.0, 1.0)(_random));
            note_failure(why);
            (co_await ss::coroutine::as_future(ss::sleep_abortable(pause, _stop)))
                .ignore_ready_future();
        }
    }

    void request_stop() {
        if (_stop.abort_requested()) {
            return;
        }
        _stop.request_abort();
        if (_link) {
            _link->cut("not a peer any more");
        } else if (_socket) {
            _socket->cut();
        }
    }

    bool is_up() const { return _link && _link->is_up(); }
    link& way() { return *_link; }
    const std::string& id() const { return _id; }
    const std::string& version() const { return _version; }
    std::string_view state() const { return is_up() ? "up" : _state; }
    const std::string& reason() const { return _reason; }

private:
    /// One connection, from the call to its end. Why it ended.
    ss::future<std::string> attempt() {
        const milliseconds patience = _all._settings.masters.connect_timeout;
        _state = "connecting";
        _is_refused = false;
        bool too_late = false;
        shards::tls_trust trust;
        if (_address.tls) {
            auto loaded = co_await ss::coroutine::as_future(load_tls_trust(tls_files()));
            if (loaded.failed()) {
                co_return text_of(loaded.get_exception());
            }
            trust = loaded.get();
            if (_stop.abort_requested()) {
                co_return "stopping";
            }
        }
        _socket.emplace(shards::link_socket::options{.address = _address,
                                                     .trust = std::move(trust),
                                                     .silence = _all._settings.masters.silence});
        ss::timer<ss::lowres_clock> deadline([this, &too_late] {
            too_late = true;
            _socket->cut();
        });
        deadline.arm(patience);
        std::string early;
        auto greeted = co_await ss::coroutine::as_future(greet(early));
        deadline.cancel();
        std::string why;
        if (greeted.failed()) {
            why = text_of(greeted.get_exception());
            why = too_late ? fmt::format("no answer within {} ms", patience.count()) : why;
        } else {
            caller_wire wire(*_socket);
            _link.emplace(wire, link::callee{});
            _reason.clear();
            _logged.clear();
            _backoff.reset();
            log.info("link to proxy {} at {} is up", _id, _name);
            why = co_await _link->serve(std::move(early));
            _link.reset();
        }
        _state = _is_refused ? "refused" : "down";
        co_await _socket->close();
        _socket.reset();
        co_return why;
    }

    /// Ours, for those who want to see the certificate of a client.
    shards::tls_files tls_files() const {
        const auto& own = _all._settings.tls;
        const auto& ca = _all._settings.proxies->tls_ca;
        return {.authorities = ca.empty() ? shards::tls_file{own.ca, "tls.ca"}
                                          : shards::tls_file{ca, "proxies.tls_ca"},
                .certificate = {own.certificate, "tls.certificate"},
                .key = {own.key, "tls.key"}};
    }

    /// Leaves what came behind the last reply in `early`. Throws the reason if it fails.
    ss::future<> greet(std::string& early) {
        co_await _socket->open();
        link_caller caller(_all.card(), _all.secret());
        protocol::reply_parser parser;
        co_await _socket->write(caller.hello());
        while (true) {
            const auto reply = co_await next_reply(parser, early);
            auto answered = caller.on_reply(reply);
            if (!answered) {
                _is_refused = true;
                throw std::runtime_error(answered.error());
            }
            _id = caller.callee();
            _version = caller.callee_version();
            if (answered->empty()) {
                co_return;
            }
            co_await _socket->write(*answered);
        }
    }

    ss::future<protocol::reply> next_reply(protocol::reply_parser& parser, std::string& unread) {
        while (true) {
            const auto [outcome, taken] = parser.parse(unread);
            unread.erase(0, taken);
            if (outcome == protocol::reply_outcome::reply) {
                co_return parser.take();
            }
            if (outcome == protocol::reply_outcome::broken) {
                _is_refused = true;
                throw std::runtime_error("it does not speak RESP: not a Lockkeeper proxy");
            }
            const auto bytes = co_await _socket->read();
            if (bytes.empty()) {
                throw std::runtime_error("it closed the connection");
            }
            unread.append(bytes.get(), bytes.size());
        }
    }

    /// Once per reason, and by one core.
    void note_failure(const std::string& why) {
        _reason = why;
        const bool is_news = why != _logged && ss::this_shard_id() == 0;
        log.log(is_news ? ss::log_level::warn : ss::log_level::debug,
                "no link to the proxy at {}: {}; requests for its locks compete on the masters",
                _name, why);
        _logged = why;
    }

    peers& _all;
    config::redis_address _address;
    std::string _name;
    std::optional<shards::link_socket> _socket;
    std::optional<link> _link;
    std::string _id;
    std::string _version;
    std::string_view _state = "connecting";
    bool _is_refused = false;
    std::string _reason;
    std::string _logged;
    shards::backoff _backoff;
    std::minstd_rand _random;
    ss::abort_source _stop;
};

peers::peers(const config::config& settings, own_card card)
    : _settings(settings), _card(std::move(card)) {}

peers::~peers() = default;

ss::future<> peers::stop() {
    _stopping = true;
    for (const auto& [address, one] : _peers) {
        one->request_stop();
    }
    co_await _gate.close();
}

bool peers::is_wanted(const shards::proxy_roster::member& one) const {
    return one.alive && one.card.fingerprint == _card.fingerprint &&
           one.card.address != _card.address && parse_endpoint(one.card.address);
}

void peers::update(members all) {
    if (_stopping || !enabled()) {
        return;
    }
    _members = std::move(all);
    std::map<std::string, config::redis_address> wanted;
    for (const config::redis_address& pinned : _settings.proxies->peers) {
        wanted.emplace(show_endpoint(pinned), pinned);
    }
    if (_settings.proxies->peers.empty()) {
        for (const auto& one : _members) {
            if (is_wanted(one)) {
                wanted.emplace(one.card.address, *parse_endpoint(one.card.address));
            }
        }
    }
    wanted.erase(_card.address);
    for (auto each = _peers.begin(); each != _peers.end();) {
        if (wanted.contains(each->first) || each->second->is_up()) {
            ++each;
            continue;
        }
        each->second->request_stop();
        each = _peers.erase(each);  // its fiber has it still, and ends soon
    }
    for (const auto& [name, address] : wanted) {
        if (_peers.contains(name)) {
            continue;
        }
        auto one = ss::make_lw_shared<peer>(*this, address);
        _peers.emplace(name, one);
        shards::background(_gate, log, "keeping up a link",
                           [one] { return one->run().finally([one] {}); });
    }
    tell_changes();
}

void peers::tell_changes() {
    std::set<std::string> addresses;
    for (const peer_view& each : views()) {
        addresses.insert(each.address);
    }
    if (std::exchange(_known, addresses) != addresses && _changed) {
        _changed();
    }
}

forwarding_counters& peers::counted(std::string_view proxy) {
    for (const auto& [address, one] : _peers) {
        if (one->is_up() && one->id() == proxy) {
            return _counted[address];
        }
    }
    return _counted[""];  // its link has just gone
}

bool peers::is_reachable(std::string_view proxy) const {
    return std::ranges::any_of(_peers, [proxy](const auto& each) {
        return each.second->is_up() && each.second->id() == proxy;
    });
}

ss::future<std::optional<std::string>> peers::ask_who_has(uint32_t database,
                                                          std::string key) const {
    return _ask && !_stopping ? _ask(database, std::move(key))
                              : ss::make_ready_future<std::optional<std::string>>();
}

std::optional<ss::connected_socket> peers::open(std::string_view proxy, std::string_view client) {
    for (const auto& [address, one] : _peers) {
        if (one->is_up() && one->id() == proxy) {
            return one->way().open(client);
        }
    }
    return std::nullopt;
}

void peers::publish(const shards::announcement& what) {
    for (const auto& [address, one] : _peers) {
        if (one->is_up()) {
            one->way().tell(what);
        }
    }
}

void peers::heard(shards::announcement what) {
    if (_hear && !_stopping) {
        _hear(std::move(what));
    }
}

void peers::take_in(ss::connected_socket channel, link_origin from, std::string who) {
    if (_welcome && !_stopping) {
        _welcome(std::move(channel), std::move(from), std::move(who));
    }
}

std::string peers::new_order() {
    return fmt::format("{}.{}.{}", _card.id, ss::this_shard_id(), ++_orders);
}

std::vector<peer_view> peers::views() const {
    const auto counted_at = [this](const std::string& address) {
        const auto found = _counted.find(address);
        return found == _counted.end() ? forwarding_counters() : found->second;
    };
    std::vector<peer_view> all;
    all.push_back({.id = _card.id,
                   .address = _card.address,
                   .version = std::string(version),
                   .is_self = true,
                   .alive = true,
                   .link = "self"});
    std::map<std::string_view, bool> shown;
    for (const auto& one : _members) {
        peer_view view{.id = one.card.id,
                       .address = one.card.address,
                       .version = one.card.version,
                       .alive = one.alive};
        const auto found = _peers.find(one.card.address);
        if (one.card.fingerprint != _card.fingerprint) {
            view.link = "refused";
            view.reason = "it belongs to another fleet: its stripes or leases differ";
        } else if (found == _peers.end()) {
            view.reason = !one.alive                          ? "it gives no sign of life"
                          : one.card.address == _card.address ? "it says that it is at our address"
                          : !parse_endpoint(one.card.address) ? "its address makes no sense"
                                                              : "it is not one of proxies.peers";
        } else if (found->second->is_up() && found->second->id() != one.card.id) {
            view.link = "refused";
            view.reason = fmt::format("proxy {} answers at its address", found->second->id());
        } else {
            view.link = found->second->state();
            view.reason = found->second->reason();
            shown[found->first] = true;
        }
        view.counted = counted_at(one.card.address);
        all.push_back(std::move(view));
    }
    for (const auto& [address, one] : _peers) {
        if (!shown.contains(address)) {
            all.push_back({.id = one->id(),
                           .address = address,
                           .version = one->version(),
                           .alive = one->is_up(),
                           .link = one->state(),
                           .reason = one->reason(),
                           .counted = counted_at(address)});
        }
    }
    return all;
}

}  // namespace lockkeeper::proxy
