#include "bench/micro/cases.hh"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "bench/micro/allocations.hh"

namespace lockkeeper::bench {

namespace {

void measure(const bench_case& c, std::uint64_t times) {
    const std::uint64_t allocated = allocations();
    const auto begin = std::chrono::steady_clock::now();
    c.run(times);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    const auto each = static_cast<double>(times);
    std::printf("%-14s %8.1f ns %6.2f allocations  %s\n", c.name, took.count() / each,
                static_cast<double>(allocations() - allocated) / each, c.what);
}

}  // namespace

int run_cases(std::span<const bench_case> cases, std::uint64_t usual_times, int argc, char** argv) {
    const std::string_view chosen = argc > 1 ? argv[1] : "";
    if (chosen == "--list") {
        for (const bench_case& c : cases) {
            std::printf("%-14s %s\n", c.name, c.what);
        }
        return 0;
    }
    std::uint64_t times = usual_times;
    if (argc > 2) {
        const std::string_view text = argv[2];
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), times);
        if (failure != std::errc{} || end != text.data() + text.size() || times == 0) {
            std::fprintf(stderr, "%s: how often, '%s', is not a number\n", argv[0], argv[2]);
            return 1;
        }
    }
    bool any = false;
    for (const bench_case& c : cases) {
        if (chosen.empty() || chosen == c.name) {
            measure(c, times);
            any = true;
        }
    }
    if (!any) {
        std::fprintf(stderr, "%s: no such case; see --list\n", argv[0]);
        return 1;
    }
    return 0;
}

}  // namespace lockkeeper::bench
