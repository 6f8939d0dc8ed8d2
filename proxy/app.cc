#include "proxy/app.hh"

#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <seastar/core/condition-variable.hh>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/signal.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/thread.hh>
#include <seastar/util/closeable.hh>
#include <seastar/util/log.hh>

#include "proxy/listener.hh"
#include "proxy/lock_settings.hh"
#include "proxy/process.hh"
#include "proxy/scripts/library.hh"
#include "proxy/version.hh"
#include "proxy/wake_ups.hh"
#include "shards/deadlock_watch.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("lockkeeper");

/// SIGTERM or SIGINT, as something to wait for.
class stop_signal {
public:
    stop_signal() {
        ss::handle_signal(SIGTERM, [this] { arrived("SIGTERM"); });
        ss::handle_signal(SIGINT, [this] { arrived("SIGINT"); });
        // A terminal that closes, or an operator's habit, must not end a lock server.
        ss::handle_signal(SIGHUP, [] {
            log.warn("SIGHUP: the configuration is read at start only; restart to apply it");
        });
    }
    ~stop_signal() {
        // Handlers cannot be taken back, only replaced; a second signal during the drain changes
        // nothing.
        ss::handle_signal(SIGTERM, [] {});
        ss::handle_signal(SIGINT, [] {});
    }
    void wait() {
        _changed.wait([this] { return _arrived; }).get();
    }

private:
    void arrived(const char* name) {
        log.info("{}: stopping", name);
        _arrived = true;
        _changed.broadcast();
    }

    ss::condition_variable _changed;
    bool _arrived = false;
};

std::string shown(const config::server_options& server) {
    const bool is_ipv6 = server.address.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", server.address, is_ipv6 ? "]" : "",
                       server.port);
}

/// Each client is a file descriptor; the usual soft limit of 1024 is for programs that use
/// select(2).
void raise_open_files_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// A grant that ended before its time is told to the client that had it, if that can be told, and
/// on a channel for everybody else.
void tell_losses(ss::sharded<shards::lock_service>& locks, ss::sharded<pubsub>& messages,
                 ss::sharded<clients>& everyone) {
    locks
        .invoke_on_all([&](shards::lock_service& core) {
            core.tell_losses_to([&messages, &everyone](shards::lost_grant what) {
                messages.local().broadcast(
                    {.channel = "lockkeeper:lost",
                     .payload = fmt::format("{} {} {}", what.key, what.owner, what.fence)});
                everyone.local().tell_lost(std::move(what));
            });
        })
        .get();
}

/// In a Seastar thread: things start from top to bottom and stop in reverse, also when a start
/// fails.
void serve(const config::config& settings) {
    if (!settings.stripes.empty()) {
        throw std::runtime_error("stripes are checked, but masters are not talked to yet");
    }
    stop_signal stop;
    start_of_process();

    shards::fence_ceiling ceiling;
    auto table = table_options(settings, shards::read_clock());
    table.fence_floor = ceiling.start(settings.embedded.state).get();
    table.fence_ceiling = ceiling.raise(table.fence_floor + 1).get();
    auto stop_ceiling = ss::deferred_stop(ceiling);

    ss::sharded<shards::lock_service> locks;
    locks
        .start(draw_hash_seed(), table, ss::sharded_parameter([&] { return policies(settings); }),
               room_options(settings))
        .get();
    auto stop_locks = ss::deferred_stop(locks);
    locks.invoke_on_all([&](shards::lock_service& core) { core.supply_fences(ceiling); }).get();
    locks.invoke_on_all(&shards::lock_service::start).get();

    ss::sharded<pubsub> messages;
    messages.start().get();
    auto stop_messages = ss::deferred_stop(messages);

    ss::sharded<scripts::library> known_scripts;
    known_scripts.start().get();
    auto stop_scripts = ss::deferred_stop(known_scripts);

    ss::sharded<clients> everyone;
    everyone.start().get();
    auto stop_clients = ss::deferred_stop(everyone);
    tell_losses(locks, messages, everyone);

    ss::sharded<wake_ups> wakers;
    wakers.start(std::ref(locks), std::ref(messages), std::ref(everyone)).get();
    auto stop_wakers = ss::deferred_stop(wakers);
    locks.invoke_on_all([&wakers](shards::lock_service& core) { core.announce_to(wakers.local()); })
        .get();

    shards::deadlock_watch deadlocks(locks);
    deadlocks.start();
    auto stop_deadlocks = ss::deferred_stop(deadlocks);

    ss::sharded<listener> listeners;
    listeners.start(settings, std::ref(locks), std::ref(messages), std::ref(everyone)).get();
    auto stop_listeners = ss::deferred_stop(listeners);
    listeners.invoke_on_all(&listener::start).get();
    listeners.invoke_on_all(&listener::serve).get();

    log.info("version {} serves {} on {} core{}, locks in memory (embedded store)", version,
             shown(settings.server), ss::smp::count, ss::smp::count == 1 ? "" : "s");
    stop.wait();
}

int explain_failure(const config::server_options& server) {
    try {
        throw;
    } catch (const std::system_error& problem) {
        const bool taken = problem.code() == std::errc::address_in_use;
        log.error("cannot listen on {}: {}{}", shown(server), problem.code().message(),
                  taken ? "; stop the other server or choose another --port"
                        : "; choose another --address or --port");
    } catch (const std::exception& problem) {
        log.error("cannot start: {}", problem.what());
    }
    return 1;
}

/// Instead of an abort: a mistake of the user is no bug of ours.
[[noreturn]] void refuse_option() {
    try {
        throw;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "lockkeeper: %s; try --help-seastar\n", problem.what());
        std::_Exit(usage_error);
    } catch (...) {
        std::abort();
    }
}

}  // namespace

int run(command_line::server wish, int argc, char** argv) {
    raise_open_files_limit();
    // run() reads the values of Seastar's options and is noexcept: what it throws at a value that
    // it does not know ends here.
    const auto usual_end = std::set_terminate(refuse_option);
    return wish.app->run(argc, argv, [settings = std::move(wish.settings), usual_end] {
        std::set_terminate(usual_end);
        return ss::async([settings] {
            try {
                serve(settings);
                log.info("stopped");
                return 0;
            } catch (...) {
                return explain_failure(settings.server);
            }
        });
    });
}

}  // namespace lockkeeper::proxy
