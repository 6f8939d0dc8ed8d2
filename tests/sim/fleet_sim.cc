/// Runs seeded schedules of a simulated fleet and says whether locks stayed locks.
///
///     fleet_sim [--schedules N] [--seed FIRST] [--masters 1|3|5] [--linked] [--beyond] [--jobs N]
///               [--twice] [--verbose] [--coverage]
///
/// fleet_sim --seeds FILE runs those that once failed.
///
/// Without --masters the schedules are spread over one, three and five. With --linked the proxies
/// have links and send requests to the homes of their keys. --beyond lets clocks do
/// what leases do not allow for; then only fences are judged. --twice runs each schedule again and
/// compares. A schedule that fails is printed with the words that replay it, and --verbose tells it
/// event by event. --coverage tells what happened how often; a run of a thousand schedules or more
/// in which something never happened fails.
///
/// fleet_sim_planted has the mistakes of planted.hh; --fault NAME switches one on, and
/// --until-caught turns the verdict round: it fails unless a schedule catches the mistake.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fault_names.hh"
#include "fleet_world.hh"
#include "shards/core/planted.hh"

using namespace lockkeeper::sim;
using lockkeeper::shards::fault;

namespace {

struct arguments {
    uint64_t schedules = 10'000;
    uint64_t first = 1;
    int masters = 0;
    bool beyond = false;
    bool linked = false;
    bool twice = false;
    bool verbose = false;
    bool tell_coverage = false;
    bool until_caught = false;
    unsigned jobs = 0;
    const char* seeds = nullptr;
    fault planted = fault::none;
};

[[noreturn]] void usage(const char* why) {
    std::fprintf(
        stderr,
        "fleet_sim: %s\nusage: fleet_sim [--schedules N] [--seed FIRST] [--masters 1|3|5] "
        "[--linked] [--beyond] [--jobs N] [--twice] [--verbose] [--coverage] [--seeds FILE] "
        "[--fault NAME] [--until-caught]\n",
        why);
    std::exit(2);
}

arguments read_arguments(int count, char** words) {
    arguments result;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        const auto value = [&]() -> const char* {
            if (++i == count) {
                usage("a value is missing");
            }
            return words[i];
        };
        if (word == "--schedules") {
            result.schedules = std::strtoull(value(), nullptr, 10);
        } else if (word == "--seed") {
            result.first = std::strtoull(value(), nullptr, 10);
        } else if (word == "--masters") {
            result.masters = std::atoi(value());
            if (result.masters != 1 && result.masters != 3 && result.masters != 5) {
                usage("--masters is 1, 3 or 5");
            }
        } else if (word == "--jobs") {
            result.jobs = static_cast<unsigned>(std::atoi(value()));
        } else if (word == "--linked") {
            result.linked = true;
        } else if (word == "--beyond") {
            result.beyond = true;
        } else if (word == "--twice") {
            result.twice = true;
        } else if (word == "--verbose") {
            result.verbose = true;
        } else if (word == "--coverage") {
            result.tell_coverage = true;
        } else if (word == "--seeds") {
            result.seeds = value();
        } else if (word == "--until-caught") {
            result.until_caught = true;
        } else if (word == "--fault") {
            const auto named = fault_named(value());
            if (!named) {
                usage("no such fault");
            }
            result.planted = *named;
        } else {
            usage("unknown option");
        }
    }
    return result;
}

schedule schedule_of(const arguments& asked, uint64_t seed) {
    constexpr uint8_t spread[] = {3, 5, 3, 1, 3};
    const int masters = asked.masters != 0 ? asked.masters : spread[seed % 5];
    return {.seed = seed,
            .masters = static_cast<uint8_t>(masters),
            .beyond_model = asked.beyond,
            .verbose = asked.verbose,
            .linked = asked.linked};
}

