#include "bench/load/worker.hh"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace lockkeeper::bench {

using stage = load_board::stage;

/// Out of the header, which then needs no epoll.
struct epoll_room {
    std::array<epoll_event, 512> events;
};

namespace {

/// A tag that is no connection's index.
constexpr std::uint64_t bell_tag = UINT64_MAX;

/// Replies to lock commands are some 10 to 100 bytes: this is many of them at once.
constexpr std::size_t room_bytes = 64 * 1024;

/// How long a thread sleeps at most, should nothing happen.
constexpr auto longest_sleep = std::chrono::seconds(1);

void pin_to(std::uint32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    // A CPU that is not there: the load runs all the same, unpinned.
    ::sched_setaffinity(0, sizeof(set), &set);
}

/// epoll_wait with nanoseconds, where the kernel has it; otherwise a sleep is rounded up.
int wait_for_events(int poll, std::span<epoll_event> events, std::chrono::nanoseconds timeout) {
    static std::atomic<bool> has_nanoseconds = true;
    if (timeout <= std::chrono::nanoseconds(0)) {
        return ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), 0);
    }
    if (has_nanoseconds.load(std::memory_order_relaxed)) {
        const timespec span{.tv_sec = timeout / std::chrono::seconds(1),
                            .tv_nsec = (timeout % std::chrono::seconds(1)).count()};
        const int count =
            ::epoll_pwait2(poll, events.data(), static_cast<int>(events.size()), &span, nullptr);
        if (count >= 0 || errno != ENOSYS) {
            return count;
        }
        has_nanoseconds = false;
    }
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    return ::epoll_wait(poll, events.data(), static_cast<int>(events.size()),
                        static_cast<int>(milliseconds));
}

}  // namespace

worker::worker(parts all)
    : _world{.plan = all.plan,
             .commands = all.commands,
             .judge = all.judge,
             .board = all.board,
             .connections = std::move(all.connections),
             .timers = timer_heap(all.clients.size() * all.plan.options.depth),
             .random = random_source(all.plan.seed + all.number)},
      _number(all.number),
      _connections_each(all.plan.masters),
      _poll(::epoll_create1(EPOLL_CLOEXEC)),
      _bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      _events(std::make_unique<epoll_room>()),
      _room(room_bytes) {
    if (_poll < 0 || _bell < 0) {
        throw std::system_error(errno, std::generic_category(), "epoll");
    }
    const std::uint32_t depth = all.plan.options.depth;
    _clients.reserve(all.clients.size() * depth);
    for (std::uint32_t i = 0; i != all.clients.size(); ++i) {
        for (std::uint32_t lane = 0; lane != depth; ++lane) {
            _clients.emplace_back(all.clients[i] * depth + lane,
                                  static_cast<std::uint32_t>(_clients.size()),
                                  i * _connections_each, _world);
        }
    }
    _world.touched.reserve(_world.connections.size());
    epoll_event bell{.events = EPOLLIN, .data = {.u64 = bell_tag}};
    ::epoll_ctl(_poll, EPOLL_CTL_ADD, _bell, &bell);
    for (std::uint32_t i = 0; i != _world.connections.size(); ++i) {
        watch(i, EPOLLIN, EPOLL_CTL_ADD);
    }
}

worker::~worker() {
    ::close(_bell);
    ::close(_poll);
}

void worker::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(_bell, &one, sizeof(one));
}

void worker::run() {
    // Sleeps of microseconds are part of the load; the kernel's default would stretch them by 50.
    ::prctl(PR_SET_TIMERSLACK, 1);
    const auto& cpus = _world.plan.options.cpus;
    if (!cpus.empty()) {
        pin_to(cpus[_number % cpus.size()]);
    }
    _world.now = _last_event = std::chrono::steady_clock::now();
    while (true) {
        look_at_board();
        while (const auto due = _world.timers.take_due(_world.now)) {
            _clients[*due].on_alarm(_world);
            flush_touched();
        }
        if (is_done()) {
            break;
        }
        const int count = wait();
        _world.now = std::chrono::steady_clock::now();
        if (count > 0) {
            _last_event = _world.now;
        }
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = _events->events[static_cast<std::size_t>(i)];
            on_event(event.data.u64, event.events);
        }
    }
    finish();
}

void worker::look_at_board() {
    const load_board& board = _world.board;
    if (_world.plan.options.mode == load_mode::once) {
        if (!_gate_seen && board.gate_is_open) {
            _gate_seen = true;
            for (lock_client& client : _clients) {
                client.on_gate(_world);
            }
            flush_touched();
        }
    }
    const stage now = board.now.load(std::memory_order_acquire);
    if (now != _stage) {
        if (_stage == stage::warming) {
            begin_measuring();
        }
        if (now == stage::draining) {
            begin_draining();
        }
        _stage = now;
    }
    if (now != stage::draining) {
        let_arrive();
    }
}

