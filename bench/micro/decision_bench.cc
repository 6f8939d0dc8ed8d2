/// What do the decisions cost that a lock takes besides the lock table: a round of votes over its
/// masters, and what a script does that a client sends?
///
///     decision_bench [case] [times]         nanoseconds and allocations per decision
///     decision_bench --list
///
/// For instructions per decision, run one case twice under callgrind with different numbers; that
/// is what bench/parser_instructions.py does.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "bench/micro/cases.hh"
#include "proxy/idioms/recogniser.hh"
#include "shards/core/quorum_round.hh"

namespace {

using namespace lockkeeper::shards;
using namespace lockkeeper::proxy;
using namespace std::chrono_literals;

constexpr instant start{1'000'000'000};

/// Keeps the optimiser from dropping work whose result nobody reads.
std::uint64_t sink = 0;

[[noreturn]] void stop(const char* why) {
    std::fprintf(stderr, "decision_bench: %s\n", why);
    std::exit(1);
}

round_terms terms_of(std::uint8_t masters) {
    return {.masters = masters, .lease = 10s, .block = 64, .patience = 250ms, .min_grant = 50ms};
}

// ---------------------------------------------------------------------------------------------
// Rounds of votes
// ---------------------------------------------------------------------------------------------

/// Everybody grants with the same counter: won by the first majority, and the rest comes late.
void win(std::uint8_t masters, std::uint64_t times) {
    const round_terms terms = terms_of(masters);
    for (std::uint64_t i = 0; i != times; ++i) {
        quorum_round round(terms, voter_set::first(masters), start);
        for (std::uint8_t from = 0; from != masters; ++from) {
            round.on_vote(from, vote::granted(64 * (i + 1)), start + 1ms);
        }
        if (round.state() != round_state::won) {
            stop("a round was not won");
        }
        sink += round.block().last;
    }
}

/// Somebody else has it: a majority says so, with what is left of his lease.
void lose(std::uint64_t times) {
    const round_terms terms = terms_of(5);
    for (std::uint64_t i = 0; i != times; ++i) {
        quorum_round round(terms, voter_set::first(5), start);
        for (master_index from = 0; from != 3; ++from) {
            round.on_vote(from, vote::busy(5s), start + 1ms);
        }
        if (round.state() != round_state::lost) {
            stop("a round was not lost");
        }
        sink += static_cast<std::uint64_t>(round.free_in()->count()) + round.may_hold().size();
    }
}

/// The counters differ, as after the return of a master: the lower ones are raised first.
void raise(std::uint64_t times) {
    const round_terms terms = terms_of(5);
    for (std::uint64_t i = 0; i != times; ++i) {
        quorum_round round(terms, voter_set::first(5), start);
        round_step step;
        for (master_index from = 0; from != 5; ++from) {
            step = round.on_vote(from, vote::granted(64 * (from + 1)), start + 1ms);
        }
        for (master_index from = 0; from != 5; ++from) {
            if (step.raise.contains(from)) {
                round.on_raised(from, step.raise_to, true, start + 2ms);
            }
        }
        if (round.state() != round_state::won) {
            stop("a round with raised counters was not won");
        }
        sink += round.block().last;
    }
}

// ---------------------------------------------------------------------------------------------
// Scripts
// ---------------------------------------------------------------------------------------------

constexpr std::string_view listed_text =
    R"(if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end)";
constexpr std::string_view listed_sha = "b70c2384248f88e6b75b9f89241a180f856ad852";
/// The same, written down in a way that no library has.
constexpr std::string_view homemade_text = R"(
    -- only the holder may open the lock
    local holder = redis.call("GET", KEYS[1]);
    if (holder == ARGV[1]) then
        return redis.call("DEL", KEYS[1]);
    else
        return 0;
    end;
)";
constexpr std::string_view strange_text = "return redis.call('incr', KEYS[1])";

/// EVALSHA, with the check of the numbers of keys and arguments that follows.
void find(std::string_view sha, std::uint64_t times) {
    idioms::script_cache cache;
    cache.load(homemade_text);
    for (std::uint64_t i = 0; i != times; ++i) {
        const auto entry = cache.find(sha);
        if (entry.script == nullptr ||
            idioms::check_call(*entry.script, 1, 1) != idioms::call_check::fits) {
            stop("a script was not found by its SHA-1");
        }
        sink += static_cast<std::uint64_t>(entry.script->op) + 1;
    }
}

void recognise(std::string_view text, bool known, std::uint64_t times) {
    for (std::uint64_t i = 0; i != times; ++i) {
        const auto found = idioms::recognise(text);
        if ((found.script != nullptr) != known) {
            stop("a script was taken for another");
        }
        sink += found.sha.bytes[0] + 1;
    }
}

/// EVAL of a text that the core has seen before.
void load_again(std::uint64_t times) {
    idioms::script_cache cache;
    cache.load(homemade_text);
    for (std::uint64_t i = 0; i != times; ++i) {
        const auto found = cache.load(homemade_text);
        if (found.script == nullptr) {
            stop("a script was forgotten");
        }
        sink += found.sha.bytes[0] + 1;
    }
}

using lockkeeper::bench::bench_case;

constexpr bench_case cases[] = {
    {"win-1", "a round won on one master", [](std::uint64_t n) { win(1, n); }},
    {"win-3", "a round won on three masters", [](std::uint64_t n) { win(3, n); }},
    {"win-5", "a round won on five masters", [](std::uint64_t n) { win(5, n); }},
    {"lose-5", "a round lost on five masters, to somebody else's lock", &lose},
    {"raise-5", "a round won on five masters whose fences differ", &raise},
    {"evalsha", "find a listed script by its SHA-1", [](std::uint64_t n) { find(listed_sha, n); }},
    {"evalsha-shown", "find a script by its SHA-1 that a client showed before",
     [](std::uint64_t n) {
         static const std::string sha = idioms::to_hex(idioms::sha1(homemade_text));
         find(sha, n);
     }},
    {"eval-listed", "recognise a listed text of 95 bytes",
     [](std::uint64_t n) { recognise(listed_text, true, n); }},
    {"eval-form", "recognise a homemade text of 200 bytes by its normal form",
     [](std::uint64_t n) { recognise(homemade_text, true, n); }},
    {"eval-again", "the same text again", &load_again},
    {"eval-strange", "find that a text of 34 bytes is unknown",
     [](std::uint64_t n) { recognise(strange_text, false, n); }},
};

}  // namespace

int main(int argc, char** argv) {
    const int code = lockkeeper::bench::run_cases(cases, 100'000, argc, argv);
    // Nobody but the optimiser cares for the sum.
    return sink == 0 && argc == 1 ? 1 : code;
}
