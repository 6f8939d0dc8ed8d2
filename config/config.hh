#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/redis_address.hh"

namespace lockkeeper::config {

using std::chrono::milliseconds;

/// Where clients connect.
struct server_options {
    /// Loopback by default: a lock server without a password must not face a network by accident.
    std::string address = "127.0.0.1";
    /// One above Redis' own port, so that both run side by side.
    uint16_t port = 6380;
    /// Connections that the kernel holds until we accept them. A fleet that reconnects at once
    /// after a restart overflows Redis' 511 and then waits for TCP's retry timer.
    uint32_t backlog = 4096;
    /// The version told in HELLO and INFO. Clients choose their lock idiom by it.
    std::string redis_version = "7.2.4";
};

/// Named bounds for everything that a client can make grow.
struct limit_options {
    /// Connections over all cores; more are told so and closed. Redis' own default.
    uint32_t clients = 10'000;
    /// Arguments of one command. Lock commands have fewer than 20; Redisson renews 100 keys at
    /// once.
    uint32_t arguments = 1'024;
    /// Bytes of one argument. Owner tokens are short; scripts of the largest lock libraries have 4
    /// KiB.
    uint32_t argument_bytes = 64 * 1024;
    /// Bytes read but not yet understood, per connection.
    uint32_t query_bytes = 1024 * 1024;
    /// Bytes of replies that a client has not read yet; reading from it stops there.
    uint32_t output_bytes = 1024 * 1024;
    /// Commands of one connection under way at once; reading from it stops there.
    uint32_t pipelined_commands = 1'024;
    /// A connection silent for longer is closed; 0 never closes, as in Redis.
    milliseconds idle{0};
};

/// How the process ends.
struct shutdown_options {
    /// What a SIGTERM may take: replies under way are written, then connections are cut.
    milliseconds deadline{1'500};
};

/// Everything that can be configured. Plain values: a copy of it goes to every core.
struct config {
    server_options server;
    limit_options limits;
    shutdown_options shutdown;
    /// Where everything goes that is not a lock. None: every key is a lock, and other commands are
    /// unknown.
    std::optional<redis_address> data{};
    /// Patterns of the keys that are locks, as in Redis' KEYS; means something with `data` only.
    std::vector<std::string> locks = {"*"};
};

}  // namespace lockkeeper::config
