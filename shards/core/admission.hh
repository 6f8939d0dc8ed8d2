#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

struct admission_options {
    /// When a master may vote that was never admitted, in a group of which none was.
    enum class first_contact : uint8_t {
        strict,  ///< after the longest lease: it may have forgotten everything a moment ago
        quick,   ///< at once
    };
    /// When a majority of the group has lost its counters.
    enum class counter_recovery : uint8_t {
        clock,   ///< count on from the wall clock
        strict,  ///< stay closed until an operator says so
    };

    uint8_t masters = 1;
    /// What all proxies of the fleet must agree on, digested (fleet_fingerprint.hh).
    std::string fingerprint{};
    std::chrono::nanoseconds max_ttl = std::chrono::minutes(10);
    /// The longest that any round of any proxy waits for answers.
    std::chrono::nanoseconds round_timeout = std::chrono::milliseconds(250);
    first_contact first = first_contact::strict;
    counter_recovery recovery = counter_recovery::clock;
};

/// What a master said about itself on a new connection, or when it was asked again.
struct handshake_facts {
    std::string run_id{};  ///< of the process; the connection cannot outlive it
    std::string role{};    ///< as ROLE tells: "master", "slave", "sentinel"
    bool cluster = false;
    bool loading = false;
    std::string refuses_writes{};  ///< what it says to them; empty: nothing
    bool promoted = false;  ///< it was a replica, or may have been: what it has is what it was sent
    bool same_as_another = false;  ///< another master of the group has this run_id
    // Nothing if the server does not let us ask (CONFIG); then the state is shown as unverified.
    std::optional<uint64_t> maxmemory{};
    std::optional<std::string> maxmemory_policy{};
    std::optional<std::string> appendonly{};
    std::optional<std::string> appendfsync{};
    // The head of its fence table.
    std::optional<std::string> incarnation{};  ///< the run_id that was admitted
    std::optional<std::string> fingerprint{};
    std::optional<std::string> durability{};  ///< what was verified when it was admitted
};

/// What another master of the group said when it was asked for its horizon or its counters.
struct other_master {
    enum class standing : uint8_t {
        admitted,  ///< answered, and counts
        forgot,    ///< answered, and has nothing to tell: it waits for admission itself
        silent,    ///< no connection, or no answer
    };

    standing what = standing::silent;
    std::chrono::nanoseconds horizon{};  ///< how long its longest lease still lives
    uint64_t counter = 0;                ///< the highest fence it knows of, if asked for
};

struct pend_answer {
    /// Somebody else has admitted it meanwhile.
    bool already_admitted = false;
    std::string nonce{};  ///< the one in force
    /// The run_id that was admitted before, as it was found in the same step; nothing: none.
    std::optional<std::string> incarnation{};
};

/// What to do next about a master, not before `at`.
struct admission_step {
    enum class kind : uint8_t {
        wait,           ///< nothing to do until `at`
        shake_hands,    ///< ask for handshake_facts, on the connection or on a new one
        pend,           ///< write down a nonce of ours, unless there is one
        read_horizons,  ///< ask every other master of the group for its standing and horizon
        read_counters,  ///< and for its highest counter; that is some work for it
        admit,          ///< with `nonce` and `base`
    };

    kind what = kind::wait;
    instant at{};
    std::string nonce{};
    uint64_t base = 0;
    /// admit: to be written down. pend: what may still be said of it; nothing if it has lost
    /// something, for another process may come before this one is admitted.
    std::string durability{};
};

