/// Runs seeded schedules of clients at one lock table and says whether its promises were kept.
///
///     lock_sim [--schedules N] [--seed FIRST] [--seeds FILE] [--twice] [--trace]
///              [--fault NAME] [--until-caught BY] [--faults]
///
/// --seeds runs the schedules that a file names (lines `lock SEED story`), and --schedules after
/// them as many more, from 1. --twice runs each schedule again and compares all that clients saw.
/// --trace prints that. A schedule that fails is printed with the words that replay it. A run of
/// 1,000 schedules or more also fails if it never came through something that it should have.
///
/// lock_sim_planted has the mistakes of shards/core/planted.hh: --fault NAME switches one on and
/// leaves the table's checks of itself out, so that only the oracle can catch it. --until-caught
/// turns the verdict round: it fails unless a schedule catches the fault by one of the promises
/// that BY names ("P1,P3"; "assert" is an assertion of the core). --faults prints the names.
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lock_faults.hh"
#include "lock_world.hh"
#include "violation.hh"

using namespace lockkeeper::sim;
using lockkeeper::shards::fault;

namespace {

struct arguments {
    const char* program = "lock_sim";
    std::optional<uint64_t> schedules;
    uint64_t first = 1;
    const char* seeds = nullptr;
    bool twice = false;
    bool trace = false;
    const char* until_caught = nullptr;
    const named_fault* planted = nullptr;
};

[[noreturn]] void usage_error(const char* why) {
    std::fprintf(stderr,
                 "lock_sim: %s\nusage: lock_sim [--schedules N] [--seed FIRST] [--seeds FILE] "
                 "[--twice] [--trace] [--fault NAME] [--until-caught BY] [--faults]\n",
                 why);
    std::exit(2);
}

uint64_t number(const char* text) {
    char* end = nullptr;
    const uint64_t value = std::strtoull(text, &end, 10);
    if (end == text || *end != '\0') {
        usage_error("a number is expected");
    }
    return value;
}

const named_fault& fault_named(std::string_view name) {
    for (const named_fault& each : lock_faults) {
        if (each.name == name) {
            return each;
        }
    }
    usage_error("no fault has that name");
}

arguments read_arguments(int count, char** words) {
    arguments result;
    result.program = words[0];
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        const auto value = [&]() -> const char* {
            if (++i == count) {
                usage_error("a value is missing");
            }
            return words[i];
        };
        if (word == "--schedules") {
            result.schedules = number(value());
        } else if (word == "--seed") {
            result.first = number(value());
            result.schedules = 1;
        } else if (word == "--seeds") {
            result.seeds = value();
        } else if (word == "--twice") {
            result.twice = true;
        } else if (word == "--trace") {
            result.trace = true;
        } else if (word == "--until-caught") {
            result.until_caught = value();
        } else if (word == "--fault") {
            result.planted = &fault_named(value());
        } else if (word == "--faults") {
            for (const named_fault& each : lock_faults) {
                std::printf("%s\n", std::string(each.name).c_str());
            }
            std::exit(0);
        } else {
            usage_error("unknown option");
        }
    }
    return result;
}

void switch_on(const arguments& what) {
    if (what.planted == nullptr) {
        return;
    }
#ifdef LOCKKEEPER_PLANTED_FAULTS
    lockkeeper::shards::planted_fault = what.planted->what;
#else
    usage_error("faults are in lock_sim_planted only");
#endif
}

std::vector<uint64_t> seeds_of(const arguments& what) {
    std::vector<uint64_t> seeds;
    const auto add_range = [&](uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) {
            seeds.push_back(what.first + i);
        }
    };
    if (what.seeds == nullptr) {
        add_range(what.schedules.value_or(10'000));
        return seeds;
    }
    std::ifstream file(what.seeds);
    if (!file) {
        usage_error("the file of seeds cannot be read");
    }
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string simulator;
        uint64_t seed = 0;
        if (words >> simulator >> seed && simulator == "lock") {
            seeds.push_back(seed);
        }
    }
    add_range(what.schedules.value_or(0));
    return seeds;
}

