#pragma once

#include <seastar/core/sharded.hh>

#include "config/config.hh"
#include "proxy/clients.hh"
#include "proxy/pubsub.hh"
#include "proxy/statistics.hh"
#include "proxy/user_roll.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

class peers;

/// What the sessions of one core work with. Made by the app before the listeners, gone after them.
struct services {
    const config::config& settings;
    ss::sharded<shards::lock_service>& locks;
    ss::sharded<pubsub>& messages;
    ss::sharded<clients>& everyone;
    ss::sharded<user_roll>& users;
    ss::sharded<peers>& links;
    statistics& counted;
};

}  // namespace lockkeeper::proxy
