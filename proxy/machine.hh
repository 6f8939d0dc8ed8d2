#pragma once

#include <cstdint>

/// What this machine allows: read before the reactor starts, to choose defaults that fit.
namespace lockkeeper::proxy {

struct machine {
    unsigned cores;         ///< that this process may run on
    uint64_t memory_bytes;  ///< of the machine or of the container, whichever is smaller
};

machine inspect_machine();

/// Resident memory for all cores when the user does not say: plenty for a million locks, and never
/// more than half of a small machine.
uint64_t default_memory(const machine& here);

/// What one core cannot do without: its own structures, buffers and a few thousand connections.
inline constexpr uint64_t memory_per_core_least = 32ULL << 20;

/// Seastar's --reactor-backend: epoll, unless the user says otherwise. It registers a socket with
/// the kernel once, where linux-aio asks anew for every read, and it needs nothing that the kernel
/// limits (docs/adr/0008).
inline constexpr const char* default_backend = "epoll";

/// Seastar's --max-networking-io-control-blocks, which matters to linux-aio alone: one for
/// everything that the sockets of a core can wait for at once. Seastar does not survive a lack of
/// them.
unsigned aio_requests(unsigned clients_per_core);

}  // namespace lockkeeper::proxy
