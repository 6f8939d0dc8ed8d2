#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fleet_coverage.hh"
#include "fleet_history.hh"
#include "fleet_master.hh"
#include "fleet_proxy.hh"
#include "fleet_time.hh"
#include "fleet_wire.hh"

namespace lockkeeper::sim {

class fleet_desk;

struct schedule {
    uint64_t seed = 1;
    uint8_t masters = 3;
    /// Clocks of masters step, and run faster or slower than leases allow for, and keys are
    /// evicted: two clients may have a lock at once then, but fences stay in order.
    bool beyond_model = false;
    bool verbose = false;
    /// Proxies have links, and send requests to the homes of their keys.
    bool linked = false;
};

struct schedule_result {
    verdicts found;
    uint64_t events = 0;
    uint64_t grants = 0;
    uint64_t faults = 0;
    uint64_t digest = 0;
    coverage covered;
    bool endless = false;  ///< stopped, since events without number happened at one time

    bool is_bad(const schedule& of) const {
        if (!found.fences_are_sound() || endless) {
            return true;
        }
        return found.broken > 0 ||
               (!of.beyond_model && (!found.exclusion_holds() || found.starved > 0));
    }
};

/// Masters, proxies and clients, and everything that goes wrong between them. One seed is one
/// schedule: virtual time, one thread, nothing from outside.
class fleet_world final : private surroundings {
public:
    explicit fleet_world(const schedule& what);
    ~fleet_world();
    schedule_result run();

private:
    static constexpr size_t clients = 9;
    static constexpr true_time faults_end = 12 * s;
    /// Whatever lasts has an end by then, and clients let go soon.
    static constexpr true_time calm = 13 * s;
    static constexpr true_time healed = 18 * s;
    true_time end() const { return _schedule.linked ? 23 * s : 21 * s; }
    /// Nobody waits for longer than this when all is well. Proxies compete by chance, so it is a
    /// rough bound.
    true_time waits_most() const { return _schedule.linked ? 4'500 * ms : 2'500 * ms; }

    enum class kind : uint8_t {
        connect,
        request_arrives,
        reply_arrives,
        timer,
        tick,
        client_starts,
        client_asks,
        client_gives_up,
        client_is_told,
        client_is_done,
        client_releases,
        client_vanishes,
        client_lost_it,
        client_extends,
        peer_connects,
        peer_says,
        wire_is_watched,
        wire_ends,
        wire_is_reset,
        proxy_is_drained,
        fault,
        link_breaks,
        master_is_back,
        master_has_room,
        master_is_well,
        master_leads,
        proxy_is_back,
        snapshot,
    };

    /// On its way between a proxy and a master.
    struct letter {
        question asked;
        answer got;
        uint8_t proxy = 0;
        uint8_t master = 0;
        bool outlives_its_link = false;  ///< is carried out although the connection broke
        uint32_t generation = 0;
        uint32_t epoch = 0;
        std::string run_id;  ///< the connection cannot outlive the process
    };
    struct connection {
        uint32_t generation = 0;
        bool up = false;
        std::string run_id;
        true_time last_request = 0;
        true_time last_reply = 0;
        true_time cut_until = 0;       ///< for requests
        true_time no_reply_until = 0;  ///< for replies
    };
    struct proxy_process {
        std::unique_ptr<fleet_proxy> proxy;  ///< null: dead
        std::unique_ptr<fleet_desk> desk;    ///< null: dead, or without links
        bool draining = false;
        uint32_t epoch = 0;
        true_time paused_until = 0;
        wall_clock clock;
        bool otherwise = false;  ///< its configuration is not the fleet's
    };
    /// What clients are like, in one schedule.
    enum class mood : uint8_t {
        mixed,
        hot,   ///< all want one key, nearly all by one proxy, for a moment
        slow,  ///< few let go soon, and most want to keep it while they are connected
    };
    struct client {
        uint32_t request = 0;
        bool waiting = false;
        bool holding = false;
        uint8_t proxy = 0;
        uint8_t key = 0;
        size_t grant = 0;
    };