/// What a file of known seeds asks for: lines of `masters seed in|beyond|linked`, and a story.
std::vector<schedule> schedules_in(const char* path) {
    std::ifstream file(path);
    if (!file) {
        usage("the file of seeds cannot be read");
    }
    std::vector<schedule> result;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        int masters = 0;
        uint64_t seed = 0;
        std::string model;
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        if (!(words >> masters >> seed >> model) ||
            (model != "in" && model != "beyond" && model != "linked")) {
            usage("the file of seeds has lines of: masters seed in|beyond|linked story");
        }
        result.push_back({.seed = seed,
                          .masters = static_cast<uint8_t>(masters),
                          .beyond_model = model == "beyond",
                          .linked = model == "linked"});
    }
    return result;
}

/// A fault is caught when locks were not locks; that nobody got one is not enough. With links, what
/// is promised to those who use them counts as well.
bool is_unsafe(const schedule& what, const schedule_result& came) {
    if (what.linked && came.found.broken > 0) {
        return true;
    }
    return !came.found.fences_are_sound() || (!what.beyond_model && !came.found.exclusion_holds());
}

/// What all schedules came to.
class tally {
public:
    explicit tally(const arguments& asked) : _asked(asked) {}

    void add(const schedule& what, const schedule_result& came, bool same) {
        const std::lock_guard guard(_mutex);
        ++_schedules;
        _events += came.events;
        _grants += came.grants;
        _faults += came.faults;
        _covered.add(came.covered);
        _overlapped += came.found.overlaps > 0 ? 1 : 0;
        _uncovered += came.found.uncovered > 0 ? 1 : 0;
        _unsound += came.found.fences_are_sound() ? 0 : 1;
        _starved += came.found.starved > 0 ? 1 : 0;
        _digest ^= came.digest * (what.seed * 2 + 1);
        _changed += same ? 0 : 1;
        if (_asked.until_caught ? is_unsafe(what, came) : came.is_bad(what) || !same) {
            if (_bad++ < 5 && !_asked.until_caught) {
                std::printf(
                    "seed %llu: %s\n  replay: fleet_sim --masters %d --seed %llu "
                    "--schedules 1%s%s%s%s --verbose\n",
                    static_cast<unsigned long long>(what.seed),
                    same ? came.found.story.c_str() : "came out differently the second time",
                    what.masters, static_cast<unsigned long long>(what.seed),
                    what.linked ? " --linked" : "", what.beyond_model ? " --beyond" : "",
                    _asked.planted != fault::none ? " --fault " : "",
                    _asked.planted != fault::none ? std::string(name_of(_asked.planted)).c_str()
                                                  : "");
            }
            if (_first_bad == 0 || what.seed < _first_bad) {
                _first_bad = what.seed;
                _story = came.found.story;
            }
        }
    }

    bool any_bad() const { return _bad > 0; }
    uint64_t first_bad() const { return _first_bad; }

