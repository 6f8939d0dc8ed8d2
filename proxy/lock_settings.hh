#pragma once

#include "config/config.hh"
#include "shards/core/clock.hh"
#include "shards/core/keyspace.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/waiting_room.hh"

/// From the configuration, which knows nothing of locks, to the options of a core's lock table. The
/// same for every core.
namespace lockkeeper::proxy {

/// Without fences: where these begin and end is known to shards::fence_ceiling. `now` is the start
/// that `embedded.start_delay` counts from.
shards::lock_table_options table_options(const config::config& settings, shards::instant now);
shards::waiting_room_options room_options(const config::config& settings);
shards::policy_book policies(const config::config& settings);

}  // namespace lockkeeper::proxy
