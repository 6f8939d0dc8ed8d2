#pragma once

#include <memory>
#include <seastar/core/future.hh>
#include <string>
#include <vector>

#include "config/config.hh"
#include "shards/masters/master.hh"
#include "shards/masters/redis_master.hh"

namespace lockkeeper::shards {

/// The masters of one stripe, as one core talks to them. Owns their connections; their order is
/// that of the configuration, and a master's index is its place in it.
template <typename Clock>
class basic_master_set {
public:
    /// `events` outlives the set.
    basic_master_set(const config::stripe_options& stripe, const config::master_options& options,
                     master_events& events);

    /// Begins to connect to all; waits for none.
    ss::future<> start();
    void request_stop();
    ss::future<> stop();

    /// Of the same masters, in the same order.
    void change_credentials(const config::stripe_options& stripe,
                            const config::master_options& options);

    const std::string& stripe() const { return _stripe; }
    std::size_t size() const { return _masters.size(); }
    master& at(std::size_t index) { return *_masters.at(index); }
    std::vector<master*> all();
    std::size_t connected() const;

    /// How each fares, for LK.STRIPES and metrics.
    std::vector<master_state> states() const;

private:
    std::string _stripe;
    std::vector<std::unique_ptr<basic_redis_master<Clock>>> _masters;
};

using master_set = basic_master_set<ss::lowres_clock>;

}  // namespace lockkeeper::shards
