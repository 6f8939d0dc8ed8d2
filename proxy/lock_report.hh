#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <string>
#include <vector>

#include "proxy/statistics.hh"
#include "shards/core/grant_types.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;

/// What all cores know of locks and of those in line for them.
struct lock_report {
    shards::grant_counters counted{};
    uint64_t waiters = 0;  ///< in queues
    uint64_t lines = 0;    ///< keys that somebody waits or polls for
    wake_up_counters woken{};
    std::vector<uint64_t> fences{};  ///< the last one of each core
};

ss::future<lock_report> report_locks(services& all);

/// The lines of INFO.
std::string info_text(const lock_report& report);

}  // namespace lockkeeper::proxy
