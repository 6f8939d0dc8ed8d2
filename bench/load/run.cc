#include "bench/load/run.hh"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "bench/load/control.hh"
#include "bench/load/lock_commands.hh"
#include "bench/load/observer.hh"
#include "bench/load/worker.hh"

namespace lockkeeper::bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using stage = load_board::stage;

template <typename T>
using or_complaint = std::expected<T, std::string>;

/// Replies that one client's connection may owe: more than one only from a slow master of RedLock.
constexpr std::size_t questions_per_lane = 8;

/// Connections that a server gets before it must have accepted them: its queue must not overflow,
/// or TCP waits for seconds.
constexpr std::size_t connections_at_once = 128;

/// Commands in one write of preparations.
constexpr std::uint32_t preparations_at_once = 256;

/// The longest wait, in mode once, for the server to have a waiter in its queue; then the others
/// come without being asked for.
constexpr auto queueing_patience = std::chrono::seconds(5);

moment now() {
    return std::chrono::steady_clock::now();
}

// ---- before the load
// -------------------------------------------------------------------------------------------------

or_complaint<void> allow_open_files(std::uint64_t needed) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= needed) {
        return {};
    }
    const rlim_t most = limit.rlim_max;
    limit.rlim_cur = needed;
    limit.rlim_max = std::max<rlim_t>(most, needed);  // an administrator may
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
        return {};
    }
    return std::unexpected("needs " + std::to_string(needed) + " open files, and at most " +
                           std::to_string(most) + " are allowed (ulimit -n)");
}

or_complaint<std::vector<control>> connect_controls(const std::vector<endpoint>& servers) {
    std::vector<control> controls;
    for (const endpoint& where : servers) {
        auto one = control::connect(where);
        if (!one) {
            return std::unexpected(one.error());
        }
        if (const auto answer = one->call("PING"); !answer) {
            return std::unexpected(answer.error());
        }
        controls.push_back(*std::move(one));
    }
    return controls;
}

or_complaint<script_hashes> load_scripts(std::vector<control>& servers) {
    script_hashes hashes;
    for (control& server : servers) {
        for (const auto& [text, hash] :
             {std::pair{release_script, &hashes.release}, std::pair{renew_script, &hashes.renew}}) {
            const auto answer = server.call("SCRIPT", "LOAD", text);
            if (!answer) {
                return std::unexpected(answer.error());
            }
            *hash = answer->text();
        }
    }
    return hashes;
}

/// Calls `write(output, key)`, which returns how many commands it wrote, for each key of the load.
template <typename Write>
or_complaint<void> for_each_key(const load_plan& plan, control& server, Write write) {
    for (std::uint32_t key = 0; key < plan.keys;) {
        protocol::output out;
        std::size_t commands = 0;
        for (std::uint32_t i = 0; i != preparations_at_once && key < plan.keys; ++i, ++key) {
            char text[load_plan::key_bytes_max];
            const char* end = plan.write_key(text, key);
            commands += write(out, std::string_view(text, end));
        }
        if (const auto answer = server.exchange(out, commands); !answer) {
            return std::unexpected(answer.error());
        }
    }
    return {};
}

or_complaint<void> seed_tokens(const load_plan& plan, control& server) {
    return for_each_key(plan, server, [](protocol::output& out, std::string_view key) {
        protocol::write_command(out, "DEL", key);
        protocol::write_command(out, "RPUSH", key, blpop_token);
        return 2;
    });
}

or_complaint<void> remove_tokens(const load_plan& plan, control& server) {
    return for_each_key(plan, server, [](protocol::output& out, std::string_view key) {
        protocol::write_command(out, "DEL", key);
        return 1;
    });
}

/// Waits until the server has accepted this connection, and so all before it.
or_complaint<void> greet(int socket, const endpoint& where) {
    constexpr std::string_view ping = "*1\r\n$4\r\nPING\r\n";
    constexpr timeval patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    char reply[512];
    ssize_t got = -1;
    if (::send(socket, ping.data(), ping.size(), MSG_NOSIGNAL) > 0) {
        got = ::recv(socket, reply, sizeof(reply), 0);
    }
    const std::string_view answer(reply, got > 0 ? static_cast<std::size_t>(got) : 0);
    if (answer == "+PONG\r\n") {
        return {};
    }
    return std::unexpected(where.text + " did not answer a new connection" +
                           (answer.empty() ? "" : ": " + std::string(answer.substr(1))));
}

