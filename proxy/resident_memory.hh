#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace lockkeeper::proxy {

/// Of the whole process, as the kernel counts it.
inline uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    uint64_t all_pages = 0;
    uint64_t resident_pages = 0;
    file >> all_pages >> resident_pages;
    return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace lockkeeper::proxy
