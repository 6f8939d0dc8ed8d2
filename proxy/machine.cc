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

// A session waits for bytes, for its peer's hang-up and, when a message is on its way out, for
// room. The kernel doubles the number, but hands it out to CPUs in portions that others cannot use.
constexpr unsigned waits_per_client = 3;
// Those of sockets that are not clients: listeners, masters, the admin port.
constexpr unsigned other_waits = 384;

}  // namespace

machine inspect_machine() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;

    const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
    const uint64_t physical = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t cgroup = number_in("/sys/fs/cgroup/memory.max", physical);
    return {
        .cores = known ? std::max(1u, static_cast<unsigned>(CPU_COUNT(&allowed))) : 1u,
        .memory_bytes = std::min(physical, cgroup),
    };
}

uint64_t default_memory(const machine& here) {
    constexpr uint64_t per_core = 512ULL << 20;
    return std::min(here.cores * per_core, here.memory_bytes / 2);
}

unsigned aio_requests(unsigned clients_per_core) {
    return waits_per_client * clients_per_core + other_waits;
}

}  // namespace lockkeeper::proxy
