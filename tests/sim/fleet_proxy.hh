#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet_coverage.hh"
#include "fleet_history.hh"
#include "fleet_master.hh"
#include "fleet_time.hh"
#include "fleet_wire.hh"
#include "shards/core/admission.hh"
#include "shards/core/clock_watch.hh"
#include "shards/core/lease.hh"
#include "shards/core/lease_horizon.hh"
#include "shards/core/pending_releases.hh"

namespace lockkeeper::sim {

inline constexpr size_t masters_most = 5;

/// What a proxy can do in the world.
class surroundings {
public:
    virtual true_time now() const = 0;
    virtual chance& random() = 0;
    virtual fleet_history& history() = 0;
    virtual coverage& covered() = 0;
    /// A client is promised a key until then, by this attempt: is that what the masters hold?
    virtual void promised(uint8_t proxy, uint8_t key, const shards::attempt_id& attempt,
                          true_time until) = 0;
    /// False if there is no connection.
    virtual bool send(uint8_t proxy, uint8_t master, question what) = 0;
    virtual bool is_connected(uint8_t proxy, uint8_t master) const = 0;
    virtual void drop_link(uint8_t proxy, uint8_t master) = 0;
    enum class timer : uint8_t { key, admission, others, clock, desk };
    virtual void wake(uint8_t proxy, timer which, uint8_t index, true_time at) = 0;
    virtual void tell_granted(uint8_t client, uint32_t request, uint8_t proxy, uint8_t key,
                              size_t grant) = 0;
    virtual void tell_lost(uint8_t client, uint32_t request) = 0;

    // Of proxies that have links.
    /// Its wish ends with an error.
    virtual void tell_failed(uint8_t client, uint32_t request) = 0;
    /// Nothing: it is not known.
    virtual void release_answered(uint8_t client, uint32_t request, std::optional<bool> done) = 0;
    /// Its lock is handed on: does it know that?
    virtual void gave_up(uint8_t client, uint32_t request, size_t grant) = 0;
    /// A request that must not be done twice.
    virtual void carried_out(uint64_t errand) = 0;
    /// One more than all before, in the whole world.
    virtual uint64_t next_arrival() = 0;
    /// The open wire to that process, or no_wire.
    virtual uint32_t wire_to(uint8_t from, uint8_t to, uint32_t epoch) const = 0;
    virtual std::string callee_of(uint32_t wire) const = 0;
    virtual void dial(uint8_t from, uint8_t to, uint32_t epoch) = 0;
    virtual void send_over(uint32_t wire, peer_wire::end from, const peer_message& what) = 0;

    /// For whoever replays a schedule; costs nothing otherwise.
    virtual bool is_told() const = 0;
    virtual void note(const std::string& text) = 0;

protected:
    ~surroundings() = default;
};

/// How the fleet is configured. Everything is shorter than in life, so that more happens.
struct fleet_rules {
    shards::lease_rules leases;
    shards::admission_options admission;
    /// Then the others have their turn.
    int hand_offs_most = 20;
    /// Between proxies, if they have links.
    shards::link_rules links{.between_signs = std::chrono::milliseconds(100),
                             .silence = std::chrono::milliseconds(350),
                             .watch_period = std::chrono::milliseconds(60)};
    /// Of a lock that lives by a connection which its client has closed.
    std::chrono::nanoseconds grace = std::chrono::milliseconds(30);

    static fleet_rules of(uint8_t masters);
};

/// A proxy: the decisions of shards/core, unchanged, in a shell as thin as the real one. Clients of
/// a key stand in line; the first is served as soon as the lease allows it.
class fleet_proxy {
public:
    /// `untimed` wants the lock until its connection ends.
    struct seat {
        uint8_t client = 0;
        uint32_t request = 0;
        std::chrono::nanoseconds ttl{};
        bool untimed = false;
        true_time since = 0;
        // With links.
        uint64_t arrival = 0;     ///< at this proxy
        uint32_t wire = no_wire;  ///< over which it came
    };
    struct holder {
        uint8_t client = 0;
        uint32_t request = 0;
        shards::instant promise{};
        bool untimed = false;
        bool gone = false;
        size_t grant = 0;  ///< in the history
        uint64_t fence = 0;
        uint32_t holds = 1;
        uint32_t wire = no_wire;
    };

    fleet_proxy(surroundings& world, uint8_t index, const fleet_rules& rules,
                const wall_clock& clock);

