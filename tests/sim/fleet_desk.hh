#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "fleet_proxy.hh"
#include "fleet_wire.hh"
#include "shards/core/away_grants.hh"
#include "shards/core/forwarding.hh"
#include "shards/core/home_hints.hh"
#include "shards/core/home_search.hh"
#include "shards/core/order_ledger.hh"
#include "shards/core/proxy_roster.hh"

namespace lockkeeper::sim {

/// Where a proxy that has links takes requests: its own clients' go to the proxy that has the lease
/// of their key, and clients of other proxies are served if that is this one. The decisions are
/// those of shards/core; the shell around them does what proxy/at_home, proxy/lock_wait,
/// proxy/forwarder and the part of shards/lease_keeper about homes do.
///
/// It also judges: what it sees with its own eyes, and the decisions cannot.
class fleet_desk {
public:
    static constexpr uint8_t beat_timer = 200;

    fleet_desk(surroundings& world, fleet_proxy& proxy, uint8_t index, uint32_t epoch,
               const fleet_rules& rules);

    // Clients of this proxy.
    void on_acquire(uint8_t key, const fleet_proxy::seat& who);
    void on_release(uint8_t key, uint8_t client, uint32_t request);
    void on_extend(uint8_t key, uint8_t client, uint32_t request, std::chrono::nanoseconds ttl);
    void on_client_gone(uint8_t key, uint8_t client, uint32_t request);

    // Other proxies.
    void on_message(uint32_t wire, peer_wire::end at, const peer_message& what);
    void on_wire_ended(uint32_t wire, peer_wire::end at, const peer_wire& which);
    /// Everybody goes elsewhere; then this process ends.
    void drain();

    // Masters and time.
    void on_looked(const question& asked, const answer& got);
    void on_beat(const answer& got);
    void on_timer(uint8_t index);

    // The proxy, about its lines.
    void settled(uint8_t key);
    void granted(uint8_t key, const fleet_proxy::seat& who, const fleet_proxy::holder& given);
    void lost(uint8_t key, const fleet_proxy::holder& whose);
    /// A lock ends although its client has not released it; the lease goes on.
    void gave_up(uint8_t key, const fleet_proxy::holder& whose);

    /// Since when the longest waiting request has been under way; `now` if there is none.
    true_time waiting_since() const;
    std::string state() const;

private:
    using seat = fleet_proxy::seat;

    /// What a client of this proxy wants.
    struct errand {
        enum class kind : uint8_t { acquire, release, extend };
        enum class state : uint8_t { trying, searching, away, in_line };

        uint64_t id = 0;
        kind what = kind::acquire;
        state now = state::trying;
        uint8_t key = 0;
        seat who{};
        shards::forward_journey way;
        std::string home{};
        uint32_t wire = no_wire;
        uint64_t order = 0;
        uint32_t again = 0;  ///< how often the answer did not come
        int tries = 0;
        bool joined = false;  ///< a search that was under way when it came
        int sent = 0;         ///< since it last stood in a line
        true_time since = 0;
    };
    /// A client of another proxy.
    struct guest {
        enum class state : uint8_t { idle, coming, in_line };

        state now = state::idle;
        peer_message wish{};
        uint64_t fence = 0;  ///< that the last wish got, if it was granted
        uint64_t arrival = 0;
    };
    using guest_name = std::tuple<uint32_t, uint8_t, uint32_t>;  ///< wire, client, request
    struct search {
        shards::home_search state;
        shards::attempt_id attempt{};
        true_time ends = 0;
    };

    shards::instant now() const { return _proxy.clock(); }
    static std::string name_of(uint8_t index, uint32_t epoch);
    static std::pair<uint8_t, uint32_t> place_named(const std::string& name);
    static shards::lock_key key_of(uint8_t key);
    std::optional<std::string> known_home(uint8_t key);
    shards::lease_place place_of(uint8_t key);
    uint64_t next_number();

    // Errands.
    void begin(errand&& one);
    void step(uint64_t id);
    void attempt(uint64_t id);
    void do_here(uint64_t id);
    void send(uint64_t id, const std::string& home);
    void trouble(uint64_t id, shards::forward_trouble why);
    void begin_search(uint8_t key);
    void conclude(uint8_t key);
    void send_line_home(uint8_t key);
    errand* find_errand(uint8_t client, uint32_t request, errand::kind what);
    void on_answer(uint32_t wire, const peer_message& what);
    void tell_losses(std::pair<uint8_t, uint32_t> whose, const std::string& home);

    // Guests.
    bool has_place() const;
    void on_wish(uint32_t wire, const peer_message& what);
    void step(const guest_name& name);
    void take_in(const guest_name& name);
    void end_earlier(const guest_name& name);
    /// `left_unheard`: it was not the client who ended it, and it may not know.
    void leave(const guest_name& name, bool left_unheard);
    void answer_guest(const guest_name& name, peer_message what);

    void beat();
    void broken(const std::string& story);

    surroundings& _world;
    fleet_proxy& _proxy;
    uint8_t _index;
    uint32_t _epoch;
    fleet_rules _rules;
    uint64_t _numbers = 0;
    bool _draining = false;

    std::map<uint64_t, errand> _errands;
    std::map<guest_name, guest> _guests;
    std::map<std::pair<uint8_t, uint32_t>, std::vector<uint32_t>> _conversations;
    std::map<std::pair<uint8_t, uint32_t>, shards::away_grants> _away;
    shards::home_hints _hints;
    std::array<std::optional<search>, keys> _searches;
    std::array<bool, keys> _line_wants_home{};
    shards::order_ledger _ledger;
    shards::proxy_roster _roster;
    uint64_t _beat = 0;
    std::vector<std::vector<shards::proxy_card>> _readings;

    // For the judge.
    std::array<true_time, keys> _hint_ends{};
    std::array<std::string, keys> _refused_by{};
};

}  // namespace lockkeeper::sim
