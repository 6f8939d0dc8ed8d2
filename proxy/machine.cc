#include "proxy/machine.hh"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace lockkeeper::proxy {

namespace {

/// The number on a file's first line; `otherwise` if there is no such file or no number ("max").
uint64_t number_in(const char* path, uint64_t otherwise) {
    std::ifstream file(path);
    uint64_t number = 0;
    return file >> number ? number : otherwise;
}

// Requests that a core reserves besides those for its sockets, for files and timers.
constexpr uint64_t aio_for_files = 1'100;
// Sockets that are not clients: listeners, masters, the admin port.
constexpr unsigned other_sockets = 128;

}  // namespace

machine inspect_machine() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;

    const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
    const uint64_t physical = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t cgroup = number_in("/sys/fs/cgroup/memory.max", physical);

    const uint64_t aio_most = number_in("/proc/sys/fs/aio-max-nr", 0);
    const uint64_t aio_used = number_in("/proc/sys/fs/aio-nr", 0);
    return {
        .cores = known ? std::max(1u, static_cast<unsigned>(CPU_COUNT(&allowed))) : 1u,
        .memory_bytes = std::min(physical, cgroup),
        .aio_free = aio_most > aio_used ? aio_most - aio_used : 0,
    };
}

uint64_t default_memory(const machine& here) {
    constexpr uint64_t per_core = 512ULL << 20;
    return std::min(here.cores * per_core, here.memory_bytes / 2);
}

network_backend default_backend(const machine& here, unsigned cores, unsigned clients_per_core) {
    const unsigned requests = clients_per_core + other_sockets;
    if ((requests + aio_for_files) * cores <= here.aio_free) {
        return {.name = "linux-aio", .requests_per_core = requests};
    }
    return {.name = "epoll", .requests_per_core = requests};
}

}  // namespace lockkeeper::proxy
