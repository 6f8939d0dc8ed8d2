#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <vector>

#include "config/config.hh"
#include "shards/core/lock_table.hh"
#include "shards/lease_keeper.hh"
#include "shards/stripe_group.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// The masters behind the locks of one core: a group for each stripe, and the leases that they hold
/// for us.
class fleet {
public:
    /// `proxy` is our id, the same on all cores of this process and on no other proxy. `changed` is
    /// called when leases have changed and somebody may be served.
    fleet(const config::config& settings, std::string proxy, lock_table& table,
          std::function<void(instant)> changed);
    ~fleet();

    ss::future<> start();
    ss::future<> stop();

    /// Of the same masters in the same stripes. Connections stay, and so do votes.
    void change_credentials(const config::config& next);

    lease_keeper& leases() { return *_leases; }

    struct stripe_state {
        std::string name;
        std::vector<voter_state> masters;
    };
    std::vector<stripe_state> states() const;

    /// What all proxies of the fleet must have in common.
    const std::string& fingerprint() const { return _fingerprint; }
    const std::string& proxy() const { return _proxy; }
    /// The masters on which proxies register: those of the first stripe.
    stripe_group& registry() { return *_groups.front(); }

private:
    class relay;

    std::string _fingerprint;
    std::string _proxy;
    std::unique_ptr<relay> _relay;
    std::vector<std::unique_ptr<stripe_group>> _groups;
    std::optional<lease_keeper> _leases;
};

/// A new one for each start of the process.
std::string draw_proxy_id();

}  // namespace lockkeeper::shards
