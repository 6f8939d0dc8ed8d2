#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "shards/core/clock.hh"
#include "shards/core/lock_policy.hh"

namespace lockkeeper::shards {

/// Somebody who asks for a lock without waiting for it.
struct caller {
    uint64_t client = 0;  ///< its connection; 0: nobody whom we could recognise
    uint64_t token = 0;   ///< hash of the owner that it names
};

/// The remembered places of clients that wait for one key by asking again and again.
///
/// A seat belongs to a token where the client keeps one, over whatever connection it comes, and to
/// a connection where each attempt brings a new token. How long a client pauses between its
/// attempts is measured; who has not asked for several pauses has gone. A seat is advice about
/// order and never a right to the lock.
class seats {
public:
    bool empty() const { return _by_token.empty(); }
    size_t size() const { return _by_token.size(); }

    /// It asked and was refused.
    void asked(caller who, instant now);
    /// It was granted the lock.
    void took(caller who);
    /// It released what it does not hold. True if it has given up: nothing is kept for it until it
    /// asks again. Some do so after every attempt and mean nothing by it, as is seen when they come
    /// again.
    bool gave_up(uint64_t token);
    /// Forgets those who do not ask any more.
    void sweep(instant now);

    struct reservation {
        instant until{};
        std::optional<uint64_t> token{};  ///< for this one; none: for all who starve
        instant came_by = end_of_time;    ///< and have asked since then or earlier
    };
    /// The lock is free: for whom to keep it. Nothing if for nobody.
    std::optional<reservation> reserve(const lock_policy& policy, instant now) const;
    /// Whether a reservation is for this one.
    bool is_for(const reservation& kept, const lock_policy& policy, caller who, instant now) const;

    /// Since when the one that waits the longest has asked; end_of_time if there is none.
    instant oldest() const;

    struct view {
        uint64_t client;
        instant since;
        instant last;
        std::optional<std::chrono::nanoseconds> pause;
    };
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [token, one] : _by_token) {
            visit(view{one.client, one.since, one.last, one.pause_known()});
        }
    }

private:
    struct seat {
        uint64_t client = 0;
        uint64_t previous_token = 0;  ///< that the same connection brought before
        instant since{};
        instant last{};
        std::chrono::nanoseconds pause{};  ///< between attempts; 0: not known yet
        bool is_stable = false;            ///< its token has come twice
        bool has_given_up = false;
        bool always_gives_up = false;  ///< and asks again

        std::optional<std::chrono::nanoseconds> pause_known() const {
            return pause.count() > 0 ? std::optional(pause) : std::nullopt;
        }
        bool starves(const lock_policy& policy, instant now) const {
            return pause.count() > 0 && now - since >= policy.starvation_after;
        }
        bool has_gone(instant now) const;
        bool is_expected(instant now) const {
            return pause.count() > 0 && !has_given_up && !has_gone(now);
        }
    };

    /// The token under which its seat stands.
    std::optional<uint64_t> place_of(caller who) const;
    seat* sit_down(caller who, instant now);
    std::optional<reservation> reserve_for_first(instant now) const;
    std::optional<reservation> reserve_for_starving(const lock_policy& policy, instant now) const;

    std::unordered_map<uint64_t, seat> _by_token;
    /// By connection: the token that it brought last.
    std::unordered_map<uint64_t, uint64_t> _of_client;
};

}  // namespace lockkeeper::shards
