#pragma once

#include <cstdint>

namespace lockkeeper::proxy {

/// What one core has counted since the start; INFO adds the cores up.
struct statistics {
    uint64_t connections = 0;
    uint64_t connections_refused = 0;
    uint64_t commands = 0;
    uint64_t error_replies = 0;
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;

    statistics& operator+=(const statistics& other) {
        connections += other.connections;
        connections_refused += other.connections_refused;
        commands += other.commands;
        error_replies += other.error_replies;
        bytes_in += other.bytes_in;
        bytes_out += other.bytes_out;
        return *this;
    }
};

}  // namespace lockkeeper::proxy