    int report(double seconds) const {
        std::printf(
            "%s%s%s%s: %llu schedules, %llu bad; clients at once in %llu, promises without a "
            "majority "
            "in %llu, fences wrong in %llu, starved in %llu; %llu grants, %llu faults, %.1f M "
            "events, %.1f s, %.0f schedules/s, digest %016llx\n",
            _asked.linked ? "linked, " : "", _asked.beyond ? "beyond the model" : "in the model",
            _asked.planted != fault::none ? ", planted " : "",
            _asked.planted != fault::none ? std::string(name_of(_asked.planted)).c_str() : "",
            n(_schedules), n(_bad), n(_overlapped), n(_uncovered), n(_unsound), n(_starved),
            n(_grants), n(_faults), static_cast<double>(_events) / 1e6, seconds,
            static_cast<double>(_schedules) / seconds, n(_digest));
        if (_asked.until_caught) {
            if (_bad > 0) {
                std::printf("  caught by seed %llu: %s\n", n(_first_bad), _story.c_str());
            }
            return _bad > 0 ? 0 : 1;
        }
        // A run in which nothing went wrong, or nobody got a lock, shows nothing.
        return _bad == 0 && _grants > 0 && _faults > 0 && is_covered() ? 0 : 1;
    }

private:
    /// Everything that can happen did, in a run that is long enough for it.
    bool is_covered() const {
        const bool judged = _schedules >= 1'000 && _asked.masters == 0;
        bool all = true;
        for (size_t i = 0; i < static_cast<size_t>(seen::count_); ++i) {
            const auto what = static_cast<seen>(i);
            if ((what >= seen::unlinked && what < seen::in_model && !_asked.linked) ||
                (what >= seen::in_model && !_asked.beyond)) {
                continue;
            }
            const uint64_t times = _covered.of(what);
            if (_asked.tell_coverage || (times == 0 && judged)) {
                std::printf("  %10llu  %s\n", n(times), std::string(seen_names[i]).c_str());
            }
            all = all && times > 0;
        }
        if (!all && judged) {
            std::printf("  what never happened has not been tried: this run shows too little\n");
        }
        // Steps are noticed, and nothing else is taken for one.
        const bool imagined = !_asked.beyond && _covered.of(seen::step_noticed) > 0;
        if (imagined) {
            std::printf("  a clock that did not step was taken for one that did\n");
        }
        return (all || !judged) && !imagined;
    }

    static unsigned long long n(uint64_t number) { return number; }

    const arguments& _asked;
    std::mutex _mutex;
    uint64_t _schedules = 0;
    uint64_t _events = 0;
    uint64_t _grants = 0;
    coverage _covered;
    uint64_t _uncovered = 0;
    uint64_t _faults = 0;
    uint64_t _overlapped = 0;
    uint64_t _unsound = 0;
    uint64_t _starved = 0;
    uint64_t _changed = 0;
    uint64_t _digest = 0;
    std::atomic<uint64_t> _bad = 0;
    uint64_t _first_bad = 0;
    std::string _story;
};

}  // namespace

int main(int count, char** words) {
    const arguments asked = read_arguments(count, words);
#ifdef LOCKKEEPER_PLANTED_FAULTS
    lockkeeper::shards::planted_fault = asked.planted;
#else
    if (asked.planted != fault::none) {
        usage("only fleet_sim_planted has faults");
    }
#endif
    const std::vector<schedule> known =
        asked.seeds != nullptr ? schedules_in(asked.seeds) : std::vector<schedule>{};
    const uint64_t count_of_all = asked.seeds != nullptr ? known.size() : asked.schedules;
    tally total(asked);
    std::atomic<uint64_t> next = 0;
    const auto work = [&] {
        for (uint64_t i = next++; i < count_of_all; i = next++) {
            if (asked.until_caught && total.any_bad()) {
                return;
            }
            const schedule what =
                asked.seeds != nullptr ? known[i] : schedule_of(asked, asked.first + i);
            const schedule_result came = fleet_world(what).run();
            const bool same = !asked.twice || fleet_world(what).run().digest == came.digest;
            total.add(what, came, same);
        }
    };
    const auto began = std::chrono::steady_clock::now();
    unsigned jobs = asked.jobs != 0 ? asked.jobs : std::thread::hardware_concurrency();
    std::vector<std::jthread> workers;
    while (--jobs > 0) {
        workers.emplace_back(work);
    }
    work();
    workers.clear();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const int verdict = total.report(took.count());
#ifdef LOCKKEEPER_PLANTED_FAULTS
    if (asked.until_caught && total.any_bad()) {
        // It is the fault that was caught, and nothing else.
        lockkeeper::shards::planted_fault = fault::none;
        const schedule what = schedule_of(asked, total.first_bad());
        if (is_unsafe(what, fleet_world(what).run())) {
            std::printf("  but without the fault that schedule fails as well\n");
            return 1;
        }
    }
#endif
    return verdict;
}