/// Opens connections one after the other, at a pace that the server's queue can take.
class connector {
public:
    explicit connector(const load_plan& plan) : _sources(plan.options.sources) {}

    or_complaint<int> open(const endpoint& where) {
        const unsigned source = _sources == 0 ? 0 : 1 + _opened % _sources;
        const int socket = connect_to(where, source);
        if (socket < 0) {
            return std::unexpected("cannot connect to " + where.text + ": " + std::strerror(errno));
        }
        if (++_opened % connections_at_once == 0) {
            if (auto greeted = greet(socket, where); !greeted) {
                ::close(socket);
                return std::unexpected(greeted.error());
            }
        }
        return socket;
    }

private:
    unsigned _sources;
    unsigned _opened = 0;
};

/// Connections that only exist. Closed with the run.
class idle_connections {
public:
    ~idle_connections() {
        for (const int socket : _sockets) {
            ::close(socket);
        }
    }

    or_complaint<void> open(const load_plan& plan, connector& gate) {
        for (std::uint32_t i = 0; i != plan.options.idle; ++i) {
            const endpoint& where = plan.options.servers[i % plan.options.servers.size()];
            const auto socket = gate.open(where);
            if (!socket) {
                return std::unexpected(socket.error());
            }
            _sockets.push_back(*socket);
            if (const auto greeted = greet(*socket, where); !greeted) {
                return std::unexpected(greeted.error());
            }
        }
        return {};
    }

private:
    std::vector<int> _sockets;
};

// ---- the load
// -------------------------------------------------------------------------------------------------

/// The threads, from the first connection to the last result.
class crew {
public:
    crew(const load_plan& plan, const lock_commands& commands)
        : _plan(plan),
          _commands(commands),
          _judge(plan.keys, plan.options.verify ? referee::strictness::verifies
                                                : referee::strictness::counts_only) {}

    ~crew() { stop(now()); }

    or_complaint<void> connect(connector& gate) {
        const std::uint32_t threads = std::min(_plan.options.threads, _plan.options.clients);
        for (std::uint32_t number = 0; number != threads; ++number) {
            std::vector<connection> connections;
            std::vector<std::uint32_t> clients;
            for (std::uint32_t i = number; i < _plan.options.clients; i += threads) {
                clients.push_back(i);
                // All masters, or one of several proxies.
                const auto& servers = _plan.options.servers;
                for (std::uint32_t j = 0; j != _plan.masters; ++j) {
                    const endpoint& where = servers[_plan.masters > 1 ? j : i % servers.size()];
                    const auto socket = gate.open(where);
                    if (!socket) {
                        return std::unexpected(socket.error());
                    }
                    connections.emplace_back(*socket, questions_per_lane * _plan.options.depth);
                }
            }
            _workers.push_back(
                std::make_unique<worker>(worker::parts{.plan = _plan,
                                                       .commands = _commands,
                                                       .judge = _judge,
                                                       .board = board,
                                                       .number = number,
                                                       .connections = std::move(connections),
                                                       .clients = std::move(clients)}));
        }
        return {};
    }

    void start() {
        for (auto& one : _workers) {
            _threads.emplace_back([&worker = *one] { worker.run(); });
        }
    }

    /// After a change of the board.
    void wake() {
        for (auto& one : _workers) {
            one->wake();
        }
    }

    /// Returns when every client has ended, or at `drain_end`.
    void stop(moment drain_end) {
        if (_threads.empty()) {
            return;
        }
        board.drain_end = drain_end.time_since_epoch().count();
        board.now = stage::draining;
        wake();
        for (std::thread& thread : _threads) {
            thread.join();
        }
        _threads.clear();
    }

    void add_up(load_result& result) const {
        std::vector<std::uint64_t> sections;
        std::vector<worker_result::service> order;
        for (const auto& one : _workers) {
            const worker_result& part = one->result();
            result.measured.merge(part.measured);
            result.outside.merge(part.outside);
            sections.insert(sections.end(), part.sections.begin(), part.sections.end());
            order.insert(order.end(), part.order.begin(), part.order.end());
            result.starved += part.starved;
            result.waiting_at_end += part.waiting_at_end;
            result.longest_wait_at_end =
                std::max(result.longest_wait_at_end, part.longest_wait_at_end);
            result.clients_lost += part.clients_lost;
            result.left_holding += part.left_holding;
            result.left_waiting += part.left_waiting;
        }
        result.jain = jain_index(sections);
        if (_plan.options.mode == load_mode::once) {
            std::ranges::sort(order, {}, &worker_result::service::place);
            result.order = compare_order(places_of_arrival(order));
        }
    }

