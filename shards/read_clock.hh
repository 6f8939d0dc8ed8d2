#pragma once

#include <ctime>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// CLOCK_BOOTTIME, read now. Never a cached clock: whether a lease still holds is decided by it.
inline instant read_clock() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return instant{time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

}  // namespace lockkeeper::shards
