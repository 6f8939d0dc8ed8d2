#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/lease_rules.hh"
#include "shards/core/lease_terms.hh"
#include "shards/core/quorum_round.hh"
#include "shards/core/renewal_round.hh"
#include "shards/core/stored_value.hh"
#include "shards/core/voter_set.hh"

namespace lockkeeper::shards {

/// Something to be sent about one key. The shell knows the key.
struct lease_action {
    enum class kind : uint8_t {
        vote,     ///< take the key for `length`, and `block` fences
        raise,    ///< lift the counter to `raise_to`
        renew,    ///< extend to `length`, and take `block` more fences if that is not 0
        release,  ///< give it up; if it cannot be sent, again after a reconnect, until `until`
        look,     ///< who has the key, and for how long?
    };

    kind what = kind::vote;
    voter_set to{};
    attempt_id attempt{};
    std::chrono::milliseconds length{};
    uint32_t block = 0;
    uint64_t raise_to = 0;
    instant until{};
    /// Null: the lease's own value, and nothing else. A renewal puts the value into its place.
    std::shared_ptr<const stored_value> stored{};
};

/// What each call of a lease is given by the shell. `out` is appended to.
struct lease_turn {
    const lease_rules& rules;
    voter_set admitted;  ///< masters that may vote, as far as this proxy knows
    instant now;         ///< CLOCK_BOOTTIME, read for this call
    uint64_t random;     ///< any random number, for waits that must differ
    std::vector<lease_action>& out;
};

/// What a client may be told.
struct lease_grant {
    uint64_t fence = 0;
    /// Never beyond the lease. A grant that lives on renewals moves with it: valid_until().
    instant until{};
};

enum class grant_obstacle : uint8_t {
    not_held,     ///< nothing to grant from
    nearly_over,  ///< too little of the lease is left
    too_short,    ///< the lease does not cover it; it is being extended
    no_fence,     ///< all fences are given out; new ones are on their way
    other_token,  ///< the masters hold another client's token; it is being exchanged
};

/// The life of one key's lease at this proxy. While any client here holds the key or waits for it,
/// the masters hold it for the proxy, and what clients see of it lives in memory under that lease.
///
///     absent --acquire--> acquiring --won--> held --release--> absent
///                           |                 | ^ extended in the background, fences renewed
///                           |                 +--its end came, or it is gone--> lost
///                           +--lost to another owner--> elsewhere     (acquire again from
///                           +--no majority------------> unreachable     retry_at() on)
///
/// A release is only sent, never waited for: a following attempt rides behind it on the same
/// connections. Every attempt has an id of its own, and answers to other attempts are ignored.
///
/// Invariants: a grant needs `now + min_grant <= valid_until` (I3); nothing granted ends after
/// valid_until (I2); each fence is given once, in ascending order (I4); a renewal counts by a
/// majority and before the end only (I5); after lost, release or close there is no grant until a
/// new attempt has won (I8); one extension is under way at most, and a master that owes an answer
/// to an earlier one is not asked: its answer would be taken for one to the question of now.
///
/// Each question is answered, or its connection lost; what was asked on one connection is answered
/// in that order.
///
/// Small, because a core may have a million of them, nearly all held and idle: what only a round or
/// a wait needs lives elsewhere, for as long as that.
class lease {
public:
    enum class phase : uint8_t { absent, acquiring, held, elsewhere, unreachable, lost };

    lease() = default;

    phase state() const { return _phase; }
    bool is_extending() const { return _work && _work->renewal; }
    attempt_id attempt() const { return _attempt; }
    /// Of a lease that is held.
    instant valid_until() const { return _valid_until; }
    uint64_t next_fence() const { return _next_fence; }
    /// Masters that are known to have the key; fewer than all is a lease that bears fewer failures.
    voter_set holders() const { return _holders; }

    /// When on_time() is due; for a lease that waits to try again, when that is.
    instant wake_at(const lease_rules& rules) const;

    bool may_try(instant now) const;
    /// Why the last round was lost; for elsewhere and unreachable.
    round_loss loss() const { return _work ? _work->loss : round_loss::unreachable; }
    /// elsewhere: what the masters hold for somebody else, if it was read, and its end.
    std::string_view holder() const { return _work ? std::string_view(_work->holder) : ""; }
    std::optional<instant> held_elsewhere_until() const {
        return _work ? _work->until : std::nullopt;
    }

    /// Begins a round for somebody who wants the key for `ttl`. `fresh` is random and never used
    /// before. Needs may_try(). `token`: what the masters are to hold; empty: the lease's own
    /// value.
    void acquire(std::chrono::nanoseconds ttl, attempt_id fresh, const lease_turn& turn,
                 std::string_view token = {});

