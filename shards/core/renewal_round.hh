#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "shards/core/clock.hh"
#include "shards/core/fence_choice.hh"
#include "shards/core/lease_terms.hh"
#include "shards/core/voter_set.hh"

namespace lockkeeper::shards {

/// What one master said when it was asked to extend a key of ours.
struct renewal_answer {
    enum class answer : uint8_t {
        extended,   ///< ours, and lives at least as long as asked for
        not_ours,   ///< gone there, or somebody else's
        refused,    ///< an error, or not the incarnation that was admitted
        no_answer,  ///< the connection broke
    };

    answer what = answer::no_answer;
    uint64_t counter = 0;  ///< extended, with a block: the fence counter afterwards

    static renewal_answer extended(uint64_t counter = 0) { return {answer::extended, counter}; }
    static renewal_answer not_ours() { return {answer::not_ours, 0}; }
    static renewal_answer refused() { return {answer::refused, 0}; }
    static renewal_answer no_answer() { return {answer::no_answer, 0}; }
};

struct renewal_terms {
    uint8_t masters = 1;
    std::chrono::nanoseconds lease{};     ///< from now on
    uint32_t block = 0;                   ///< new fences taken along; 0: none
    std::chrono::nanoseconds patience{};  ///< as round_terms::patience, and for the same reason
    std::chrono::nanoseconds hedge = std::chrono::milliseconds(2);
};

/// What an event brought; each thing is told once.
struct renewal_step {
    /// The lease is valid until here: at least a majority confirmed it, in time.
    std::optional<instant> valid_until{};
    std::optional<fence_block> block{};
    voter_set raise{};  ///< to be sent now
    uint64_t raise_to = 0;
    bool finished = false;  ///< nothing more will come of this round
};

/// One extension of a lease that is held: compare-and-extend on every master that may have the key.
/// A majority of confirmations moves the end, if the lease has not ended meanwhile: a renewal never
/// resurrects, because somebody else may have had the key in between.
///
/// It may carry a new block of fences. Those follow the rule of fence_choice, as a vote's do: the
/// counters move only where the key is ours, and one quorum supplies the numbers and holds them.
class renewal_round {
public:
    renewal_round(const renewal_terms& terms, voter_set asked, instant began);

    /// `valid_until` is the end of the lease as it stands.
    renewal_step on_answer(master_index from, const renewal_answer& answer, instant now,
                           instant valid_until);
    renewal_step on_raised(master_index from, uint64_t to, bool confirmed, instant now,
                           instant valid_until);
    renewal_step on_link_lost(master_index from, instant now, instant valid_until);
    renewal_step on_time(instant now, instant valid_until);

    instant wake_at() const;
    std::chrono::nanoseconds lease() const { return _terms.lease; }

    /// All that was asked for has come.
    bool is_complete() const { return _extended && _block_done; }
    /// Where the key is not ours any more.
    voter_set not_ours() const { return _not_ours; }

    /// For searches over all states: everything that decides, but for time.
    template <typename Sink>
    void fold(Sink&& sink) const {
        _fences.fold(sink);
        sink(uint64_t{_outstanding.bits()} | uint64_t{_confirmed.bits()} << 16 |
             uint64_t{_not_ours.bits()} << 32 | uint64_t{_extended} << 48 |
             uint64_t{_block_done} << 49 | uint64_t{_finished} << 50 |
             uint64_t{_hedge_until.has_value()} << 51 |
             uint64_t{_hedge_until == start_of_time} << 52);
    }

private:
    renewal_step decide(instant now, instant valid_until);
    void decide_block(renewal_step& step, instant now);

    renewal_terms _terms;
    instant _start;
    std::optional<instant> _hedge_until;  ///< start_of_time: has been waited for
    fence_choice _fences;
    voter_set _outstanding;
    voter_set _confirmed;
    voter_set _not_ours;
    bool _extended = false;
    bool _block_done;
    bool _finished = false;
};

}  // namespace lockkeeper::shards
