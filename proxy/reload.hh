#pragma once

#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/semaphore.hh>
#include <seastar/core/sharded.hh>
#include <string>
#include <vector>

#include "config/config.hh"
#include "proxy/admin/server.hh"
#include "proxy/configuration_source.hh"
#include "proxy/listener.hh"
#include "proxy/user_roll.hh"

namespace lockkeeper::proxy {

/// Reads the configuration again while the server runs. Lives on the first core.
///
/// All or nothing: a file with a mistake, or with a change that only a restart can make, changes
/// nothing, and the log says why. Whatever can fail is done before the first core changes; then
/// each core changes in one step, connections and locks stay.
class reloader {
public:
    reloader(configuration_source source, config::config settings,
             ss::sharded<shards::lock_service>& locks, ss::sharded<listener>& listeners,
             ss::sharded<user_roll>& users, user_loads& loads, admin::server& door);
    /// Waits for the reload under way; there are no more.
    ss::future<> stop();

    const config::config& settings() const { return _settings; }

    /// One after the other. What has changed, or why nothing has, in words for people.
    struct outcome {
        bool applied;
        std::string text;
    };
    ss::future<outcome> reload();

    /// The one of this process, from any core; nothing before the server serves.
    static ss::future<std::optional<outcome>> ask();

private:
    ss::future<outcome> reload_in_turn();
    /// Whatever can fail about another configuration, on every core, before anything changes.
    ss::future<> prepare(const config::config& next);
    ss::future<> apply(const config::config& next);
    ss::future<> meet_masters_otherwise();

    configuration_source _source;
    config::config _settings;
    ss::sharded<shards::lock_service>& _locks;
    ss::sharded<listener>& _listeners;
    ss::sharded<user_roll>& _users;
    user_loads& _loads;
    admin::server& _door;
    ss::semaphore _turn{1};
};

/// Those of a configuration that has been checked.
std::vector<access::user> make_roll(const config::config& settings);

void set_log_level(config::log_level level);

}  // namespace lockkeeper::proxy
