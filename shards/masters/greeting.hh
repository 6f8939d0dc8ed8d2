#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/redis_address.hh"
#include "protocol/reply.hh"
#include "shards/masters/command_batch.hh"

namespace lockkeeper::shards {

/// The first words on a connection to a master: RESP3, who we are, our name for CLIENT LIST, and
/// the database. HELLO carries the first three and is allowed to every user, so an ACL needs to
/// permit nothing for it.
command_batch greeting(const config::redis_address& address, std::string_view name);

/// The same user, or another one, on a connection that is there.
command_batch login(const config::redis_address& address);

/// Why the master does not let us in, in words for an operator and without our password; nothing if
/// it does. `replies` are those to greeting().
std::optional<std::string> greeting_refused(const config::redis_address& address,
                                            std::span<const protocol::reply> replies);

}  // namespace lockkeeper::shards
