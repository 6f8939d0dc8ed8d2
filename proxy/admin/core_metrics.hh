#pragma once

#include <seastar/core/future.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/metrics_registration.hh>
#include <seastar/core/sharded.hh>
#include <vector>

#include "proxy/clients.hh"
#include "proxy/peers.hh"
#include "proxy/user_roll.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy::admin {

namespace ss = seastar;

/// What one core tells Prometheus. Nothing here is on the way of a command: the numbers are counted
/// anyway, and read when somebody asks. docs/metrics.md lists them, and a test compares.
class core_metrics {
public:
    core_metrics(ss::sharded<shards::lock_service>& locks, ss::sharded<clients>& everyone,
                 ss::sharded<user_roll>& users, ss::sharded<peers>& links);

    ss::future<> stop();

    /// There are others now.
    void show_users();

private:
    void add_locks();
    void add_clients();
    void add_leases();
    void add_masters();
    void add_process();
    void show_peers();
    const std::vector<peer_view>& seen_peers();
    /// Null if it has gone.
    const peer_view* peer(std::string_view address);
    /// To look at all masters takes some work, and many metrics ask for it in one go.
    const std::vector<shards::fleet::stripe_state>& stripes();
    /// Null if there is no such master (any more).
    const shards::voter_state* master(size_t stripe, size_t number);

    shards::lock_service& _locks;
    clients& _everyone;
    user_roll& _users;
    peers& _links;
    std::vector<shards::fleet::stripe_state> _stripes;
    ss::lowres_clock::time_point _looked{};
    std::vector<peer_view> _peers;
    ss::lowres_clock::time_point _looked_at_peers{};
    ss::metrics::metric_groups _groups;
    ss::metrics::metric_groups _of_users;
    ss::metrics::metric_groups _of_peers;
};

}  // namespace lockkeeper::proxy::admin
