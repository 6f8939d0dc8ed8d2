#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/load/lock_client.hh"

namespace lockkeeper::bench {

/// What one worker found out.
struct worker_result {
    tally measured;
    tally outside;  ///< warm-up and drain: its violations and errors count, its speed does not
    std::vector<std::uint64_t> sections;  ///< by lane
    std::uint32_t starved = 0;
    std::uint32_t waiting_at_end = 0;
    std::chrono::nanoseconds longest_wait_at_end{};
    std::uint32_t clients_lost = 0;
    std::uint32_t left_holding = 0;  ///< when the drain's time was over
    std::uint32_t left_waiting = 0;
    /// Mode once: who was served when.
    struct service {
        std::uint32_t client;
        std::uint32_t place;
    };
    std::vector<service> order;
};

/// One thread with its share of the clients: waits for sockets and alarms and passes them on. All
/// that it touches is its own, but for the board, the referee's words and what is const.
///
/// The life: construct, give a thread to run(), which returns after the drain; then result().
/// wake() is for other threads, after a change of the board.
class worker {
public:
    struct parts {
        const load_plan& plan;
        const lock_commands& commands;
        referee& judge;
        load_board& board;
        std::uint32_t number;  ///< of this worker
        /// As many for each client as there are masters, in order.
        std::vector<connection> connections;
        /// Which client each such group belongs to.
        std::vector<std::uint32_t> clients;
    };

    explicit worker(parts all);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    void run();
    void wake();
    const worker_result& result() const { return _result; }

private:
    void look_at_board();
    void let_arrive();
    void begin_measuring();
    void begin_draining();
    bool is_done() const;
    void finish();

    int wait();
    void on_event(std::uint64_t tag, std::uint32_t events);
    void on_readable(std::uint32_t index);
    void flush_touched();
    void flush(std::uint32_t index);
    void lose(std::uint32_t index);
    void watch(std::uint32_t index, std::uint32_t events, int operation);

    client_world _world;
    std::uint32_t _number;
    std::vector<lock_client> _clients;
    std::uint32_t _connections_each;
    load_board::stage _stage = load_board::stage::warming;
    std::size_t _next_arrival = 0;
    bool _gate_seen = false;
    std::optional<moment> _drain_end;

    int _poll = -1;
    int _bell = -1;
    std::unique_ptr<struct epoll_room> _events;
    std::vector<char> _room;
    moment _last_event{};
    worker_result _result;
};

}  // namespace lockkeeper::bench
