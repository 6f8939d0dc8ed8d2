#pragma once

#include <chrono>
#include <optional>
#include <seastar/core/future.hh>
#include <string>

#include "shards/masters/master.hh"
#include "shards/masters/vote_commands.hh"

namespace lockkeeper::shards {

/// Asks a connected master whether the user that we are there may do what we do there: in a
/// transaction that is thrown away, for Redis judges each command when it is queued. Nothing is
/// carried out.
///
/// The first thing that it may not, in the master's words; nothing if it may do everything, as far
/// as that can be known: rights for the names of locks, which clients choose, are not asked for.
/// `who` outlives the future.
ss::future<std::optional<std::string>> find_missing_right(master& who, std::string stripe,
                                                          std::chrono::milliseconds timeout);

}  // namespace lockkeeper::shards