/// In mode once clients come when the main thread says so; otherwise all at once.
void worker::let_arrive() {
    const std::uint32_t below = _world.plan.options.mode == load_mode::once
                                    ? _world.board.may_arrive.load()
                                    : _world.plan.lanes;
    for (; _next_arrival != _clients.size() && _clients[_next_arrival].id() < below;
         ++_next_arrival) {
        _clients[_next_arrival].start(_world);
        flush_touched();
    }
}

void worker::begin_measuring() {
    _result.outside.merge(_world.counted);
    _world.counted = tally();
    for (lock_client& client : _clients) {
        client.begin_measuring();
    }
}

void worker::begin_draining() {
    _world.draining = true;
    _drain_end = moment(std::chrono::nanoseconds(_world.board.drain_end.load()));
    _result.measured = std::exchange(_world.counted, tally());
    for (lock_client& client : _clients) {
        if (const auto waiting = client.end_measuring(_world)) {
            ++_result.waiting_at_end;
            _result.longest_wait_at_end = std::max(_result.longest_wait_at_end, *waiting);
        }
        _result.sections.push_back(client.sections());
        _result.starved += client.starved() ? 1 : 0;
    }
    for (lock_client& client : _clients) {
        client.on_drain(_world);
        flush_touched();
    }
}

bool worker::is_done() const {
    if (!_drain_end) {
        return false;
    }
    return _world.now >= *_drain_end || _world.ended == _clients.size();
}

void worker::finish() {
    _result.outside.merge(_world.counted);
    _result.clients_lost = _world.clients_lost;
    for (const lock_client& client : _clients) {
        if (!client.has_ended()) {
            ++(client.is_holding() ? _result.left_holding : _result.left_waiting);
        }
        if (client.served()) {
            _result.order.push_back({.client = client.id(), .place = *client.served()});
        }
    }
    _world.connections.clear();
}

// ---- sockets
// -------------------------------------------------------------------------------------------------

int worker::wait() {
    std::chrono::nanoseconds timeout = longest_sleep;
    if (const auto next = _world.timers.next()) {
        timeout = std::min(timeout, *next - _world.now);
    }
    if (_drain_end) {
        timeout = std::min(timeout, *_drain_end - _world.now);
    }
    if (_world.now - _last_event < _world.plan.options.spin) {
        timeout = std::chrono::nanoseconds(0);
    }
    return wait_for_events(_poll, _events->events, timeout);
}

void worker::on_event(std::uint64_t tag, std::uint32_t events) {
    if (tag == bell_tag) {
        std::uint64_t rings = 0;
        [[maybe_unused]] const auto read = ::read(_bell, &rings, sizeof(rings));
        return;
    }
    const auto index = static_cast<std::uint32_t>(tag);
    if (_world.connections[index].is_lost()) {
        return;
    }
    if ((events & EPOLLOUT) != 0) {
        watch(index, EPOLLIN, EPOLL_CTL_MOD);
        flush(index);
    }
    if ((events & ~EPOLLOUT) != 0) {
        on_readable(index);
    }
    flush_touched();
}

void worker::on_readable(std::uint32_t index) {
    // A moment for each socket, not for each batch: a batch of many takes longer than a hand-off.
    _world.now = std::chrono::steady_clock::now();
    const bool alive =
        _world.connections[index].receive(_room, [this](question who, const scanned_reply& reply) {
            _clients[who.client].on_reply(_world, who.round, reply);
        });
    if (!alive) {
        lose(index);
    }
}

void worker::flush_touched() {
    // A lost connection may touch others: by index, the list grows meanwhile.
    for (std::size_t i = 0; i != _world.touched.size(); ++i) {
        flush(_world.touched[i]);
    }
    _world.touched.clear();
}

void worker::flush(std::uint32_t index) {
    connection& one = _world.connections[index];
    if (one.is_lost()) {
        return;
    }
    switch (one.flush()) {
        case connection::flush_result::done:
            break;
        case connection::flush_result::blocked:
            watch(index, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
            break;
        case connection::flush_result::failed:
            lose(index);
            break;
    }
}

void worker::lose(std::uint32_t index) {
    connection& one = _world.connections[index];
    _world.counted.errors.add(one.why_lost());
    one.close();  // which also ends the watch
    while (const auto open = one.take_unanswered()) {
        _clients[open->client].on_no_reply(_world, open->round);
    }
    const std::uint32_t depth = _world.plan.options.depth;
    const std::uint32_t group = index / _connections_each;
    for (std::uint32_t lane = 0; lane != depth; ++lane) {
        _clients[group * depth + lane].on_connection_lost(_world);
    }
}

void worker::watch(std::uint32_t index, std::uint32_t events, int operation) {
    epoll_event event{.events = events, .data = {.u64 = index}};
    ::epoll_ctl(_poll, operation, _world.connections[index].socket(), &event);
}

}  // namespace lockkeeper::bench
