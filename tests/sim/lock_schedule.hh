#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "draws.hh"
#include "shards/core/clock.hh"
#include "shards/core/keyspace.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/waiting_room.hh"

namespace lockkeeper::sim {

/// The machine has run for a while when a schedule begins.
inline constexpr shards::instant start = shards::instant{} + std::chrono::hours(1);

/// How late timers are, at most, and how often the expired are cleared away.
inline constexpr milliseconds lateness{3};
inline constexpr milliseconds clearing_interval{20};

/// What a key is used for. Now and then somebody gets it wrong.
enum class usage : uint8_t { lock, semaphore, hash };

struct key_plan {
    std::string name;
    uint32_t database = 0;
    usage used_as = usage::lock;
    uint32_t permits = 1;
    shards::lock_policy policy;
};

/// How probable each kind of misbehaviour is, in percent of the occasions for it.
struct hostility {
    unsigned crash = 0;           ///< never releases
    unsigned disconnect = 0;      ///< while it holds, or waits
    unsigned lost_reply = 0;      ///< the connection ends between a grant and its reply
    unsigned oversleep = 0;       ///< holds on after its lease
    unsigned mistake = 0;         ///< wrong owner, wrong type, released twice
    unsigned administrators = 0;  ///< DEL, EXPIRE, FLUSHDB and so on, per mille of all steps
    unsigned deferral = 0;        ///< a command over several cores keeps everybody else waiting
};

/// Everything that a seed decides before the first event.
struct schedule {
    explicit schedule(uint64_t seed);

    uint64_t seed;
    draws random;
    std::vector<key_plan> keys;
    hostility bad;
    shards::lock_table_options options;
    shards::waiting_room_options waiting;
    uint32_t native_clients = 0;
    uint32_t collectors = 0;  ///< of several locks
    uint32_t pollers = 0;
    uint32_t hash_clients = 0;
    bool administrator = false;
    bool restarts = false;  ///< the process does, now and then
    /// Asks the table for its own word as well, and not the oracle alone.
    bool asks_the_table = true;
    /// Typical times of a schedule: some are hot, some are slow.
    milliseconds hold{};
    milliseconds think{};
    milliseconds ttl{};
    milliseconds wait{};
    nanoseconds length{};

    uint32_t clients() const { return native_clients + collectors + pollers + hash_clients; }
};

}  // namespace lockkeeper::sim