    // Answers. `attempt` is what the question was about.
    void on_vote(attempt_id attempt, master_index from, const vote& answer, const lease_turn& turn);
    void on_raised(attempt_id attempt, master_index from, uint64_t to, bool confirmed,
                   const lease_turn& turn);
    void on_renewed(attempt_id attempt, master_index from, const renewal_answer& answer,
                    const lease_turn& turn);
    /// Nothing at all is there: no `holder`.
    void on_looked(attempt_id attempt, std::optional<std::string_view> holder,
                   std::optional<std::chrono::nanoseconds> remaining, const lease_turn& turn);
    /// The connection to a master broke, or the master turned out not to be admitted any more.
    void on_link_lost(master_index master, const lease_turn& turn);
    void on_time(const lease_turn& turn);

    /// A grant for `ttl`, from memory. If the lease is too short for it, has no fences left, or the
    /// masters hold something else than `token`, an extension is begun: ask again when it is over.
    std::expected<lease_grant, grant_obstacle> grant(std::chrono::nanoseconds ttl,
                                                     const lease_turn& turn,
                                                     std::string_view token = {});
    /// A grant for as long as the lease can be kept alive.
    std::expected<lease_grant, grant_obstacle> grant_untimed(const lease_turn& turn,
                                                             std::string_view token = {});

    /// True if there are fences for a grant. Otherwise they are on their way: ask again.
    bool fetch_fences(const lease_turn& turn);
    /// Whether this is what the masters hold; empty: the lease's own value.
    bool is_stored(std::string_view token) const;

    /// The key is needed until then (end_of_time: without an end), whoever holds it: the lease is
    /// renewed for as long as it ends earlier than that. To be told whenever it changes.
    void needed_until(instant until) { _needed_until = until; }
    /// The next in line will want this much; zero: nobody waits. The lease is kept so long that the
    /// hand-off needs no master.
    void expect(std::chrono::nanoseconds ttl, const lease_rules& rules);
    /// True if the lease lasts until then; otherwise an extension is begun: ask again when it is
    /// over. What no lease can cover is true as well, and lives on renewals.
    bool cover(instant until, const lease_turn& turn);

    /// Gives the key up on the masters.
    void release(const lease_turn& turn);
    /// No grants any more; the rest goes on.
    void close() { _closing = true; }

    /// For tests: what must always be so, or what is not.
    std::optional<std::string> verify(const lease_rules& rules) const;

private:
    /// What a round, a repair or a wait needs.
    struct work {
        std::optional<quorum_round> round;
        std::optional<renewal_round> renewal;
        instant not_before = start_of_time;  ///< of the next renewal, after one that failed
        instant repair_at = end_of_time;
        instant retry_at = start_of_time;
        uint32_t losses = 0;
        round_loss loss = round_loss::unreachable;
        std::optional<instant> until;
        std::string holder;
    };

    /// What the masters hold instead of the lease's own value. A majority holds `current`.
    struct tokens {
        std::string current;
        std::optional<std::string> next;   ///< an exchange is under way
        std::vector<std::string> earlier;  ///< that a few may hold still, the last one first
    };

    work& working();
    std::shared_ptr<const stored_value> stored() const;
    void exchange_token(std::string_view token);
    void token_exchanged(bool has_majority);
    void done_working();
    bool is_current(attempt_id attempt) const;
    bool has_block(const lease_rules& rules) const { return !rules.fences || _fences_left > 0; }
    uint64_t last_fence() const { return _next_fence + _fences_left - 1; }

    void apply(const round_step& step, const lease_turn& turn);
    void apply(const renewal_step& step, const lease_turn& turn);
    void on_won(const lease_turn& turn);
    void on_lost_round(const lease_turn& turn);
    void on_late_vote(master_index from, const vote& answer, const lease_turn& turn);
    /// `token`: what the masters are to hold from now on.
    void extend(const lease_turn& turn, std::optional<std::string_view> token = {});
    bool wants_renewal(const lease_turn& turn) const;
    bool fences_are_low(const lease_rules& rules) const;
    instant renewal_due(const lease_rules& rules) const;
    /// After a renewal that failed.
    instant next_attempt(instant now) const;
    void repair(const lease_turn& turn);
    void plan_repair(const lease_turn& turn);
    void end(phase next, const lease_turn& turn);
    void send_release(const lease_turn& turn);
    std::optional<grant_obstacle> obstacle(std::chrono::nanoseconds ttl, const lease_turn& turn,
                                           std::string_view token);
    lease_grant take(instant until, const lease_turn& turn);

    std::unique_ptr<work> _work;
    std::unique_ptr<tokens> _tokens;
    attempt_id _attempt{};
    instant _valid_until{};
    instant _needed_until = start_of_time;
    uint64_t _next_fence = 0;
    uint32_t _fences_left = 0;
    uint32_t _length_ms = 0;  ///< of the lease, as the masters were last asked for it
    uint32_t _keep_ms = 0;    ///< how much is to be left of it for the next in line
    voter_set _holders;
    voter_set _may_hold;   ///< where a release must go
    voter_set _in_flight;  ///< votes without an answer, in a lease that is held
    voter_set _renewing;   ///< renewals without an answer
    phase _phase = phase::absent;
    uint8_t _block_bits = 6;  ///< the next block is this power of two; grows with use
    bool _closing = false;
};

}  // namespace lockkeeper::shards