    void on_connected(uint8_t master);
    void on_disconnected(uint8_t master);
    void on_answer(uint8_t master, const question& asked, const answer& got);
    void on_timer(surroundings::timer which, uint8_t index);
    void on_acquire(uint8_t key, const seat& who);
    /// False if that client does not hold it.
    bool on_release(uint8_t key, uint8_t client, uint32_t request);
    void on_client_gone(uint8_t key, uint8_t client, uint32_t request);
    /// For a planted fault: the clock that decisions read.
    void tick() { _cached = read_clock(); }

    // For a desk, which then hears of what happens to the locks.
    void report_to(class fleet_desk& desk, uint32_t epoch);
    shards::instant clock() const;
    shards::voter_set admitted() const;
    /// It has the lease, or a holder.
    bool is_here(uint8_t key) const;
    shards::lease::phase phase(uint8_t key) const { return _locks[key].lease.state(); }
    bool may_try(uint8_t key) const;
    bool line_is_empty(uint8_t key) const { return _locks[key].line.empty(); }
    bool is_in_line(uint8_t key, uint8_t client, uint32_t request) const;
    /// Asks the masters for somebody who is not in line yet.
    void want(uint8_t key, const seat& who);
    std::deque<seat> take_line(uint8_t key) { return std::exchange(_locks[key].line, {}); }
    void forget_elsewhere(uint8_t key);
    /// It holds the lock already: one hold more, unless that is the grant that it repeats. Null if
    /// it does not.
    const holder* take_again(uint8_t key, const seat& who, std::optional<uint64_t> repeats);
    void on_extend(uint8_t key, uint8_t client, uint32_t request, std::chrono::nanoseconds ttl);
    /// The connection ended over which it waits or holds.
    void on_client_gone(uint8_t key, uint8_t client, uint32_t request, uint32_t wire,
                        std::chrono::nanoseconds grace);
    void look(uint8_t key) { serve(key); }

    std::string state_of(uint8_t key) const;
    /// Since when the first in line has been waiting; `now` if there is none.
    true_time waiting_since(uint8_t key) const;

private:
    struct lock {
        shards::lease lease;
        std::deque<seat> line;
        std::optional<holder> held;
        int hand_offs = 0;
        shards::instant rest_until = shards::start_of_time;
        true_time wake_at = -1;
        true_time asked = 0;         ///< when the votes, or the last renewal, were sent
        uint32_t block = 0;          ///< that they asked for
        shards::attempt_id reign{};  ///< under which the last one was served
        uint64_t served = 0;         ///< its arrival
        uint64_t reign_began = 0;    ///< likewise
    };
    struct link {
        explicit link(const fleet_rules& rules)
            : admission(rules.admission), horizon(rules.leases.max_ttl) {}

        shards::admission admission;
        shards::clock_watch clock;
        shards::lease_horizon horizon;
        shards::pending_releases undelivered;
        std::vector<shards::pending_release> releasing;  ///< sent and not answered, in order
        std::string run_id;
        bool step_under_way = false;
        bool reads_counters = false;
        std::vector<shards::other_master> others;
        uint16_t still_to_tell = 0;
        true_time read_ends = 0;
        shards::instant clock_asked{};
        bool was_pending = false;
        shards::instant pending_since{};
        uint64_t epoch_bumps = 0;
    };

    shards::instant read_clock() const;
    shards::lease_turn turn();

    void serve(uint8_t key);
    void grant(uint8_t key);
    void begin_round(uint8_t key, const seat& whose);
    void note_order(uint8_t key, const seat& whose);
    void settle(uint8_t key, shards::lease::phase before, uint64_t next_fence);
    void carry_out(uint8_t key);
    void send_release(uint8_t key, uint8_t master, shards::attempt_id attempt,
                      shards::instant until);
    void arm(uint8_t key);

    void advance(uint8_t master);
    void read_others(uint8_t master, bool counters);
    void others_have_told(uint8_t master);
    void on_head(uint8_t master, const answer& got);
    void on_other_told(uint8_t other, const question& asked, const answer& got);
    void forget_admission(uint8_t master);
    void not_marked(uint8_t master, const answer& got);
    void drop_votes_of(uint8_t master);
    void look_at_clock(uint8_t master);
    void on_clock(uint8_t master, const question& asked, const answer& got);
    void count_admission(uint8_t master);
    void check(uint8_t key);

    surroundings& _world;
    uint8_t _index;
    fleet_rules _rules;
    wall_clock _wall;
    shards::instant _cached{};
    std::array<lock, keys> _locks;
    std::vector<link> _links;
    std::vector<shards::lease_action> _actions;
    class fleet_desk* _desk = nullptr;
    uint32_t _epoch = 0;
};

}  // namespace lockkeeper::sim
