#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/fairness.hh"
#include "bench/load/plan.hh"
#include "bench/load/tally.hh"

namespace lockkeeper::bench {

/// What a run found out.
struct load_result {
    /// What speeds are counted over; in mode once from the first release to the last grant.
    std::chrono::nanoseconds elapsed{};
    /// What CPU times are counted over.
    std::chrono::nanoseconds observed{};
    bool interrupted = false;
    tally measured;
    tally outside;

    double jain = 1;
    std::uint32_t starved = 0;
    std::uint32_t waiting_at_end = 0;
    std::chrono::nanoseconds longest_wait_at_end{};
    std::uint32_t clients_lost = 0;
    std::uint32_t left_holding = 0;
    std::uint32_t left_waiting = 0;

    /// Mode once.
    std::optional<order_report> order{};
    bool all_were_queued = true;

    struct process {
        pid_t pid = 0;
        std::string name;
        std::optional<std::chrono::nanoseconds> cpu;  ///< unless it was not there
    };
    std::vector<process> servers{};
    std::chrono::nanoseconds generator_cpu{};
    /// Of everything else on this machine; only if the servers' processes are known.
    std::optional<std::chrono::nanoseconds> foreign_cpu{};

    struct master {
        std::string address;
        std::map<std::string, std::uint64_t> commands;  ///< what it counted meanwhile, by name
    };
    std::vector<master> masters{};

    /// Sections, or renewals where they are the load.
    std::uint64_t operations(load_mode mode) const {
        return mode == load_mode::renew ? measured.renewals : measured.sections;
    }
    std::uint64_t violations() const { return measured.violations() + outside.violations(); }
};

/// Prepares the servers, connects, runs the load, drains it, cleans up. The error is a sentence.
/// SIGINT and SIGTERM must be blocked in the calling thread: they end the load early.
std::expected<load_result, std::string> run_load(const load_plan& plan);

}  // namespace lockkeeper::bench
