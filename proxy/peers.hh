#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/shared_ptr.hh>
#include <seastar/net/api.hh>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hh"
#include "proxy/link_origin.hh"
#include "shards/announcement.hh"
#include "shards/core/lease_counters.hh"
#include "shards/core/proxy_roster.hh"
#include "shards/home_directory.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// The version of what is said over links; a peer with another one is not talked to.
inline constexpr int64_t link_version = 3;

/// What a peer must show and is shown.
struct own_card {
    std::string id{};
    std::string address{};
    std::string fingerprint{};
};

/// Requests that went to one peer.
struct forwarding_counters {
    uint64_t forwarded = 0;
    uint64_t not_home = 0;        ///< it was not the home of the key (any more)
    uint64_t broken = 0;          ///< the link broke before the answer
    shards::lease_counters took;  ///< how long answers took that nobody waited for; `won` of them

    forwarding_counters& operator+=(const forwarding_counters& more) {
        forwarded += more.forwarded;
        not_home += more.not_home;
        broken += more.broken;
        took += more.took;
        return *this;
    }
};

/// How a peer fares, for LK.PROXIES.
struct peer_view {
    std::string id{};
    std::string address{};
    std::string version{};
    bool is_self = false;
    bool alive = false;
    std::string_view link = "none";
    std::string reason{};
    forwarding_counters counted{};
};

/// The other proxies of the fleet, as one core talks to them: a link to each, made again when it
/// breaks. Who they are the registry tells, or the configuration; that they are who they say, each
/// link finds out anew. Without a secret nothing happens here.
class peers final : public shards::home_directory, public ss::peering_sharded_service<peers> {
public:
    using members = std::vector<shards::proxy_roster::member>;
    /// A client of another proxy: whose requests to serve, as the other proxy describes it.
    using welcome = std::function<void(ss::connected_socket, link_origin from, std::string who)>;
    using question = std::function<ss::future<std::optional<std::string>>(uint32_t, std::string)>;

    peers(const config::config& settings, own_card card);
    virtual ~peers();
    ss::future<> stop();

    bool enabled() const { return _settings.proxies.has_value(); }
    const own_card& card() const { return _card; }
    const std::string& secret() const { return _settings.proxies->secret; }

    /// Who there is, as the registry sees it.
    void update(members all);
    bool is_reachable(std::string_view proxy) const override;
    ss::future<std::optional<std::string>> ask_who_has(uint32_t database,
                                                       std::string key) const override;
    /// How to ask for that; nobody to ask: null.
    void ask_with(question ask) { _ask = std::move(ask); }
    /// A conversation with that proxy on behalf of a client; nothing if there is no link.
    std::optional<ss::connected_socket> open(std::string_view proxy, std::string_view client);
    /// What is counted of a proxy that can be reached: by its address, for it is another proxy
    /// after each start.
    forwarding_counters& counted(std::string_view proxy);

    /// Tells all peers that can be reached: somebody may listen there.
    void publish(const shards::announcement& what);
    /// Whom to tell what peers publish.
    void hear_with(std::function<void(shards::announcement)> listener) {
        _hear = std::move(listener);
    }
    void heard(shards::announcement what);

    /// Whom to call when a peer opens a conversation on this core, and whether there is a place for
    /// its client.
    void serve_with(welcome serve, std::function<bool()> has_place) {
        _welcome = std::move(serve);
        _has_place = std::move(has_place);
    }
    bool has_place() const { return _welcome && !_stopping && _has_place(); }
    void take_in(ss::connected_socket channel, link_origin from, std::string who);

    /// A number that no order of any proxy has had.
    std::string new_order();

    std::vector<peer_view> views() const;
    /// Whom to call when peers have come or gone; nobody: null.
    void when_changed(std::function<void()> call) { _changed = std::move(call); }

private:
    class peer;

    void tell_changes();

    bool is_wanted(const shards::proxy_roster::member& one) const;

    const config::config& _settings;
    own_card _card;
    members _members;
    std::map<std::string, ss::lw_shared_ptr<peer>> _peers;             ///< by address
    std::map<std::string, forwarding_counters, std::less<>> _counted;  ///< by address
    std::function<void()> _changed;
    std::set<std::string> _known;  ///< addresses that _changed has been called for
    welcome _welcome;
    std::function<bool()> _has_place;
    question _ask;
    std::function<void(shards::announcement)> _hear;
    uint64_t _orders = 0;
    ss::gate _gate;
    bool _stopping = false;
};

/// host:port; nothing if it makes no sense.
std::optional<config::redis_address> parse_endpoint(std::string_view text);

}  // namespace lockkeeper::proxy
