#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockkeeper::sim {

/// Everything that a run must have exercised. One that never did proves nothing about it.
enum class feature : uint8_t {
    native_grants,
    shared_grants,
    permit_grants,
    bound_grants,
    second_holds,
    downgrades,
    plain_grants,
    hash_grants,
    multi_locks,
    multi_locks_given_back,
    multi_locks_lost,
    multi_locks_held_before,
    hand_offs,
    parked_hand_offs,
    time_outs,
    cancelled,
    refused_waits,
    no_room,
    taken_back,
    resent,
    reservations,
    kept_from,
    releases,
    extensions,
    renewals,
    expiries,
    losses,
    delayed,
    disconnects,
    breaks,
    deletions,
    expire_commands,
    overwritten,
    flushes,
    turns,
    no_fence,
    starting,
    wrong_type,
    restarts,
    count_,
};

inline constexpr size_t features = static_cast<size_t>(feature::count_);

inline constexpr std::array<const char*, features> feature_names = {
    "native grants",
    "shared grants",
    "grants of permits",
    "grants bound to a connection",
    "second holds",
    "downgrades",
    "SET NX won",
    "hash locks taken",
    "multi-locks complete",
    "multi-locks given back",
    "multi-locks of which one was lost",
    "multi-locks of which one was held",
    "hand-offs",
    "hand-offs to parked SET NX",
    "waits timed out",
    "waits cancelled",
    "waits refused",
    "places in line refused",
    "grants taken back",
    "SET NX resent and won",
    "reservations for pollers",
    "refused although free",
    "releases",
    "extensions",
    "compare and expire",
    "locks expired",
    "losses told",
    "locks closed for their delay",
    "disconnects",
    "LK.BREAK",
    "DEL",
    "EXPIRE and PERSIST",
    "SET over a lock",
    "FLUSHDB",
    "turns of commands over several cores",
    "refused for lack of fences",
    "refused by the start delay",
    "refused for the type",
    "restarts",
};

using coverage = std::array<uint64_t, features>;

}  // namespace lockkeeper::sim
