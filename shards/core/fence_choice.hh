#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shards/core/lease_terms.hh"
#include "shards/core/voter_set.hh"

namespace lockkeeper::shards {

/// Which masters carry a fence. Masters count separately, and their counters drift apart; what
/// keeps fences in order is that one and the same quorum S both supplies the number and holds it:
///
///     T = the highest level in S, and every member of S has a counter of at least T
///         while the key is ours there.
///
/// Then of two attempts for one key, whichever owned the key first on a common member of their
/// quorums has the smaller fences, and no clock is in that argument. A member's *level* is what it
/// voted, or what it has confirmed to be raised to.
///
/// One per round. It only chooses; the round sends, waits and gives up.
class fence_choice {
public:
    fence_choice(uint8_t masters, uint32_t block);

    void vote(master_index from, uint64_t level);
    /// The master no longer counts: it refused to be raised, or its connection broke.
    void drop(master_index who);
    /// `who` has confirmed that its counter is at least `to`.
    void raised(master_index who, uint64_t to);

    voter_set voters() const { return _voters; }
    bool has_quorum() const;

    /// The numbers, once a quorum is on one level. It costs one round trip if the votes are equal,
    /// which they are unless attempts have met.
    std::optional<fence_block> settled() const;
    /// Who carries the numbers; means something once settled.
    voter_set carriers() const;

    struct raise_plan {
        voter_set who;
        uint64_t to = 0;
    };
    /// If votes differ: the lowest quorum, and who of it is to be raised to its highest level.
    /// Names each master once per level. Needs a quorum of voters.
    raise_plan plan_raise();

    /// Voters below the settled level: raised in the background, so that the next round's votes are
    /// equal.
    voter_set lagging() const;

    /// The level of the first voter; for a planted fault.
    uint64_t any_level() const { return _voters.empty() ? 0 : _levels[*_voters.begin()]; }

    /// For searches over all states: everything that decides.
    template <typename Sink>
    void fold(Sink&& sink) const {
        for (const uint64_t level : _levels) {
            sink(level);
        }
        sink(uint64_t{_voters.bits()} | uint64_t{_asked.bits()} << 16);
        sink(_target);
    }

private:
    struct choice {
        uint64_t level;
        voter_set members;
    };
    std::optional<choice> choose() const;
    /// The `quorum` voters with the lowest levels.
    choice lowest() const;

    std::array<uint64_t, masters_max> _levels{};
    voter_set _voters;
    voter_set _asked;  ///< to be raised to `_target`
    uint64_t _target = 0;
    uint32_t _block;
    uint8_t _masters;
};

}  // namespace lockkeeper::shards