    // surroundings
    true_time now() const override { return _now; }
    chance& random() override { return _chance; }
    fleet_history& history() override { return _history; }
    coverage& covered() override { return _covered; }
    void promised(uint8_t proxy, uint8_t key, const shards::attempt_id& attempt,
                  true_time until) override;
    bool send(uint8_t proxy, uint8_t master, question what) override;
    bool is_connected(uint8_t proxy, uint8_t master) const override;
    void drop_link(uint8_t proxy, uint8_t master) override;
    void wake(uint8_t proxy, timer which, uint8_t index, true_time at) override;
    void tell_granted(uint8_t client, uint32_t request, uint8_t proxy, uint8_t key,
                      size_t grant) override;
    void tell_lost(uint8_t client, uint32_t request) override;
    void tell_failed(uint8_t client, uint32_t request) override;
    void release_answered(uint8_t client, uint32_t request, std::optional<bool> done) override;
    void gave_up(uint8_t client, uint32_t request, size_t grant) override;
    void carried_out(uint64_t errand) override;
    uint64_t next_arrival() override { return ++_arrivals; }
    uint32_t wire_to(uint8_t from, uint8_t to, uint32_t epoch) const override;
    std::string callee_of(uint32_t wire) const override;
    void dial(uint8_t from, uint8_t to, uint32_t epoch) override;
    void send_over(uint32_t wire, peer_wire::end from, const peer_message& what) override;
    bool is_told() const override { return _schedule.verbose; }
    void note(const std::string& text) override;

    void begin();
    void happen(const event& what);
    /// True if the proxy of an event can take it now; puts it off if it is paused.
    bool reaches_proxy(const event& what);
    true_time delay();

    void connect(uint8_t proxy, uint8_t master);
    void request_arrives(const event& what);
    void reply_arrives(const event& what);
    void start_proxy(uint8_t proxy);
    uint32_t keep(letter&& one);

    // fleet_clients.cc
    void client_happens(const event& what);
    void start_client(uint8_t client, true_time in);
    void client_starts(uint8_t client);
    void client_is_told(const event& what);
    void client_is_done(const event& what);
    uint8_t any_door(uint8_t own);

    // fleet_wires.cc
    struct peer_letter {
        peer_message what;
        uint32_t wire = no_wire;
        peer_wire::end to = peer_wire::caller;
    };
    shards::instant clock_of(uint8_t proxy) const;
    void peer_connects(const event& what);
    void peer_says(const event& what);
    void plan_look(uint32_t wire, peer_wire::end which);
    void wire_is_watched(const event& what);
    void wire_ends(const event& what);
    void end_wire(uint32_t wire, peer_wire::end which);
    void say_end(uint32_t wire, peer_wire::end which);
    void break_wire(uint32_t wire, chance& luck);
    void lose_wires_of(uint8_t proxy, bool in_order);
    true_time arrival_over(peer_wire& which, peer_wire::end from);
    uint32_t keep_message(peer_letter&& one);
    void resolve(uint8_t client, uint32_t request);

    // fleet_faults.cc
    void plan_faults();
    void fault_happens(const event& what);
    void crash_master(uint8_t master, fleet_master::loss lost);
    void break_links_of(uint8_t master);
    void look_for_the_starved();
    bool is_calm() const { return _now >= calm; }
    void crash_proxy(uint8_t proxy, bool in_order = false);

    schedule _schedule;
    mood _mood = mood::mixed;
    chance _chance;
    true_time _now = 0;
    agenda _agenda;
    fleet_history _history;
    fleet_rules _rules;
    std::array<fleet_master, masters_most> _masters;
    std::array<proxy_process, proxies> _proxies;
    std::array<std::array<connection, masters_most>, proxies> _links;
    std::array<client, clients> _clients;
    std::vector<letter> _letters;
    std::vector<uint32_t> _free_letters;
    std::vector<peer_wire> _wires;
    std::array<std::array<uint32_t, proxies>, proxies> _wire_of{};  ///< the last one
    std::array<std::array<true_time, proxies>, proxies> _parted{};  ///< until when, one way
    std::array<std::array<bool, proxies>, proxies> _dialing{};
    std::vector<peer_letter> _messages;
    std::vector<uint32_t> _free_messages;
    // What clients were told, for the judge.
    std::array<uint32_t, clients> _resolved{};
    std::array<uint32_t, clients> _told_lost{};
    struct release_under_way {
        uint32_t request = 0;
        true_time since = 0;
        true_time until = 0;
        uint8_t door = 0;  ///< at which its client is connected
        uint8_t key = 0;
    };
    std::array<release_under_way, clients> _releasing{};
    std::map<uint64_t, int> _carried_out;
    uint64_t _arrivals = 0;
    coverage _covered;
    uint64_t _faults = 0;
    bool _skewed = false;  ///< a proxy was configured otherwise: masters may follow it
};

}  // namespace lockkeeper::sim
