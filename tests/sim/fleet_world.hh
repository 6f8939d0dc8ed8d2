#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fleet_history.hh"
#include "fleet_master.hh"
#include "fleet_proxy.hh"
#include "fleet_time.hh"

namespace lockkeeper::sim {

struct schedule {
    uint64_t seed = 1;
    uint8_t masters = 3;
    /// Clocks of masters step, and run faster or slower than leases allow for: two clients may have
    /// a lock at once then, but fences stay in order.
    bool beyond_model = false;
    bool verbose = false;
};

struct schedule_result {
    verdicts found;
    uint64_t events = 0;
    uint64_t grants = 0;
    uint64_t rounds = 0;
    uint64_t second_round_trips = 0;
    uint64_t faults = 0;
    uint64_t digest = 0;

    bool is_bad(const schedule& of) const {
        if (!found.fences_are_sound()) {
            return true;
        }
        return !of.beyond_model && (!found.exclusion_holds() || found.starved > 0);
    }
};

/// Masters, proxies and clients, and everything that goes wrong between them. One seed is one
/// schedule: virtual time, one thread, nothing from outside.
class fleet_world final : private surroundings {
public:
    explicit fleet_world(const schedule& what);
    schedule_result run();

private:
    static constexpr size_t proxies = 3;
    static constexpr size_t clients = 9;
    static constexpr true_time faults_end = 12 * s;
    static constexpr true_time healed = 18 * s;
    static constexpr true_time end = 21 * s;

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
        fault,
        link_breaks,
        master_is_back,
        master_has_room,
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
        true_time cut_until = 0;
    };
    struct proxy_process {
        std::unique_ptr<fleet_proxy> proxy;  ///< null: dead
        uint32_t epoch = 0;
        true_time paused_until = 0;
        wall_clock clock;
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
    bool send(uint8_t proxy, uint8_t master, question what) override;
    bool is_connected(uint8_t proxy, uint8_t master) const override;
    void drop_link(uint8_t proxy, uint8_t master) override;
    void wake(uint8_t proxy, timer which, uint8_t index, true_time at) override;
    void tell_granted(uint8_t client, uint32_t request, uint8_t proxy, uint8_t key,
                      size_t grant) override;
    void tell_lost(uint8_t client, uint32_t request) override;

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

    // fleet_faults.cc
    void plan_faults();
    void fault_happens(const event& what);
    void crash_master(uint8_t master, fleet_master::loss lost);
    void crash_proxy(uint8_t proxy);

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
    uint64_t _rounds = 0;
    uint64_t _second_round_trips = 0;
    uint64_t _faults = 0;
};

}  // namespace lockkeeper::sim