    load_board board;

private:
    /// Clients arrive in the order of their numbers. Those that were never served leave holes,
    /// which are closed here: what counts is the order of those that were.
    static std::vector<std::uint32_t> places_of_arrival(
        const std::vector<worker_result::service>& order) {
        std::vector<std::uint32_t> sorted;
        for (const auto& one : order) {
            sorted.push_back(one.client);
        }
        std::ranges::sort(sorted);
        std::vector<std::uint32_t> places;
        for (const auto& one : order) {
            places.push_back(static_cast<std::uint32_t>(
                std::ranges::lower_bound(sorted, one.client) - sorted.begin()));
        }
        return places;
    }

    const load_plan& _plan;
    const lock_commands& _commands;
    referee _judge;
    std::vector<std::unique_ptr<worker>> _workers;
    std::vector<std::thread> _threads;
};

/// SIGINT and SIGTERM, taken one by one instead of interrupting somebody.
class signals {
public:
    signals() {
        sigemptyset(&_set);
        sigaddset(&_set, SIGINT);
        sigaddset(&_set, SIGTERM);
    }

    /// False, and at once, if a signal came.
    bool sleep_until(moment end) {
        while (!_came) {
            const nanoseconds left = end - now();
            if (left <= nanoseconds(0)) {
                return true;
            }
            const timespec span{.tv_sec = left / std::chrono::seconds(1),
                                .tv_nsec = (left % std::chrono::seconds(1)).count()};
            _came = ::sigtimedwait(&_set, nullptr, &span) > 0;
        }
        return false;
    }

    /// Waits for a condition that nobody tells of. False at `end` or after a signal.
    template <typename Condition>
    bool wait_for(Condition condition, moment end) {
        constexpr auto pause = std::chrono::microseconds(100);
        while (!condition()) {
            if (now() >= end || !sleep_until(std::min(end, now() + pause))) {
                return condition();
            }
        }
        return true;
    }

    bool came() const { return _came; }

private:
    sigset_t _set;
    bool _came = false;
};

/// What everybody has used so far. Two of them make a measurement.
struct usage {
    moment when;
    std::vector<std::optional<nanoseconds>> servers;
    nanoseconds own{};
    nanoseconds machine{};
    std::vector<std::map<std::string, std::uint64_t>> masters;
};

usage look(const load_plan& plan, std::vector<control>& masters) {
    usage all;
    for (control& master : masters) {
        all.masters.push_back(
            commands_seen_by(master).value_or(std::map<std::string, std::uint64_t>{}));
    }
    for (const pid_t pid : plan.options.server_pids) {
        all.servers.push_back(cpu_time_of(pid));
    }
    all.own = own_cpu_time();
    all.machine = machine_cpu_time();
    all.when = now();
    return all;
}

void compare(const load_plan& plan, const usage& before, const usage& after, load_result& result) {
    result.observed = result.elapsed = after.when - before.when;
    result.generator_cpu = after.own - before.own;
    nanoseconds known = result.generator_cpu;
    bool all_known = !plan.options.server_pids.empty();
    for (std::size_t i = 0; i != plan.options.server_pids.size(); ++i) {
        const pid_t pid = plan.options.server_pids[i];
        load_result::process one{.pid = pid, .name = name_of_process(pid), .cpu = std::nullopt};
        if (before.servers[i] && after.servers[i]) {
            one.cpu = *after.servers[i] - *before.servers[i];
            known += *one.cpu;
        }
        all_known = all_known && one.cpu.has_value();
        result.servers.push_back(std::move(one));
    }
    if (all_known) {
        result.foreign_cpu = std::max(nanoseconds(0), after.machine - before.machine - known);
    }
    for (std::size_t i = 0; i != plan.options.masters.size(); ++i) {
        load_result::master one{.address = plan.options.masters[i].text, .commands = {}};
        for (const auto& [name, count] : after.masters[i]) {
            const auto was = before.masters[i].find(name);
            const std::uint64_t earlier = was == before.masters[i].end() ? 0 : was->second;
            if (count > earlier) {
                one.commands[name] = count - earlier;
            }
        }
        result.masters.push_back(std::move(one));
    }
}