/// Whether one master may vote, as one proxy sees it.
///
/// A vote counts only from an admitted incarnation of a master: one of which it is known that it
/// has forgotten no lease that is still valid and no fence that was given out. The master keeps a
/// mark of it (`inc`, the run_id), and every vote checks that mark in the same atomic step. A
/// master without the right mark, because it restarted, was flushed, restored or promoted, waits:
///
///     pend       A nonce is written there, so that what is waited for begins after the forgetting;
///                a second forgetting takes the nonce along, and everything begins again.
///     rounds     Until every round has ended that may count on a vote which it has forgotten.
///     horizon    N-Q+1 of the others tell when their longest lease ends (lease_horizon.hh). Every
///                lease that counted on this master is held by at least one of them, since Q-1 of
///                the other N-1 voted for it, and (Q-1) + (N-Q+1) > N-1. If so many cannot be
///                asked: as if there were a lease of max_ttl.
///     quarantine Until then.
///     counters   N-Q+1 of the others tell their highest fence; by the same count at least one of
///                them has carried every fence that this master has.
///     admit      Only if the nonce is still there: counts from above all of those, and above the
///                clock floor.
///
/// A master whose clock stepped goes the same way, but for the nonce and the counters.
class admission {
public:
    enum class state : uint8_t { disconnected, refused, pending, admitted };

    explicit admission(admission_options options) : _options(std::move(options)) {}

    state status() const { return _state; }
    bool may_vote() const { return _state == state::admitted; }
    /// For operators: why it does not vote, or what could not be verified.
    std::string_view reason() const { return _reason; }
    /// Pending: when it may be admitted, as far as is known.
    std::optional<instant> until() const;
    /// How often fences had to begin from the clock because nobody remembered them.
    uint64_t epoch_bumps() const { return _epoch_bumps; }

    /// What to do now. Ask again after every event, and at `at`.
    admission_step next(instant now);

    void on_connection_lost();
    /// A vote or renewal was answered by another incarnation or configuration than was admitted, or
    /// a script was missing: nothing counts until the next handshake.
    void on_vote_refused();
    void on_handshake(const handshake_facts& facts, instant now);
    void on_pend(const pend_answer& answer, instant now);
    /// One entry for each other master of the group.
    void on_others(std::span<const other_master> others, uint64_t unix_seconds, instant now);
    void on_admit(bool admitted, instant now);
    /// A command of the above failed without an answer that makes sense. `why` is for operators.
    void on_failed_step(std::string why, instant now);
    /// It does not do what votes need, as one that is full or has a disk that failed. Asked again
    /// in a moment.
    void on_refusal(std::string why, instant now);
    /// What it said when it was asked again, on the same connection.
    void on_another_look(const handshake_facts& facts, instant now);
    void on_clock_step(instant now);
    /// An operator accepts that fences begin from the clock.
    void allow_clock_floor() { _options.recovery = admission_options::counter_recovery::clock; }

private:
    enum class stage : uint8_t {
        handshake,
        pend,
        rounds,
        horizon,
        quarantine,
        witnesses,  ///< are there enough others to be asked for their counters?
        counters,
        admit,
    };

    static std::optional<std::string> objection(const handshake_facts& facts);
    size_t others_needed() const;
    instant full_quarantine() const;
    void begin_waiting(instant now);
    void read_horizon(std::span<const other_master> others, instant now);
    void count_witnesses(std::span<const other_master> others, instant now);
    void read_counters(std::span<const other_master> others, uint64_t unix_seconds, instant now);
    void refuse(std::string why, instant now);

    admission_options _options;
    state _state = state::disconnected;
    stage _stage = stage::handshake;
    std::string _reason;
    std::string _run_id;
    std::string _nonce;
    std::string _nonce_run_id;
    std::string _durability;
    std::optional<std::string> _earlier;  ///< the incarnation that the handshake found
    instant _seen{};        ///< when the nonce was first seen here, or the clock's step
    instant _until{};       ///< end of the quarantine
    instant _not_before{};  ///< of the next step
    uint64_t _base = 0;
    uint64_t _epoch_bumps = 0;
    bool _was_admitted = false;  ///< in the life of this process: then it is no first contact
    bool _first_contact = false;
    bool _kept_everything = false;  ///< it restarted, and says that every answer was on disk
    bool _distrusted = false;       ///< admitted, but its clock stepped
    bool _from_clock = false;
    bool _unverified = false;
};

}  // namespace lockkeeper::shards
