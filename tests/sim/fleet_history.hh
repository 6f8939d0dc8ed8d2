#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet_time.hh"

namespace lockkeeper::sim {

/// A client was told that it has a lock.
struct granted {
    uint8_t key = 0;
    uint8_t client = 0;
    uint8_t proxy = 0;
    uint8_t door = 0;       ///< the proxy that its client is connected to
    bool given_up = false;  ///< released, or never believed: its end does not move any more
    uint64_t fence = 0;
    true_time from = 0;
    true_time until = 0;  ///< as long as the client may believe in it
};

/// A proxy got fences from the masters.
struct block_taken {
    uint8_t key = 0;
    true_time asked = 0;
    true_time decided = 0;
    uint64_t first = 0;
    uint64_t last = 0;
};

struct verdicts {
    uint32_t overlaps = 0;      ///< P1: two clients at once
    uint32_t fences_twice = 0;  ///< P2: a number that was given before, or out of its block
    uint32_t fences_back = 0;   ///< P2: a later grant with a lower fence
    uint32_t blocks_mixed = 0;  ///< blocks that overlap
    uint32_t blocks_back = 0;   ///< asked for after another was decided, and not above it
    uint32_t uncovered = 0;     ///< S2: a promise beyond what a majority of masters holds
    uint32_t broken = 0;        ///< invariants of the objects themselves
    /// Nobody got a key at the end, or somebody waited for too long, though nothing was wrong any
    /// more.
    uint32_t starved = 0;
    std::string story{};  ///< the first of them, in words

    /// What must hold whatever clocks do.
    bool fences_are_sound() const { return fences_twice + blocks_mixed + blocks_back == 0; }
    /// What must hold as long as clocks keep their rates.
    bool exclusion_holds() const { return overlaps + fences_back + uncovered == 0; }
};

/// Everything that clients were told in one schedule, and whether it was right.
class fleet_history {
public:
    std::vector<granted> grants;
    std::vector<block_taken> blocks;

    /// Things that are seen as they happen.
    void uncovered(const std::string& story);
    void broken(const std::string& story);
    void starved(const std::string& story);

    verdicts judge(true_time healed, true_time end) const;
    uint64_t digest() const;

private:
    void judge_grants(uint8_t key, verdicts& found) const;
    void judge_blocks(uint8_t key, verdicts& found) const;

    verdicts _seen;
};

}  // namespace lockkeeper::sim
