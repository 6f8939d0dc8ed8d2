#include "proxy/app.hh"

#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <seastar/core/condition-variable.hh>
#include <seastar/core/coroutine.hh>
#include <seastar/core/semaphore.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/signal.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/thread.hh>
#include <seastar/util/closeable.hh>
#include <seastar/util/defer.hh>
#include <seastar/util/log.hh>

#include "config/units.hh"
#include "proxy/admin/server.hh"
#include "proxy/draining.hh"
#include "proxy/idle_core.hh"
#include "proxy/listener.hh"
#include "proxy/lock_settings.hh"
#include "proxy/log_lines.hh"
#include "proxy/peers.hh"
#include "proxy/process.hh"
#include "proxy/readiness.hh"
#include "proxy/reload.hh"
#include "proxy/scripts/library.hh"
#include "proxy/version.hh"
#include "proxy/wake_ups.hh"
#include "shards/deadlock_watch.hh"
#include "shards/proxy_registry.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("lockkeeper");

/// SIGTERM or SIGINT, as something to wait for.
class stop_signal {
public:
    stop_signal() {
        ss::handle_signal(SIGTERM, [this] { arrived("SIGTERM"); });
        ss::handle_signal(SIGINT, [this] { arrived("SIGINT"); });
        // A terminal that closes must not end a lock server either.
        ss::handle_signal(SIGHUP, [this] { _reload.signal(); });
    }
    ~stop_signal() {
        // Handlers cannot be taken back, only replaced; a second signal during the drain changes
        // nothing.
        ss::handle_signal(SIGTERM, [] {});
        ss::handle_signal(SIGINT, [] {});
        ss::handle_signal(SIGHUP, [] {});
    }
    void wait() {
        _changed.wait([this] { return _arrived; }).get();
    }
    /// A stop that is late, or cut short by another signal.
    void wait_again(std::chrono::milliseconds most) {
        _arrived = false;
        try {
            _changed.wait(most, [this] { return _arrived; }).get();
        } catch (const ss::condition_variable_timed_out&) {
            // The usual end.
        }
    }
    /// Until the next SIGHUP; false at the end.
    ss::future<bool> reload_wanted() {
        return _reload.wait().then([this] { return !_over; });
    }
    void end_reloads() {
        _over = true;
        _reload.signal();
    }

private:
    void arrived(const char* name) {
        log.info("{}: stopping", name);
        _arrived = true;
        _changed.broadcast();
    }

    ss::condition_variable _changed;
    bool _arrived = false;
    ss::semaphore _reload{0};
    bool _over = false;
};

std::string shown(const config::server_options& server) {
    const bool is_ipv6 = server.address.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", server.address, is_ipv6 ? "]" : "",
                       server.port);
}

/// The port for operators. One that somebody has chosen must be had; without the usual one, which
/// another server on this machine may have, locks are served all the same.
void start_admin(admin::server& door, const config::http_options& where) {
    if (where.port == 0) {
        return;
    }
    try {
        door.start().get();
    } catch (const std::system_error& problem) {
        const auto what = fmt::format("http on {} port {}: {}", where.address, where.port,
                                      problem.code().message());
        if (where.is_chosen || where.port != config::http_options{}.port) {
            throw std::runtime_error(what + "; choose another --http-port, or 0 for none");
        }
        log.warn(
            "{}: there are no metrics and there is no page; choose another --http-port, or 0 "
            "for none",
            what);
    }
}

std::string shown_ports(const config::config& settings) {
    const std::string plain = settings.tls.only ? "" : shown(settings.server);
    if (settings.tls.port == 0) {
        return plain;
    }
    auto encrypted = settings.server;
    encrypted.port = settings.tls.port;
    return fmt::format("{}{}{} (TLS)", plain, plain.empty() ? "" : " and ", shown(encrypted));
}

