#pragma once

#include <cstdint>
#include <span>

namespace lockkeeper::bench {

struct bench_case {
    const char* name;
    const char* what;
    void (*run)(std::uint64_t times);
};

/// The program's whole work: the case that its arguments name, or all of them, with nanoseconds and
/// allocations of each; or their names. The exit code.
int run_cases(std::span<const bench_case> cases, std::uint64_t usual_times, int argc, char** argv);

}  // namespace lockkeeper::bench
