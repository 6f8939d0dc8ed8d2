#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/endpoint.hh"
#include "bench/load/retry.hh"

namespace lockkeeper::bench {

enum class protocol_kind : std::uint8_t { native, set_nx, blpop, redlock };

enum class load_mode : std::uint8_t {
    uncontended,  ///< each client has a key of its own
    hot,          ///< all want the same key
    zipf,         ///< some keys are more popular than others
    spread,       ///< all keys are equally popular
    once,         ///< one key; everybody queues, then each gets it exactly once
    renew,        ///< each client holds a key of its own and renews it
};

/// Everything that can be said on the command line, and what it is by default.
struct load_options {
    std::vector<endpoint> servers{};
    protocol_kind protocol = protocol_kind::set_nx;
    load_mode mode = load_mode::uncontended;
    std::uint32_t clients = 50;
    std::uint32_t keys = 1'000;
    double zipf_exponent = 0.99;
    /// Sections that each client keeps under way on its connection, each on a key of its own.
    std::uint32_t depth = 1;
    std::chrono::nanoseconds hold{};
    std::chrono::nanoseconds think{};
    std::chrono::nanoseconds renew_every = std::chrono::milliseconds(100);
    /// Mode once: arrivals by the clock. Unset: each comes when the one before is in the queue.
    std::optional<std::chrono::nanoseconds> gap{};
    std::uint32_t idle = 0;

    std::chrono::nanoseconds ttl = std::chrono::seconds(30);
    /// Unset: what is usual for the protocol.
    std::optional<retry_strategy> retry{};
    /// The longest that RedLock waits for votes before it counts the attempt as failed.
    std::chrono::nanoseconds round_timeout = std::chrono::seconds(1);

    std::chrono::nanoseconds duration = std::chrono::seconds(5);
    std::chrono::nanoseconds warmup = std::chrono::seconds(1);
    std::chrono::nanoseconds drain = std::chrono::seconds(5);

    std::uint32_t threads = 1;
    std::vector<std::uint32_t> cpus{};
    std::chrono::nanoseconds spin{};
    std::uint32_t sources = 0;

    std::vector<pid_t> server_pids{};
    std::vector<endpoint> masters{};
    std::chrono::nanoseconds starved_after = std::chrono::seconds(3);
    std::string label{};
    bool verify = false;
    std::string key_prefix = "lock:";
    std::optional<std::uint64_t> seed{};
    bool allow_remote = false;
    bool help = false;
};

/// Longer prefixes would not leave a key its fixed room in a client.
inline constexpr std::size_t key_prefix_bytes_max = 32;

std::string_view name_of(protocol_kind protocol);
std::string_view name_of(load_mode mode);

/// The error is one line without a line end: which option, and what is wrong with it. Addresses
/// that are not of this machine are an error unless allowed.
std::expected<load_options, std::string> parse_options(std::span<const char* const> arguments);

/// The text of --help.
std::string help_text();

}  // namespace lockkeeper::bench