/// A queue that only the server sees: clients that wait in it, as INFO tells.
std::uint64_t blocked_clients(control& server) {
    const auto info = server.call("INFO", "clients");
    return info ? parse_info_number(info->text(), "blocked_clients").value_or(0) : 0;
}

/// Mode once, up to the moment when everybody waits: one comes after the other, so that the order
/// of arrival is known. False if somebody did not come to wait, as far as can be told.
bool queue_everybody(const load_plan& plan, const lock_commands& commands, crew& all,
                     control& server, signals& stop, moment end) {
    load_board& board = all.board;
    const auto queued = [&] {
        return commands.waits_in_server() ? blocked_clients(server) : board.refused.load();
    };
    if (!stop.wait_for([&] { return board.first_is_in.load(); }, end)) {
        return false;
    }
    const auto& gap = plan.options.gap;
    const moment begin = now();
    bool seen = true;
    for (std::uint32_t waiters = 1; waiters != plan.lanes && now() < end; ++waiters) {
        board.may_arrive = waiters + 1;
        all.wake();
        if (gap) {
            seen = stop.sleep_until(std::min(end, begin + waiters * *gap));
        } else if (seen) {
            seen = stop.wait_for([&] { return queued() >= waiters; },
                                 std::min(end, now() + queueing_patience));
        }
    }
    return stop.wait_for([&] { return queued() >= plan.lanes - 1; },
                         std::min(end, now() + queueing_patience)) &&
           seen;
}

/// From the first command to the beginning of the drain.
void let_it_run(const load_plan& plan, const lock_commands& commands, crew& all, control& server,
                std::vector<control>& masters, load_result& result) {
    signals stop;
    usage before;
    if (plan.options.mode == load_mode::once) {
        const moment end = now() + plan.options.duration;
        before = look(plan, masters);
        all.board.now = stage::measuring;
        all.start();
        result.all_were_queued = queue_everybody(plan, commands, all, server, stop, end);
        all.board.gate_is_open = true;
        all.wake();
        stop.wait_for([&] { return all.board.ended == plan.lanes; }, end);
    } else {
        all.start();
        stop.sleep_until(now() + plan.options.warmup);
        before = look(plan, masters);
        all.board.now = stage::measuring;
        all.wake();
        stop.sleep_until(now() + plan.options.duration);
    }
    compare(plan, before, look(plan, masters), result);
    result.interrupted = stop.came();
    if (plan.options.mode == load_mode::once) {
        const load_board& board = all.board;
        result.elapsed = nanoseconds(board.last_grant - board.gate_opened);
    }
}

}  // namespace

or_complaint<load_result> run_load(const load_plan& plan) {
    const load_options& options = plan.options;
    constexpr std::uint64_t other_files = 64;
    if (const auto allowed =
            allow_open_files(std::uint64_t{options.clients} * plan.masters + options.idle +
                             options.masters.size() + 3 * options.threads + other_files);
        !allowed) {
        return std::unexpected(allowed.error());
    }
    auto servers = connect_controls(options.servers);
    if (!servers) {
        return std::unexpected(servers.error());
    }
    auto masters = connect_controls(options.masters);
    if (!masters) {
        return std::unexpected(masters.error());
    }
    script_hashes scripts;
    if (options.protocol == protocol_kind::set_nx || options.protocol == protocol_kind::redlock) {
        auto loaded = load_scripts(*servers);
        if (!loaded) {
            return std::unexpected(loaded.error());
        }
        scripts = *std::move(loaded);
    }
    if (options.protocol == protocol_kind::blpop) {
        if (const auto seeded = seed_tokens(plan, servers->front()); !seeded) {
            return std::unexpected(seeded.error());
        }
    }
    const auto commands = make_lock_commands(
        options.protocol, std::chrono::duration_cast<milliseconds>(options.ttl), scripts);

    load_result result;
    {
        connector gate(plan);
        idle_connections idle;
        if (const auto opened = idle.open(plan, gate); !opened) {
            return std::unexpected(opened.error());
        }
        crew all(plan, *commands);
        if (const auto connected = all.connect(gate); !connected) {
            return std::unexpected(connected.error());
        }
        let_it_run(plan, *commands, all, servers->front(), *masters, result);
        all.stop(now() + options.drain);
        all.add_up(result);
    }
    if (options.protocol == protocol_kind::blpop) {
        if (const auto removed = remove_tokens(plan, servers->front()); !removed) {
            result.outside.errors.add(removed.error());
        }
    }
    return result;
}

}  // namespace lockkeeper::bench
