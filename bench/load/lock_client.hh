#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/load/connection.hh"
#include "bench/load/lock_commands.hh"
#include "bench/load/plan.hh"
#include "bench/load/random.hh"
#include "bench/load/referee.hh"
#include "bench/load/tally.hh"
#include "bench/load/timer_heap.hh"

namespace lockkeeper::bench {

/// What the clients of one worker share. Belongs to the worker's thread, but for what is const or
/// atomic.
struct client_world {
    const load_plan& plan;
    const lock_commands& commands;
    referee& judge;
    load_board& board;
    std::vector<connection> connections;
    std::vector<std::uint32_t> touched{};  ///< connections with something to send
    timer_heap timers;
    random_source random;
    tally counted{};
    moment now{};
    bool draining = false;
    std::uint32_t ended = 0;
    std::uint32_t clients_lost = 0;
};

/// One lock client in a closed loop: acquire, hold, release, think, again. It is a state machine:
/// the worker tells it of replies and alarms, and it writes its next command into its connections.
///
/// It has a connection to each master, and what it asks is a round: put to all of them at once, won
/// by a majority of yes, lost when no majority is left. A single server is a majority of one. Votes
/// that come after the verdict belong to no open round and are dropped.
class lock_client {
public:
    /// `place` is its index in the worker and in its timers; its connections begin at
    /// `first_connection`.
    lock_client(std::uint32_t id, std::uint32_t place, std::uint32_t first_connection,
                client_world& world);

    void start(client_world& world);
    void on_reply(client_world& world, std::uint32_t round, const scanned_reply& reply);
    /// The connection was lost before the reply.
    void on_no_reply(client_world& world, std::uint32_t round);
    /// One of its connections was lost; too few may be left to go on.
    void on_connection_lost(client_world& world);
    void on_alarm(client_world& world);
    /// Mode once: everybody waits, the first one may release.
    void on_gate(client_world& world);
    /// Gives up what it holds and begins nothing new.
    void on_drain(client_world& world);

    void begin_measuring();
    /// Who still waits has waited, too. Returns for how long, if it does.
    std::optional<std::chrono::nanoseconds> end_measuring(const client_world& world);

    std::uint32_t id() const { return _id; }
    std::uint32_t first_connection() const { return _first_connection; }
    std::uint64_t sections() const { return _sections; }
    bool starved() const { return _starved; }
    bool has_ended() const { return _state == state::ended; }
    bool is_holding() const { return _state == state::holding || _state == state::releasing; }
    /// Mode once: when it was served, counted from 0.
    std::optional<std::uint32_t> served() const { return _served; }

private:
    enum class state : std::uint8_t {
        idle,
        acquiring,
        pausing,  ///< was refused, will ask again
        holding,
        renewing,
        releasing,
        thinking,
        ended,
    };

    void begin_section(client_world& world);
    void attempt(client_world& world);
    void ask(client_world& world, state what);
    void send(client_world& world, std::uint32_t master, state what, std::uint32_t round);
    bool may_ask(client_world& world, std::uint32_t master, state what) const;
    void release_everywhere(client_world& world);
    vote read(client_world& world, const scanned_reply& reply);
    void decide(client_world& world);
    void won(client_world& world);
    void lost(client_world& world);

    void entered(client_world& world);
    void refused(client_world& world);
    void hold(client_world& world);
    void renewed(client_world& world);
    void leave(client_world& world);
    void released(client_world& world);
    void not_the_owner(client_world& world);
    void next(client_world& world);
    void end(client_world& world);

    void choose_key(client_world& world);
    void next_token();
    lock_name lock() const {
        return {.key = {_key_text.data(), _key_size}, .token = {_token.data(), _token.size()}};
    }

    std::uint32_t _id;
    std::uint32_t _place;
    std::uint32_t _first_connection;
    state _state = state::idle;

    // The round under way.
    bool _open = false;
    bool _failed = false;  ///< an error or a lost connection took part: a loss proves nothing
    std::uint8_t _yes = 0;
    std::uint8_t _no = 0;
    std::uint32_t _round = 0;
    std::optional<std::uint64_t> _fence;

    // The section under way.
    std::uint32_t _masters_asked =
        0;  ///< for the lock, a bit each: where it may have to be released
    std::uint32_t _key = 0;
    std::uint32_t _refusals = 0;
    moment _wait_began;
    std::uint64_t _turn_before = 0;  ///< grants of the key when the wait began
    moment _asked;                   ///< the round under way
    moment _lease_end;  ///< until when it may rely on the lock, whatever the server does

    // What is measured.
    std::uint64_t _sections = 0;
    bool _starved = false;
    std::optional<std::uint32_t> _served;

    std::uint8_t _key_size = 0;
    std::array<char, load_plan::key_bytes_max> _key_text{};
    std::array<char, 32> _token{};
};

}  // namespace lockkeeper::bench
