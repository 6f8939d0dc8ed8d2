#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "shards/core/clock.hh"
#include "shards/core/key_hash.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// Somebody who asks for a lock without waiting for it.
struct caller {
    uint64_t client = 0;  ///< its connection; 0: nobody whom we could recognise
    uint64_t token = 0;   ///< hash of the owner that it names

    /// The key's own hash is secret, so nobody can make tokens collide.
    static caller of(const lock_key& key, uint64_t client, std::string_view owner) {
        return {.client = client,
                .token = siphash<1, 3>(owner, {.low = key.hash.value, .high = 1})};
    }
};

/// The remembered places of clients that wait for one key by asking again and again.
///
/// A seat belongs to a token where the client keeps one, over whatever connection it comes, and to
/// a connection where each attempt brings a new token. How long a client pauses between its
/// attempts is measured; who has not asked for several pauses has gone. A seat is advice about
/// order and never a right to the lock.
class seats {
public:
    bool empty() const { return size() == 0; }
    size_t size() const { return _crowd ? _crowd->by_token.size() : _lone.is_taken ? 1 : 0; }

    /// It asked and was refused. Tells how long it pauses between its attempts; 0: not known.
    std::chrono::nanoseconds asked(caller who, instant now);
    /// It was granted the lock.
    void took(caller who);
    /// It waits in line from now on: since when it has had its seat, if it had one.
    std::optional<instant> stand_up(caller who);
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
    /// It has ended and nobody came: those who had their chance go to the end of the order. Else a
    /// client that has gone would keep the lock from those who still ask, time after time.
    void missed(const reservation& kept, const lock_policy& policy, instant now);
    /// Whether a reservation is for this one.
    bool is_for(const reservation& kept, const lock_policy& policy, caller who, instant now) const;

    bool knows(uint64_t token) const;
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
        each_seat([&](uint64_t, const seat& one) {
            visit(view{one.client, one.since, one.last, one.pause_known()});
        });
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

    bool is_for(const reservation& kept, const lock_policy& policy, uint64_t place, const seat& its,
                instant now) const;
    /// The token under which its seat stands.
    std::optional<uint64_t> place_of(caller who) const;
    seat* sit_down(caller who, instant now);
    std::optional<reservation> reserve_for_first(instant now) const;
    std::optional<reservation> reserve_for_starving(const lock_policy& policy, instant now) const;

    /// Null if nobody sits there.
    auto find(this auto& self, uint64_t token) -> decltype(&self._lone.its);
    /// The token that this connection brought last.
    std::optional<uint64_t> token_of(uint64_t client) const;
    seat& add(caller who);
    seat& move(uint64_t from, caller to);
    void remove(uint64_t token);
    void each_seat(this auto& self, auto visit) {
        if (self._crowd) {
            for (auto& [token, one] : self._crowd->by_token) {
                visit(token, one);
            }
        } else if (self._lone.is_taken) {
            visit(self._lone.token, self._lone.its);
        }
    }

    struct crowd {
        std::unordered_map<uint64_t, seat> by_token;
        /// By connection: the token that it brought last.
        std::unordered_map<uint64_t, uint64_t> of_client;
    };
    /// Nearly all keys that anybody polls are polled by one: it sits here, without any map.
    struct {
        seat its{};
        uint64_t token = 0;
        uint64_t client = 0;  ///< that took the seat
        bool is_taken = false;
    } _lone;
    std::unique_ptr<crowd> _crowd;  ///< if there is one, all sit there
};

}  // namespace lockkeeper::shards
