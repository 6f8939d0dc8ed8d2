#pragma once

#include <cstdint>

namespace lockkeeper::proxy {

/// Listeners that were told that a lock has come free.
struct wake_up_counters {
    uint64_t told = 0;
    uint64_t rounds = 0;  ///< releases that began to tell them, one after the other
    uint64_t rounds_ended = 0;

    wake_up_counters& operator+=(const wake_up_counters& other) {
        told += other.told;
        rounds += other.rounds;
        rounds_ended += other.rounds_ended;
        return *this;
    }
};

/// What one core has counted since the start; INFO adds the cores up.
struct statistics {
    uint64_t connections = 0;
    uint64_t connections_refused = 0;
    uint64_t commands = 0;
    uint64_t error_replies = 0;
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;
    wake_up_counters woken{};

    statistics& operator+=(const statistics& other) {
        connections += other.connections;
        connections_refused += other.connections_refused;
        commands += other.commands;
        error_replies += other.error_replies;
        bytes_in += other.bytes_in;
        bytes_out += other.bytes_out;
        woken += other.woken;
        return *this;
    }
};

}  // namespace lockkeeper::proxy
