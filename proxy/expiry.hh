#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shards/core/clock.hh"
#include "shards/core/lock_types.hh"

/// Between the times of Redis' commands (seconds or milliseconds, from now or since 1970) and
/// instants.
namespace lockkeeper::proxy {

enum class time_unit : uint8_t { seconds, milliseconds };
enum class time_origin : uint8_t { now, epoch };

/// The wall clock, in milliseconds since 1970. For what clients see and say in those terms, never
/// for validity.
int64_t wall_clock_ms();

/// When a client's number is; nothing if it does not fit into the milliseconds that Redis counts
/// in.
std::optional<shards::instant> to_instant(int64_t number, time_unit unit, time_origin origin,
                                          shards::instant now);

/// What PTTL tells: milliseconds left, -1 without an end, -2 without a key. A started millisecond
/// counts.
int64_t milliseconds_left(const shards::lifetime& life, shards::instant now);
int64_t milliseconds_left(std::optional<shards::instant> until, shards::instant now);

}  // namespace lockkeeper::proxy