std::string where_locks_are(const config::config& settings) {
    if (settings.stripes.empty()) {
        return "in memory (embedded store)";
    }
    size_t masters = 0;
    for (const auto& stripe : settings.stripes) {
        masters += stripe.masters.size();
    }
    return fmt::format("on {} masters in {} stripe{}", masters, settings.stripes.size(),
                       settings.stripes.size() == 1 ? "" : "s");
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
void tell_losses(ss::sharded<shards::lock_service>& locks, ss::sharded<wake_ups>& wakers,
                 ss::sharded<clients>& everyone) {
    locks
        .invoke_on_all([&](shards::lock_service& core) {
            core.tell_losses_to([&wakers, &everyone](shards::lost_grant what) {
                wakers.local().announce(
                    {.channel = "lockkeeper:lost",
                     .payload = fmt::format("{} {} {}", what.key, what.owner, what.fence)});
                everyone.local().tell_lost(std::move(what));
            });
        })
        .get();
}

/// As often as a SIGHUP wants it, until the server stops.
ss::future<> reload_on_signal(stop_signal& signals, reloader& configuration) {
    while (co_await signals.reload_wanted()) {
        log.info("SIGHUP: reading the configuration again");
        co_await configuration.reload();
    }
}

/// Locks of connections that have ended live on for their grace. On a fleet they are released then,
/// instead of staying closed to everybody until their leases end.
void wait_for_grace(shards::lock_service& locks, const config::shutdown_options& end) {
    if (locks.masters() == nullptr || draining::left_with_locks == 0) {
        return;
    }
    const auto grace = locks.table().policies().longest_grace();
    constexpr std::chrono::milliseconds to_release{200};
    ss::sleep(std::min(grace + to_release, end.deadline)).get();
}

/// What the other proxies of the fleet are told of this one.
own_card card_of(const config::config& settings, const shards::lock_service& locks) {
    if (locks.masters() == nullptr) {
        return {};
    }
    auto called = settings.server;
    called.port = settings.proxies && settings.proxies->tls ? settings.tls.port : called.port;
    const bool is_given = settings.proxies && settings.proxies->advertise;
    return {.id = locks.masters()->proxy(),
            .address = is_given ? show_endpoint(*settings.proxies->advertise) : shown(called),
            .fingerprint = locks.masters()->fingerprint()};
}

/// Keys find their home from now on, as soon as there are links.
void meet_other_proxies(ss::sharded<shards::lock_service>& locks, ss::sharded<peers>& links,
                        std::optional<shards::proxy_registry>& registry) {
    locks
        .invoke_on_all([&links](shards::lock_service& core) {
            core.leases()->find_homes_with(links.local(), links.local().card().id);
        })
        .get();
    const own_card& card = links.local().card();
    registry.emplace(shards::proxy_card{.id = card.id,
                                        .address = card.address,
                                        .version = version,
                                        .fingerprint = card.fingerprint},
                     *locks.local().masters(), [&links](const peers::members& all) {
                         return links.invoke_on_all([all](peers& core) { core.update(all); });
                     });
}

/// Who listens at another proxy hears what is said at this one, and the other way round.
void exchange_messages(ss::sharded<wake_ups>& wakers, ss::sharded<peers>& links) {
    wakers
        .invoke_on_all([&links](wake_ups& core) {
            core.pass_on_with(
                [&links](const shards::announcement& what) { links.local().publish(what); });
        })
        .get();
    links
        .invoke_on_all([&wakers](peers& core) {
            core.hear_with(
                [&wakers](shards::announcement what) { wakers.local().hear(std::move(what)); });
        })
        .get();
}

/// Before the links end.
void part_from_other_proxies(ss::sharded<shards::lock_service>& locks,
                             ss::sharded<wake_ups>& wakers) {
    struct nobody final : shards::home_directory {
        bool is_reachable(std::string_view) const override { return false; }
        ss::future<std::optional<std::string>> ask_who_has(uint32_t, std::string) const override {
            return ss::make_ready_future<std::optional<std::string>>();
        }
    };
    static const nobody none;
    wakers.invoke_on_all([](wake_ups& core) { core.pass_on_with(nullptr); }).get();
    locks
        .invoke_on_all([](shards::lock_service& core) {
            if (core.leases() != nullptr && core.leases()->finds_homes()) {
                core.leases()->find_homes_with(none, "");
            }
        })
        .get();
}

/// How long a core without work looks for some before it sleeps, by Seastar's own reading of its
/// options.
std::chrono::nanoseconds time_to_look(const ss::reactor_options& options) {
    const bool sleeps_at_once = options.overprovisioned && options.idle_poll_time_us.defaulted();
    if (options.poll_mode || sleeps_at_once) {
        return {};
    }
    return std::chrono::microseconds(options.idle_poll_time_us.get_value());
}

/// In a Seastar thread: things start from top to bottom and stop in reverse, also when a start
/// fails.
void serve(const config::config& settings, const configuration_source& source,
           std::chrono::nanoseconds looks_for) {
    stop_signal stop;
    start_of_process();

    ss::sharded<idle_core> idle;
    auto stop_idle = ss::deferred_stop(idle);
    if (looks_for > looks_for.zero()) {
        idle.start(looks_for).get();
    }

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
    if (!settings.stripes.empty()) {
        locks
            .invoke_on_all(
                [&settings, proxy = shards::draw_proxy_id()](shards::lock_service& core) {
                    return core.start_fleet(settings, proxy);
                })
            .get();
    }

    ss::sharded<pubsub> messages;
    messages.start().get();
    auto stop_messages = ss::deferred_stop(messages);

    ss::sharded<scripts::library> known_scripts;
    known_scripts.start().get();
    auto stop_scripts = ss::deferred_stop(known_scripts);

    ss::sharded<clients> everyone;
    everyone.start().get();
    auto stop_clients = ss::deferred_stop(everyone);

    user_loads loads;
    auto roll = make_roll(settings);
    const auto counted = loads.of(roll);
    ss::sharded<user_roll> users;
    users.start(std::move(roll), counted).get();
    auto stop_users = ss::deferred_stop(users);

    ss::sharded<wake_ups> wakers;
    wakers.start(std::ref(locks), std::ref(messages), std::ref(everyone)).get();
    auto stop_wakers = ss::deferred_stop(wakers);
    locks.invoke_on_all([&wakers](shards::lock_service& core) { core.announce_to(wakers.local()); })
        .get();
    tell_losses(locks, wakers, everyone);

    shards::deadlock_watch deadlocks(locks);
    deadlocks.start();
    auto stop_deadlocks = ss::deferred_stop(deadlocks);

    ss::sharded<peers> links;
    links.start(std::cref(settings), card_of(settings, locks.local())).get();
    auto stop_links = ss::deferred_stop(links);
    std::optional<shards::proxy_registry> registry;
    auto stop_registry = ss::defer([&registry]() noexcept {
        if (registry) {
            registry->stop().get();
        }
    });
    auto part = ss::defer([&locks, &wakers]() noexcept { part_from_other_proxies(locks, wakers); });
    if (settings.proxies) {
        meet_other_proxies(locks, links, registry);
        exchange_messages(wakers, links);
    }

    readiness ready;
    services here{.settings = settings,
                  .locks = locks,
                  .messages = messages,
                  .everyone = everyone,
                  .users = users,
                  .links = links,
                  .counted = everyone.local().counted};
    admin::server door(here, ready);
    auto stop_door = ss::deferred_stop(door);
    start_admin(door, settings.http);

    config::shutdown_options end = settings.shutdown;
    auto release_locks =
        ss::defer([&locks, &end]() noexcept { wait_for_grace(locks.local(), end); });
    ss::sharded<listener> listeners;
    listeners
        .start(settings, std::ref(locks), std::ref(messages), std::ref(everyone), std::ref(users),
               std::ref(links))
        .get();
    auto stop_listeners = ss::deferred_stop(listeners);
    listeners.invoke_on_all(&listener::start).get();
    listeners.invoke_on_all(&listener::serve).get();
    if (registry) {
        registry->start();
    }

    log.info("version {} serves {} on {} core{}, locks {}", version, shown_ports(settings),
             ss::smp::count, ss::smp::count == 1 ? "" : "s", where_locks_are(settings));
    reloader configuration(source, settings, locks, listeners, users, loads, door);
    auto stop_configuration = ss::deferred_stop(configuration);
    auto reloads = reload_on_signal(stop, configuration);
    ready.open();
    stop.wait();
    ready.close();
    draining::has_begun = true;
    if (const auto delay = configuration.settings().shutdown.delay; delay > delay.zero()) {
        log.info("not ready any more; serving on for {}", config::show_duration(delay));
        stop.wait_again(delay);
    }
    stop.end_reloads();
    reloads.get();
    end = configuration.settings().shutdown;
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
    take_over_log();
    set_log_format(wish.settings.log.format);
    // run() reads the values of Seastar's options and is noexcept: what it throws at a value that
    // it does not know ends here.
    const auto usual_end = std::set_terminate(refuse_option);
    return wish.app->run(
        argc, argv,
        [settings = std::move(wish.settings), source = std::move(wish.source), usual_end,
         &app = *wish.app] {
            std::set_terminate(usual_end);
            return ss::async(
                [settings, source, looks_for = time_to_look(app.options().reactor_opts)] {
                    try {
                        if (settings.log.level != config::log_options{}.level) {
                            set_log_level(settings.log.level);
                        }
                        serve(settings, source, looks_for);
                        log.info("stopped");
                        return 0;
                    } catch (...) {
                        return explain_failure(settings.server);
                    }
                });
        });
}

}  // namespace lockkeeper::proxy
