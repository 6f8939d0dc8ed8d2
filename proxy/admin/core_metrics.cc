#include "proxy/admin/core_metrics.hh"

#include <algorithm>
#include <seastar/core/metrics.hh>
#include <seastar/core/smp.hh>
#include <set>
#include <string>
#include <utility>

#include "proxy/link_handshake.hh"
#include "proxy/lock_views.hh"
#include "proxy/process.hh"
#include "proxy/resident_memory.hh"
#include "proxy/version.hh"

namespace lockkeeper::proxy::admin {

namespace {

namespace sm = ss::metrics;
using namespace std::chrono_literals;

/// Seastar's label is made when the program starts, perhaps after what is global here.
std::vector<sm::label> over_cores() {
    return {sm::shard_label};
}

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

/// Buckets of Prometheus count everything up to their bound.
class cumulative {
public:
    void add(uint64_t count, double bound) {
        _all.sample_count += count;
        _all.buckets.push_back({_all.sample_count, bound});
    }
    void add_rest(uint64_t count) { _all.sample_count += count; }

    sm::histogram take(double sum) {
        _all.sample_sum = sum;
        return std::move(_all);
    }

private:
    sm::histogram _all;
};

/// From 16 us on: shorter times are told apart by nobody.
constexpr size_t first_shown = 4;

sm::histogram shown(const shards::time_histogram& times) {
    cumulative all;
    uint64_t shortest = 0;
    for (size_t i = 0; i < first_shown; ++i) {
        shortest += times[i];
    }
    for (size_t i = first_shown; i + 1 < shards::time_histogram::buckets; ++i) {
        all.add(std::exchange(shortest, 0) + times[i], seconds(shards::time_histogram::bound(i)));
    }
    all.add_rest(times[shards::time_histogram::buckets - 1]);
    return all.take(seconds(times.sum()));
}

sm::histogram shown(const shards::round_trips& times) {
    const auto& counts = times.histogram();
    cumulative all;
    uint64_t shortest = 0;
    for (size_t i = 0; i < first_shown; ++i) {
        shortest += counts[i];
    }
    for (size_t i = first_shown; i + 1 < counts.size(); ++i) {
        all.add(std::exchange(shortest, 0) + counts[i], seconds(shards::time_histogram::bound(i)));
    }
    all.add_rest(counts.back());
    return all.take(seconds(times.sum()));
}

sm::histogram shown_places(const shards::wait_times& waited) {
    cumulative all;
    for (size_t i = 0; i + 1 < waited.before.size(); ++i) {
        all.add(waited.before[i], static_cast<double>((uint64_t{2} << i) - 1));
    }
    all.add_rest(waited.before.back());
    return all.take(static_cast<double>(waited.sum_before));
}

template <typename Value>
auto counter(const char* name, const char* help, Value value,
             std::vector<sm::label_instance> labels = {}) {
    return sm::make_counter(name, std::move(value), sm::description(help), std::move(labels))
        .aggregate(over_cores());
}

template <typename Value>
auto gauge(const char* name, const char* help, Value value,
           std::vector<sm::label_instance> labels = {}) {
    return sm::make_gauge(name, std::move(value), sm::description(help), std::move(labels))
        .aggregate(over_cores());
}

template <typename Value>
auto histogram(const char* name, const char* help, Value value,
               std::vector<sm::label_instance> labels = {}) {
    return sm::make_histogram(name, sm::description(help), std::move(labels), std::move(value))
        .aggregate(over_cores());
}

const sm::label end("end");
const sm::label result("result");
const sm::label habit("habit");
const sm::label stripe_name("stripe");
const sm::label master_name("master");
const sm::label state_name("state");
const sm::label version_name("version");
const sm::label user_name("user");
const sm::label peer_name("peer");
const sm::label reason("reason");

/// Each user is half a dozen series for whoever collects them.
constexpr size_t users_shown_max = 100;

}  // namespace

core_metrics::core_metrics(ss::sharded<shards::lock_service>& locks, ss::sharded<clients>& everyone,
                           ss::sharded<user_roll>& users, ss::sharded<peers>& links)
    : _locks(locks.local()),
      _everyone(everyone.local()),
      _users(users.local()),
      _links(links.local()) {
    add_locks();
    add_clients();
    show_users();
    if (_locks.leases() != nullptr) {
        add_leases();
        add_masters();
    }
    if (ss::this_shard_id() == 0) {
        add_process();
    }
    if (_links.enabled()) {
        show_peers();
        _links.when_changed([this] { show_peers(); });
    }
}

ss::future<> core_metrics::stop() {
    _links.when_changed(nullptr);
    _of_peers.clear();
    _of_users.clear();
    _groups.clear();
    return ss::make_ready_future<>();
}

void core_metrics::add_locks() {
    using reason = shards::entry_watcher::reason;
    auto& table = _locks.table();
    const auto counted = [&table](uint64_t shards::grant_counters::* which) {
        return [&table, which] { return table.counted().*which; };
    };
    const auto held = [&table](reason why) {
        return [&table, why] { return shown(table.held()[why]); };
    };
    const auto waited = [&table](shards::time_histogram shards::wait_times::* which) {
        return [&table, which] { return shown(table.waited().*which); };
    };
    const auto seen = [&table](shards::habit which) {
        return [&table, which] { return table.habits().count(which); };
    };
    constexpr auto habit_help =
        "Dangerous things that clients did; LK.LINT tells who and what to do about it.";
    using count = shards::grant_counters;
    using times = shards::wait_times;
    constexpr auto waits_ended = "Waits in line that ended, by how they did.";
    constexpr auto hold_help =
        "How long locks were held: given back (released), deleted by somebody who did not say that "
        "it was the owner (removed), or at the end of their time (expired).";
    constexpr auto wait_help =
        "How long clients waited in line, by how that ended. Clients that poll are not in it.";
    _groups.add_group(
        "lock",
        {
            counter("grants_total", "Locks given, by whatever command.", counted(&count::grants)),
            counter("refusals_total",
                    "Tries that were refused because somebody else had the lock, polls included.",
                    counted(&count::refusals)),
            counter("releases_total", "Locks given back by the native verbs.",
                    counted(&count::releases)),
            counter("lost_total",
                    "Grants of native verbs that ended without a release: expired, broken, deleted "
                    "or lost with their lease.",
                    counted(&count::lost)),
            counter("expired_total", "Keys whose time was over.",
                    [&table] { return table.stats().expired; }),
            counter("waits_total", "Places taken in a line.", counted(&count::waits)),
            counter("waits_ended_total", waits_ended, counted(&count::hand_offs), {end("granted")}),
            counter("waits_ended_total", waits_ended, counted(&count::timed_out),
                    {end("timed_out")}),
            counter("waits_ended_total", waits_ended, counted(&count::cancelled),
                    {end("cancelled")}),
            counter("waits_ended_total", waits_ended, counted(&count::refused_waits),
                    {end("refused")}),
            counter("hand_offs_total", "Locks given to somebody who had waited in line.",
                    counted(&count::hand_offs)),
            counter("reservations_total", "Free locks that were kept for a client that polls.",
                    counted(&count::reservations)),
            counter("deadlocks_total", "Circles of clients that wait for each other.",
                    counted(&count::deadlocks)),
            counter("wake_ups_total",
                    "Listeners (Redisson, Spring) that were told that a lock has come free.",
                    [this] { return _everyone.counted.woken.told; }),
            counter("slow_waits_total", "Waits in line of slow.wait or longer.",
                    [&table] { return table.slow().waits(); }),
            counter("slow_holds_total", "Locks held for slow.hold or longer.",
                    [&table] { return table.slow().holds(); }),
            counter("habits_total", habit_help, seen(shards::habit::no_ttl), {habit("no-ttl")}),
            counter("habits_total", habit_help, seen(shards::habit::blind_delete),
                    {habit("blind-delete")}),
            counter("habits_total", habit_help, seen(shards::habit::foreign_delete),
                    {habit("foreign-delete")}),
            counter("habits_total", habit_help, seen(shards::habit::late_release),
                    {habit("late-release")}),
            counter("habits_total", habit_help, seen(shards::habit::retry_storm),
                    {habit("retry-storm")}),
            gauge("keys", "Keys of locks, those included whose memory is not freed yet.",
                  [&table] { return table.stats().keys; }),
            gauge("bytes", "Memory of the table of locks.",
                  [&table] { return table.stats().bytes; }),
            gauge("waiters", "Clients in line now.", [&table] { return table.waiters(); }),
            gauge("lines", "Keys that somebody is in line for, or polls for, now.",
                  [&table] { return table.lines(); }),
            histogram("queue_length", "How many stood before each client that took a place.",
                      [&table] { return shown_places(table.waited()); }),
            histogram("hold_seconds", hold_help, held(reason::released), {end("released")}),
            histogram("hold_seconds", hold_help, held(reason::removed), {end("removed")}),
            histogram("hold_seconds", hold_help, held(reason::expired), {end("expired")}),
            histogram("wait_seconds", wait_help, waited(&times::granted), {end("granted")}),
            histogram("wait_seconds", wait_help, waited(&times::timed_out), {end("timed_out")}),
            histogram("wait_seconds", wait_help, waited(&times::cancelled), {end("cancelled")}),
            histogram("wait_seconds", wait_help, waited(&times::refused), {end("refused")}),
        });
}

void core_metrics::add_clients() {
    const auto counted = [this](uint64_t statistics::* which) {
        return [this, which] { return _everyone.counted.*which; };
    };
    using count = statistics;
    _groups.add_group(
        "client",
        {
            gauge("connections", "Clients connected now.", [this] { return _everyone.size(); }),
            counter("connections_total", "Connections accepted.", counted(&count::connections)),
            counter("connections_refused_total",
                    "Connections turned away because there were as many as there may be.",
                    counted(&count::connections_refused)),
            counter("commands_total", "Commands executed.", counted(&count::commands)),
            counter("error_replies_total", "Commands answered with an error.",
                    counted(&count::error_replies)),
            counter("received_bytes_total", "Bytes read from clients.", counted(&count::bytes_in)),
            counter("sent_bytes_total", "Bytes written to clients.", counted(&count::bytes_out)),
        });
}

/// The first ones by name, and the rest as one without a name.
void core_metrics::show_users() {
    _of_users.clear();
    using several = std::vector<identity_ptr>;
    const auto counted = [](const several& who, uint64_t user_counters::* which) {
        return [who, which] {
            uint64_t sum = 0;
            for (const identity_ptr& one : who) {
                sum += one->counted->*which;
            }
            return sum;
        };
    };
    const auto connected = [](const several& who) {
        return [who] {
            uint64_t sum = 0;
            for (const identity_ptr& one : who) {
                sum += one->load->connections.load(std::memory_order_relaxed);
            }
            return sum;
        };
    };
    const auto add = [&](const std::string& name, const several& who) {
        const std::vector<sm::label_instance> which = {user_name(name)};
        using count = user_counters;
        _of_users.add_group(
            "user",
            {
                counter("commands_total", "Commands of the user.", counted(who, &count::commands),
                        which),
                counter("error_replies_total", "Those that were answered with an error.",
                        counted(who, &count::error_replies), which),
                counter("denied_total", "Commands that the user may not give, or not for that key.",
                        counted(who, &count::denied), which),
                counter("rate_limited_total", "Commands beyond the rate of the user.",
                        counted(who, &count::rate_limited), which),
                counter("failed_logins_total", "Wrong passwords for the user.",
                        counted(who, &count::failed_logins), which),
            });
        // Cores share that number.
        if (ss::this_shard_id() == 0) {
            _of_users.add_group("user", {gauge("connections", "Connections logged in as the user.",
                                               connected(who), which)});
        }
    };
    several rest;
    size_t shown_users = 0;
    for (const auto& [name, who] : _users.all()) {
        if (shown_users < users_shown_max) {
            add(name, {who});
            ++shown_users;
        } else {
            rest.push_back(who);
        }
    }
    if (!rest.empty()) {
        add("", rest);
    }
}

void core_metrics::add_leases() {
    auto& leases = *_locks.leases();
    const auto counted = [&leases](uint64_t shards::lease_counters::* which) {
        return [&leases, which] { return leases.counted().*which; };
    };
    using count = shards::lease_counters;
    constexpr auto rounds =
        "Rounds of votes: won, lost to another owner (elsewhere), or without a majority that could "
        "be asked (unreachable).";
    constexpr auto renewals =
        "Extensions of leases: in time, late (less than a sixth of the lease was left), or failed "
        "(to be tried again while the lease lasts).";
    _groups.add_group(
        "lease",
        {
            gauge("held", "Leases on masters, those included that are just being asked for.",
                  [&leases] { return leases.size(); }),
            counter("rounds_total", rounds, counted(&count::won), {result("won")}),
            counter("rounds_total", rounds, counted(&count::elsewhere), {result("elsewhere")}),
            counter("rounds_total", rounds, counted(&count::unreachable), {result("unreachable")}),
            histogram("round_seconds", "How long rounds took that were won.",
                      [&leases] { return shown(leases.counted().took); }),
            counter("renewals_total", renewals,
                    [&leases] { return leases.counted().renewed - leases.counted().renewed_late; },
                    {result("in_time")}),
            counter("renewals_total", renewals, counted(&count::renewed_late), {result("late")}),
            counter("renewals_total", renewals, counted(&count::renewals_failed),
                    {result("failed")}),
            counter("lost_total", "Leases that were held and could not be kept until their end.",
                    counted(&count::lost)),
        });
}

const std::vector<shards::fleet::stripe_state>& core_metrics::stripes() {
    const auto now = ss::lowres_clock::now();
    if (_stripes.empty() || now - _looked > 100ms) {
        _stripes = _locks.masters()->states();
        _looked = now;
    }
    return _stripes;
}

const shards::voter_state* core_metrics::master(size_t stripe, size_t number) {
    const auto& all = stripes();
    return stripe < all.size() && number < all[stripe].masters.size() ? &all[stripe].masters[number]
                                                                      : nullptr;
}

/// Each core has links of its own: what is counted is added up, and how a master fares is told by
/// core 0.
void core_metrics::add_masters() {
    using standing = shards::admission::state;
    const bool speaks_for_all = ss::this_shard_id() == 0;
    const auto all = stripes();
    for (size_t s = 0; s < all.size(); ++s) {
        const auto stripe = stripe_name(all[s].name);
        if (speaks_for_all) {
            _groups.add_group(
                "stripe",
                {
                    gauge("masters", "Masters of the stripe.",
                          [this, s] { return stripes()[s].masters.size(); }, {stripe}),
                    gauge("masters_voting", "Masters of the stripe that may vote.",
                          [this, s] {
                              return std::ranges::count(stripes()[s].masters, standing::admitted,
                                                        &shards::voter_state::standing);
                          },
                          {stripe}),
                    gauge("masters_needed", "Masters that must vote for a lock to be given.",
                          [this, s] { return stripes()[s].masters.size() / 2 + 1; }, {stripe}),
                });
        }
        for (size_t m = 0; m < all[s].masters.size(); ++m) {
            const std::vector<sm::label_instance> which = {
                stripe, master_name(all[s].masters[m].link.address)};
            const auto of_state = [this, s, m](uint64_t shards::voter_state::* count) {
                return [this, s, m, count] {
                    const auto* const one = master(s, m);
                    return one ? one->*count : 0;
                };
            };
            const auto of_link = [this, s, m](uint64_t shards::master_statistics::* count) {
                return [this, s, m, count] {
                    const auto* const one = master(s, m);
                    return one ? one->link.statistics.*count : 0;
                };
            };
            using voter = shards::voter_state;
            using link = shards::master_statistics;
            _groups.add_group(
                "master",
                {
                    counter("votes_total", "Votes that the master gave.", of_state(&voter::votes),
                            which),
                    counter("refusals_total",
                            "Questions that the master refused to answer, being another "
                            "incarnation than the one admitted, or unable to write.",
                            of_state(&voter::refusals), which),
                    counter("fence_epochs_total",
                            "Times that fences went on from the clock because no master remembered "
                            "them.",
                            of_state(&voter::epoch_bumps), which),
                    counter("requests_total", "Requests sent.", of_link(&link::requests), which),
                    counter("timeouts_total", "Requests not answered in time.",
                            of_link(&link::timeouts), which),
                    counter("connections_total", "Connections made.", of_link(&link::connections),
                            which),
                    counter("failed_connections_total", "Attempts to connect that failed.",
                            of_link(&link::failed_attempts), which),
                    histogram(
                        "answer_seconds", "How long the master took to answer.",
                        [this, s, m] {
                            const auto* const one = master(s, m);
                            return one ? shown(one->link.statistics.round_trips) : sm::histogram();
                        },
                        which),
                });
            if (!speaks_for_all) {
                continue;
            }
            _groups.add_group(
                "master",
                {
                    gauge(
                        "connected", "1 if there is a connection.",
                        [this, s, m] {
                            const auto* const one = master(s, m);
                            return one && one->link.connected ? 1 : 0;
                        },
                        which),
                    gauge(
                        "quarantine_seconds",
                        "How long the master must not vote yet, as far as is known.",
                        [this, s, m] {
                            const auto* const one = master(s, m);
                            return one && one->until
                                       ? std::max(0.0, seconds(*one->until - shards::read_clock()))
                                       : 0.0;
                        },
                        which),
                });
            for (const auto state : {standing::disconnected, standing::refused, standing::pending,
                                     standing::admitted}) {
                auto labels = which;
                labels.push_back(state_name(std::string(name_of(state))));
                _groups.add_group("master", {gauge(
                                                "state", "1 for the state that the master is in.",
                                                [this, s, m, state] {
                                                    const auto* const one = master(s, m);
                                                    return one && one->standing == state ? 1 : 0;
                                                },
                                                labels)});
            }
        }
    }
}

const std::vector<peer_view>& core_metrics::seen_peers() {
    const auto now = ss::lowres_clock::now();
    if (now - _looked_at_peers > 100ms) {
        _peers = _links.views();
        _looked_at_peers = now;
    }
    return _peers;
}

const peer_view* core_metrics::peer(std::string_view address) {
    const peer_view* found = nullptr;
    for (const peer_view& each : seen_peers()) {
        // Who was there before a restart may be listed still.
        if (each.address == address && (found == nullptr || each.link == "up")) {
            found = &each;
        }
    }
    return found;
}

/// By address: a proxy has another id after each start.
void core_metrics::show_peers() {
    _of_peers.clear();
    _looked_at_peers = {};
    std::set<std::string> addresses;
    for (const peer_view& each : _links.views()) {
        if (each.address != _links.card().address) {
            addresses.insert(each.address);
        }
    }
    for (const std::string& address : addresses) {
        const std::vector<sm::label_instance> which = {peer_name(address)};
        const auto counted = [this, &address](uint64_t forwarding_counters::* count) {
            return [this, address, count] {
                const peer_view* const one = peer(address);
                return one ? one->counted.*count : 0;
            };
        };
        using count = forwarding_counters;
        _of_peers.add_group(
            "proxy", {
                         counter("forwarded_total", "Requests that were sent to the other proxy.",
                                 counted(&count::forwarded), which),
                         counter("not_home_total",
                                 "Those that it sent back, for it did not have the key any more.",
                                 counted(&count::not_home), which),
                         counter("broken_total", "Those whose answer was lost with the link.",
                                 counted(&count::broken), which),
                     });
        if (ss::this_shard_id() != 0) {
            continue;
        }
        _of_peers.add_group("proxy", {gauge(
                                         "link_up", "1 if there is a link to the other proxy.",
                                         [this, address] {
                                             const peer_view* const one = peer(address);
                                             return one && one->link == "up" ? 1 : 0;
                                         },
                                         which)});
        for (const char* const why : {"fleet", "other", "secret", "tls", "version"}) {
            _of_peers.add_group(
                "proxy",
                {gauge("link_refused", "1 if there is no link to the other proxy for this reason.",
                       [this, address, why] {
                           const peer_view* const one = peer(address);
                           return one && one->link == "refused" &&
                                          sort_of_refusal(one->reason) == why
                                      ? 1
                                      : 0;
                       },
                       {peer_name(address), reason(std::string(why))})});
        }
    }
}

void core_metrics::add_process() {
    _groups.add_group(
        "process", {
                       gauge("info", "Always 1; its label tells the version.", [] { return 1; },
                             {version_name(std::string(version))}),
                       gauge("uptime_seconds", "Since the start of the process.",
                             [] { return seconds(ss::lowres_clock::now() - start_of_process()); }),
                       gauge("resident_bytes", "Memory of the process, as the kernel counts it.",
                             [] { return resident_bytes(); }),
                       gauge("cores", "Cores that serve.", [] { return ss::smp::count; }),
                   });
}

}  // namespace lockkeeper::proxy::admin