void print(const schedule& plan) {
    for (const key_plan& each : plan.keys) {
        const auto& policy = each.policy;
        std::printf("key %s/%u: %s, %s after %d ms, max_hold %d, grace %d, lock_delay %d%s\n",
                    each.name.c_str(), each.database,
                    each.used_as == usage::lock   ? "lock"
                    : each.used_as == usage::hash ? "hash"
                                                  : "semaphore",
                    policy.pollers == lockkeeper::shards::poller_rule::barge ? "barge" : "reserve",
                    static_cast<int>(policy.starvation_after.count()),
                    static_cast<int>(policy.max_hold.count()),
                    static_cast<int>(policy.grace.count()),
                    static_cast<int>(policy.lock_delay.count()), policy.renew ? ", renewed" : "");
    }
}

struct failure {
    std::string promise;
    std::string story;
};

/// What is broken, or nothing.
std::optional<failure> run(uint64_t seed, tally& counted, const arguments& what) {
    schedule plan(seed);
    plan.asks_the_table = what.planted == nullptr;
    if (counted.is_traced) {
        print(plan);
    }
    lock_world world(plan, counted);
    try {
        world.run();
    } catch (const violation& broken) {
        return failure{broken.which(),
                       std::string(broken.what()) + " (" + world.clerk().doing() + ")"};
    }
    ++counted.schedules;
    return std::nullopt;
}

bool is_named(const std::string& promise, const char* list) {
    return ("," + std::string(list) + ",").find("," + promise + ",") != std::string::npos;
}

void add(tally& sum, const tally& one) {
    sum.schedules += one.schedules;
    sum.events += one.events;
    for (size_t i = 0; i < features; ++i) {
        sum.seen[i] += one.seen[i];
    }
    sum.note(one.digest);
}

void print(const tally& all, double seconds) {
    for (size_t i = 0; i < features; ++i) {
        std::printf("%12" PRIu64 "  %s\n", all.seen[i], feature_names[i]);
    }
    std::printf("%" PRIu64 " schedules, %" PRIu64 " events in %.1f s, digest %016" PRIx64 "\n",
                all.schedules, all.events, seconds, all.digest);
}

/// A run of many schedules must have been through everything.
bool is_covered(const tally& all) {
    bool covered = true;
    for (size_t i = 0; i < features; ++i) {
        if (all.seen[i] == 0) {
            std::printf("never exercised: %s\n", feature_names[i]);
            covered = false;
        }
    }
    return covered;
}

void print_replay(const arguments& what, uint64_t seed, const std::string& broken) {
    std::printf("seed %" PRIu64 ": %s\nreplay: %s --seed %" PRIu64 "%s%s\n", seed, broken.c_str(),
                what.program, seed, what.planted ? " --fault " : "",
                what.planted ? std::string(what.planted->name).c_str() : "");
}

}  // namespace

int main(int count, char** words) {
    const arguments what = read_arguments(count, words);
    switch_on(what);
    // An assertion of the core catches a mistake too: then the seed must be known.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    static uint64_t running = 0;
    static bool is_catch = what.until_caught != nullptr && is_named("assert", what.until_caught);
    std::signal(SIGABRT, [](int) {
        std::printf("seed %" PRIu64 ": an assertion failed\n", running);
        std::_Exit(is_catch ? 0 : 3);
    });
    const auto begun = std::chrono::steady_clock::now();
    tally all;
    int failures = 0;
    for (const uint64_t seed : seeds_of(what)) {
        running = seed;
        tally one;
        one.is_traced = what.trace;
        auto broken = run(seed, one, what);
        if (!broken && what.twice) {
            tally again;
            run(seed, again, what);
            if (again.digest != one.digest) {
                broken = failure{"digest", "the same seed has two digests"};
            }
        }
        if (broken) {
            print_replay(what, seed, broken->story);
            if (what.until_caught != nullptr) {
                return is_named(broken->promise, what.until_caught) ? 0 : 1;
            }
            if (++failures == 5) {
                break;
            }
        }
        add(all, one);
        if (!broken && all.schedules % 1'000 == 0 && what.until_caught == nullptr) {
            const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begun;
            std::printf("%" PRIu64 " schedules, %.1f s\n", all.schedules, so_far.count());
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    print(all, took.count());
    if (what.until_caught != nullptr && what.planted != nullptr) {
        std::printf("%s was not caught\n", std::string(what.planted->name).c_str());
        return 1;
    }
    const bool covered = all.schedules < 1'000 || failures > 0 || is_covered(all);
    std::printf("%d violations\n", failures);
    return failures > 0 || !covered ? 1 : 0;
}
