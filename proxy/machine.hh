#pragma once

#include <cstdint>
#include <string>

/// What this machine allows: read before the reactor starts, to choose defaults that fit.
namespace lockkeeper::proxy {

struct machine {
    unsigned cores;         ///< that this process may run on
    uint64_t memory_bytes;  ///< of the machine or of the container, whichever is smaller
    uint64_t aio_free;      ///< kernel AIO requests that no other process has reserved
};

machine inspect_machine();

/// Resident memory for all cores when the user does not say: plenty for a million locks, and never
/// more than half of a small machine.
uint64_t default_memory(const machine& here);

/// What one core cannot do without: its own structures, buffers and a few thousand connections.
inline constexpr uint64_t memory_per_core_least = 32ULL << 20;

struct network_backend {
    std::string name;            ///< Seastar's --reactor-backend
    unsigned requests_per_core;  ///< Seastar's --max-networking-io-control-blocks
};

/// linux-aio is the fastest by far where it fits into the kernel's limit on outstanding requests
/// (one for each connection), epoll works everywhere.
network_backend default_backend(const machine& here, unsigned cores, unsigned clients_per_core);

}  // namespace lockkeeper::proxy
