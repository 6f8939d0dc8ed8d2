/// How much work is a lock, when there are a thousand others, and when there are a million?
///
///     lock_table_bench [case] [locks in the table] [operations]     nanoseconds and allocations
///     per operation lock_table_bench --list
///
/// Under callgrind only the operations are counted, not the filling of the table; that is what
/// bench/instructions.py does:
///
///     valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file=out lock_table_bench ...
///
/// The table is filled with locks that stay. Each operation then takes and gives back a lock that
/// is not among them: names of 16 bytes, owners of 32, leases of one to 60 s, so that they end in
/// another order than they came; as the server would do it, the hash of the name included.

#include <valgrind/callgrind.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/micro/allocations.hh"
#include "shards/core/key_hash.hh"
#include "shards/core/lock_table.hh"

namespace {

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

constexpr std::string_view owner = "0123456789abcdef0123456789abcdef";

[[noreturn]] void stop(const char* why) {
    std::fprintf(stderr, "lock_table_bench: %s\n", why);
    std::exit(1);
}

std::string name_of(std::uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof(text), "lock:%011llu", static_cast<unsigned long long>(number));
    return text;
}

/// A table with `locks` in it, and names of others to come and go.
class bench {
public:
    explicit bench(std::uint64_t locks) {
        for (std::uint64_t i = 0; i != locks; ++i) {
            const std::string name = name_of(i);
            tick();
            set(key(name));
        }
        // More than one, so that they do not all meet in one bucket; few, so that their bytes stay
        // in the cache: the table's memory is what differs.
        for (std::uint64_t i = 0; i != 1024; ++i) {
            _names.push_back(name_of(locks + i));
        }
    }

    /// SET NX PX, then compare and delete.
    void plain() {
        const lock_key lock = key(next_name());
        set(lock);
        const auto removed = _table.remove_if({.key = lock, .comparand = owner}, _now);
        if (!removed || *removed != compare_outcome::done) {
            stop("a lock was not released");
        }
    }

    /// A hold of a reentrant lock, then its release.
    void reentrant() {
        const lock_key lock = key(next_name());
        const reentrant_request request{
            .key = lock, .owner = owner, .expiry = expiry_change::at(next_end())};
        const auto taken = _table.acquire(request, _now);
        const auto released = _table.release(request, _now);
        if (!taken || !taken->won || !released ||
            released->what != release_outcome::result::freed) {
            stop("a lock was not taken and freed");
        }
    }

private:
    lock_key key(std::string_view name) const {
        return {.database = 0, .name = name, .hash = _hasher.place(name).bucket};
    }

    std::string_view next_name() {
        tick();
        return _names[_next++ % _names.size()];
    }

    void tick() { _now = _now + 1us; }

    /// Spread by large odd steps: no order, and the same in every run.
    instant next_end() {
        _spread = _spread * 6364136223846793005 + 1442695040888963407;
        return _now + 1s + std::chrono::microseconds((_spread >> 33) % 59'000'000);
    }

    void set(const lock_key& lock) {
        const auto stored = _table.set({.key = lock,
                                        .value = owner,
                                        .condition = set_condition::if_absent,
                                        .expiry = expiry_change::at(next_end())},
                                       _now);
        if (!stored || !stored->stored) {
            stop("a lock was not taken");
        }
    }

    key_hasher _hasher{hash_seed{.low = 1, .high = 2}};
    instant _now{1'000'000'000};
    lock_table _table;
    std::vector<std::string> _names;
    std::size_t _next = 0;
    std::uint64_t _spread = 1;
};

struct bench_case {
    const char* name;
    const char* what;
    void (bench::*run)();
};

constexpr bench_case cases[] = {
    {"plain", "SET NX PX, then compare and delete", &bench::plain},
    {"reentrant", "acquire and release a reentrant lock", &bench::reentrant},
};

void measure(const bench_case& c, std::uint64_t locks, std::uint64_t operations) {
    bench all(locks);
    // What grows once (buckets, the heap) has grown before anything counts.
    for (int i = 0; i != 2048; ++i) {
        (all.*c.run)();
    }
    const std::uint64_t allocated = lockkeeper::bench::allocations();
    CALLGRIND_START_INSTRUMENTATION;
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i != operations; ++i) {
        (all.*c.run)();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    CALLGRIND_STOP_INSTRUMENTATION;
    const auto each = static_cast<double>(operations);
    std::printf("%-10s %9llu locks %8.1f ns %6.2f allocations  %s\n", c.name,
                static_cast<unsigned long long>(locks), took.count() / each,
                static_cast<double>(lockkeeper::bench::allocations() - allocated) / each, c.what);
}

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) {
        stop("that is not a number");
    }
    return value;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view chosen = argc > 1 ? argv[1] : "";
    if (chosen == "--list") {
        for (const bench_case& c : cases) {
            std::printf("%-10s %s\n", c.name, c.what);
        }
        return 0;
    }
    const std::uint64_t operations = argc > 3 ? number(argv[3]) : 1'000'000;
    bool any = false;
    for (const bench_case& c : cases) {
        if (!chosen.empty() && chosen != c.name) {
            continue;
        }
        any = true;
        if (argc > 2) {
            measure(c, number(argv[2]), operations);
        } else {
            measure(c, 1'000, operations);
            measure(c, 1'000'000, operations);
        }
    }
    if (!any) {
        stop("no such case; see --list");
    }
    return 0;
}
