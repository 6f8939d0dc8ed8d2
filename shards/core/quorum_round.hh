#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "shards/core/clock.hh"
#include "shards/core/fence_choice.hh"
#include "shards/core/lease_terms.hh"
#include "shards/core/voter_set.hh"

namespace lockkeeper::shards {

/// What one master said to an attempt.
struct vote {
    enum class answer : uint8_t {
        granted,    ///< the key is ours there
        busy,       ///< somebody else's
        refused,    ///< an error, or not the incarnation that was admitted: the key may be ours
        no_answer,  ///< the connection broke: likewise
    };

    answer what = answer::no_answer;
    uint64_t counter = 0;  ///< granted: the fence counter after this vote
    /// busy: how long the other one's key still lives there, if it was read.
    std::optional<std::chrono::nanoseconds> remaining{};

    static vote granted(uint64_t counter) { return {answer::granted, counter, {}}; }
    static vote busy(std::optional<std::chrono::nanoseconds> remaining = {}) {
        return {answer::busy, 0, remaining};
    }
    static vote refused() { return {answer::refused, 0, {}}; }
    static vote no_answer() { return {answer::no_answer, 0, {}}; }
};

struct round_terms {
    uint8_t masters = 1;
    std::chrono::nanoseconds lease{};  ///< what the masters were asked for
    uint32_t block = 0;                ///< fences per vote; 0: without fences
    /// A round that is not decided by then is lost, and answers after it count for nothing.
    std::chrono::nanoseconds patience{};
    /// A win that leaves less than this is none.
    std::chrono::nanoseconds min_grant{};
    /// If the votes of a quorum differ: how long to wait for one that makes a quorum of equals.
    std::chrono::nanoseconds hedge = std::chrono::milliseconds(2);
};

enum class round_state : uint8_t { open, won, lost };

enum class round_loss : uint8_t {
    busy,         ///< a majority would have been there, but for another owner
    unreachable,  ///< a majority does not answer or may not vote
    late,         ///< a majority said yes when too little of the lease was left
};

/// What to do after an event: nothing, or raise masters, or take the verdict.
struct round_step {
    round_state state = round_state::open;
    voter_set raise{};  ///< only while open: to be sent now
    uint64_t raise_to = 0;
};

/// One attempt at the lease of one key over all masters of its group. All are asked at once; the
/// verdict falls as soon as it is certain, either way, and does not change any more.
///
/// S1: validity counts from `began`, which was read before the first question was sent.
/// S2: only votes of connections that still stand count: a master that restarted has another
///     connection.
/// S3: an answer after the deadline counts for nothing. That is more than patience: a master that
///     is to be admitted waits for this long, and then knows that no round is under way that
///     counts on what it has forgotten (admission.hh).
class quorum_round {
public:
    /// `asked`: the admitted masters, to whom the question goes now.
    quorum_round(const round_terms& terms, voter_set asked, instant began);

    round_step on_vote(master_index from, const vote& answer, instant now);
    /// `confirmed`: the counter there is at least `to`, and the key was ours when it was raised.
    round_step on_raised(master_index from, uint64_t to, bool confirmed, instant now);
    round_step on_link_lost(master_index from, instant now);
    /// To be called at wake_at().
    round_step on_time(instant now);

    round_state state() const { return _state; }
    instant wake_at() const;

    // When won.
    instant valid_until() const { return _valid_until; }
    fence_block block() const { return _block; }
    /// The quorum that carries the fences.
    voter_set carriers() const { return _fences.carriers(); }
    /// Raised in the background, so that the next votes are equal.
    voter_set lagging() const { return _fences.lagging(); }

    // When lost.
    round_loss loss() const { return _loss; }
    /// Busy: when so many of the others' keys will have ended that a majority is free, if known.
    std::optional<std::chrono::nanoseconds> free_in() const;

    // When either.
    /// The key is ours there, as far as we know.
    voter_set holders() const { return _fences.voters(); }
    /// The key may be ours there: a loser releases it on these. Those who said busy have nothing of
    /// ours; those who are silent may still say yes.
    voter_set may_hold() const { return _asked - _busy; }
    voter_set busy() const { return _busy; }
    /// Asked, and neither an answer nor a broken connection yet.
    voter_set outstanding() const { return _outstanding; }

    /// For searches over all states: everything that decides, but for time.
    template <typename Sink>
    void fold(Sink&& sink) const {
        _fences.fold(sink);
        sink(uint64_t{_asked.bits()} | uint64_t{_outstanding.bits()} << 16 |
             uint64_t{_busy.bits()} << 32 | static_cast<uint64_t>(_state) << 48 |
             uint64_t{_hedge_until.has_value()} << 56 |
             uint64_t{_hedge_until == start_of_time} << 57);
        sink(_block.last);
    }

private:
    round_step decide(instant now);
    round_step give_up();
    round_step lose(round_loss why);
    bool is_over(instant now) const;

    round_terms _terms;
    instant _start;
    instant _valid_until{};
    std::optional<instant> _hedge_until;  ///< start_of_time: has been waited for
    fence_choice _fences;
    fence_block _block{};
    std::array<std::chrono::nanoseconds, masters_max> _remaining{};  ///< of others; -1: not known
    voter_set _asked;
    voter_set _outstanding;
    voter_set _busy;
    round_state _state = round_state::open;
    round_loss _loss = round_loss::unreachable;
};

}  // namespace lockkeeper::shards
