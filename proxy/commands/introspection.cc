#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/memory.hh>

#include "config/options.hh"
#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/expiry.hh"
#include "proxy/fleet_report.hh"
#include "proxy/lock_report.hh"
#include "proxy/process.hh"
#include "proxy/resident_memory.hh"
#include "proxy/services.hh"
#include "proxy/version.hh"
#include "shards/core/glob.hh"

/// What the server tells about itself, in the words that Redis' clients look for: INFO, CONFIG GET,
/// ROLE...
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;

// ---- INFO
// -------------------------------------------------------------------------------------------------

/// What the cores know, added up.
struct totals {
    statistics counted;
    shards::table_stats locks;
    lock_report lock_traffic;
    fleet_report masters;
    std::array<uint64_t, 64> keys_by_database{};
    struct ending {
        uint64_t keys = 0;
        double left_ms = 0;  ///< of all of them together
    };
    std::array<ending, 64> ends_by_database{};
    uint64_t clients = 0;
    uint64_t blocked = 0;
    uint64_t tracking = 0;
    uint64_t longest_input = 0;
    uint64_t longest_output = 0;
    uint64_t channels = 0;
    uint64_t shard_channels = 0;
    uint64_t patterns = 0;
    uint64_t memory_used = 0;
    uint64_t memory_total = 0;
};

totals add(totals sum, const totals& more) {
    sum.counted += more.counted;
    sum.locks.keys += more.locks.keys;
    sum.locks.keys_with_expiry += more.locks.keys_with_expiry;
    sum.locks.bytes += more.locks.bytes;
    sum.locks.expired += more.locks.expired;
    for (size_t i = 0; i < sum.keys_by_database.size(); ++i) {
        sum.keys_by_database[i] += more.keys_by_database[i];
        sum.ends_by_database[i].keys += more.ends_by_database[i].keys;
        sum.ends_by_database[i].left_ms += more.ends_by_database[i].left_ms;
    }
    sum.clients += more.clients;
    sum.blocked += more.blocked;
    sum.tracking += more.tracking;
    sum.longest_input = std::max(sum.longest_input, more.longest_input);
    sum.longest_output = std::max(sum.longest_output, more.longest_output);
    sum.channels += more.channels;
    sum.shard_channels += more.shard_channels;
    sum.patterns += more.patterns;
    sum.memory_used += more.memory_used;
    sum.memory_total += more.memory_total;
    return sum;
}

ss::future<totals> collect(client& who) {
    services& all = who.all;
    return all.everyone.map_reduce0(
        [&all](clients& core) {
            totals here;
            here.counted = core.counted;
            auto& locks = all.locks.local();
            here.locks = locks.table().stats();
            const auto now = shards::read_clock();
            for (uint32_t database = 0; database < shards::lock_table_options{}.databases;
                 ++database) {
                here.keys_by_database[database] = locks.table().size(database);
                const auto ends = locks.table().ends(database, now);
                here.ends_by_database[database] = {
                    ends.keys,
                    static_cast<double>(ends.keys) *
                        std::chrono::duration<double, std::milli>(ends.mean_left).count()};
            }
            here.clients = core.size();
            core.for_each([&here](const client& one) {
                here.blocked += one.blocked ? 1 : 0;
                here.tracking += one.tracked.on ? 1 : 0;
                here.longest_input = std::max<uint64_t>(here.longest_input, one.unexecuted);
                here.longest_output =
                    std::max<uint64_t>(here.longest_output, one.output.size() + one.being_written);
            });
            here.channels = all.messages.local().names(channel_kind::channel).size();
            here.shard_channels = all.messages.local().names(channel_kind::shard).size();
            here.patterns = all.messages.local().names(channel_kind::pattern).size();
            const auto memory = ss::memory::stats();
            here.memory_used = memory.allocated_memory();
            here.memory_total = memory.total_memory();
            return here;
        },
        totals{}, add);
}

std::string human(uint64_t bytes) {
    const double value = static_cast<double>(bytes);
    if (bytes < 1ULL << 20) {
        return fmt::format("{:.2f}K", value / 1024);
    }
    return bytes < 1ULL << 30 ? fmt::format("{:.2f}M", value / (1 << 20))
                              : fmt::format("{:.2f}G", value / (1 << 30));
}

std::string info_server(const client& who, const totals&) {
    const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(ss::lowres_clock::now() -
                                                                         start_of_process())
                            .count();
    return fmt::format(
        "redis_version:{}\r\nredis_git_sha1:00000000\r\nredis_git_dirty:0\r\nredis_build_id:"
        "lockkeeper\r\n"
        "redis_mode:standalone\r\nos:Linux\r\narch_bits:64\r\nmonotonic_clock:CLOCK_BOOTTIME\r\n"
        "multiplexing_api:seastar\r\nprocess_id:{}\r\nprocess_supervised:no\r\nrun_id:{}\r\ntcp_"
        "port:{}\r\nserver_time_usec:"
        "{}\r\n"
        "uptime_in_seconds:{}\r\nuptime_in_days:{}\r\nlockkeeper_version:{}\r\nlockkeeper_store:"
        "{}\r\n"
        "lockkeeper_cores:{}\r\n",
        who.all.settings.server.redis_version, getpid(), run_id(), who.all.settings.server.port,
        wall_clock_ms() * 1000, uptime, uptime / 86'400, version,
        who.all.settings.stripes.empty() ? "embedded" : "masters", ss::smp::count);
}

std::string info_clients(const client& who, const totals& all) {
    return fmt::format(
        "connected_clients:{}\r\ncluster_connections:0\r\nmaxclients:{}\r\nclient_recent_max_input_"
        "buffer:{}\r\n"
        "client_recent_max_output_buffer:{}\r\nblocked_clients:{}\r\ntracking_clients:{}\r\n"
        "clients_in_timeout_table:0\r\n",
        all.clients, who.all.settings.limits.clients, all.longest_input, all.longest_output,
        all.blocked, all.tracking);
}

std::string info_memory(const client&, const totals& all) {
    const uint64_t resident = resident_bytes();
    return fmt::format(
        "used_memory:{}\r\nused_memory_human:{}\r\nused_memory_rss:{}\r\nused_memory_rss_human:{}"
        "\r\nused_memory_dataset:{}\r\ntotal_system_memory:{}\r\n"
        "total_system_memory_human:{}\r\nmaxmemory:{}\r\nmaxmemory_human:{}\r\nmaxmemory_policy:"
        "noeviction\r\n"
        "mem_fragmentation_ratio:1.00\r\nmem_allocator:seastar\r\n",
        all.memory_used, human(all.memory_used), resident, human(resident), all.locks.bytes,
        all.memory_total, human(all.memory_total), all.memory_total, human(all.memory_total));
}

std::string info_persistence(const client&, const totals&) {
    return "loading:0\r\nasync_loading:0\r\nrdb_changes_since_last_save:0\r\nrdb_bgsave_in_"
           "progress:0\r\n"
           "rdb_last_save_time:0\r\nrdb_last_bgsave_status:ok\r\naof_enabled:0\r\naof_rewrite_in_"
           "progress:0\r\n";
}

std::string info_stats(const client&, const totals& all) {
    return fmt::format(
        "total_connections_received:{}\r\ntotal_commands_processed:{}\r\ntotal_net_input_bytes:{}"
        "\r\n"
        "total_net_output_bytes:{}\r\nrejected_connections:{}\r\nexpired_keys:{}\r\nevicted_keys:"
        "0\r\n"
        "pubsub_channels:{}\r\npubsub_patterns:{}\r\n"
        "pubsubshard_channels:{}\r\ntotal_error_replies:{}\r\n",
        all.counted.connections, all.counted.commands, all.counted.bytes_in, all.counted.bytes_out,
        all.counted.connections_refused, all.locks.expired, all.channels, all.patterns,
        all.shard_channels, all.counted.error_replies);
}

std::string info_replication(const client&, const totals&) {
    return fmt::format(
        "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\nmaster_replid:{}"
        "\r\n"
        "master_replid2:0000000000000000000000000000000000000000\r\nmaster_repl_offset:0\r\n"
        "second_repl_offset:-1\r\nrepl_backlog_active:0\r\n",
        run_id());
}

std::string info_cpu(const client&, const totals&) {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return fmt::format("used_cpu_sys:{}.{:06}\r\nused_cpu_user:{}.{:06}\r\n", used.ru_stime.tv_sec,
                       used.ru_stime.tv_usec, used.ru_utime.tv_sec, used.ru_utime.tv_usec);
}

std::string info_empty(const client&, const totals&) {
    return {};
}

std::string info_locks(const client&, const totals& all) {
    return info_text(all.lock_traffic);
}

std::string info_fleet(const client&, const totals& all) {
    return info_text(all.masters);
}

std::string info_cluster(const client&, const totals&) {
    return "cluster_enabled:0\r\n";
}

std::string info_keyspace(const client&, const totals& all) {
    std::string text;
    for (size_t i = 0; i < all.keys_by_database.size(); ++i) {
        if (all.keys_by_database[i] > 0) {
            const auto& [ends, left_ms] = all.ends_by_database[i];
            text += fmt::format(
                "db{}:keys={},expires={},avg_ttl={}\r\n", i, all.keys_by_database[i], ends,
                static_cast<uint64_t>(ends > 0 ? left_ms / static_cast<double>(ends) : 0));
        }
    }
    return text;
}

/// Not of Redis: what is allowed here, by the names of the configuration.
std::string info_limits(const client& who, const totals&) {
    std::string text;
    for (const config::option& known : config::options()) {
        if (known.section == "limits") {
            text += fmt::format("{}:{}\r\n", known.name, known.show(who.all.settings));
        }
    }
    return text;
}

struct info_section {
    std::string_view name;
    bool by_default;
    std::string (*write)(const client&, const totals&);
};

constexpr info_section sections[] = {
    {"Server", true, info_server},
    {"Clients", true, info_clients},
    {"Memory", true, info_memory},
    {"Persistence", true, info_persistence},
    {"Stats", true, info_stats},
    {"Replication", true, info_replication},
    {"CPU", true, info_cpu},
    {"Modules", true, info_empty},
    {"Commandstats", false, info_empty},
    {"Errorstats", true, info_empty},
    {"Latencystats", false, info_empty},
    {"Cluster", true, info_cluster},
    {"Keyspace", true, info_keyspace},
    {"Locks", true, info_locks},
    {"Fleet", true, info_fleet},
    {"Limits", false, info_limits},
};

bool is_wanted(const info_section& section, const owned_request& args) {
    if (args.size() == 1) {
        return section.by_default;
    }
    for (size_t i = 1; i < args.size(); ++i) {
        if (equals_ignoring_case(args[i], section.name) || equals_ignoring_case(args[i], "all") ||
            equals_ignoring_case(args[i], "everything") ||
            (equals_ignoring_case(args[i], "default") && section.by_default)) {
            return true;
        }
    }
    return false;
}

ss::future<> info(client& who, owned_request args) {
    totals all = co_await collect(who);
    all.lock_traffic = co_await report_locks(who.all);
    all.masters = co_await report_fleet(who.all);
    std::string text;
    for (const info_section& section : sections) {
        if (is_wanted(section, args)) {
            text += fmt::format("{}# {}\r\n", text.empty() ? "" : "\r\n", section.name);
            text += section.write(who, all);
        }
    }
    who.reply.verbatim("txt", text);
}

// ---- the rest
// ---------------------------------------------------------------------------------------------

/// Settings of Redis that clients ask for, with the values that are true of us.
std::vector<std::pair<std::string_view, std::string>> redis_settings(
    const config::config& settings) {
    return {
        {"appendonly", "no"},
        {"bind", settings.server.address},
        {"databases", fmt::format("{}", shards::lock_table_options{}.databases)},
        {"maxclients", fmt::format("{}", settings.limits.clients)},
        {"maxmemory", fmt::format("{}", ss::memory::stats().total_memory() * ss::smp::count)},
        {"maxmemory-policy", "noeviction"},
        {"notify-keyspace-events", ""},
        {"port", fmt::format("{}", settings.server.port)},
        {"proto-max-bulk-len", fmt::format("{}", settings.limits.argument_bytes)},
        {"replica-read-only", "yes"},
        {"save", ""},
        {"slave-read-only", "yes"},
        {"timeout", fmt::format("{}", settings.limits.idle.count() / 1000)},
    };
}

void config_command(client& who, const request& args) {
    if (equals_ignoring_case(args[1], "get") && args.size() > 2) {
        std::vector<std::pair<std::string_view, std::string>> found;
        for (auto& setting : redis_settings(who.all.settings)) {
            const auto matches = [&](std::string_view pattern) {
                return shards::glob_match(protocol::to_lower(pattern), setting.first);
            };
            if (std::any_of(args.begin() + 2, args.end(), matches)) {
                found.push_back(std::move(setting));
            }
        }
        who.reply.map(found.size());
        for (const auto& [name, value] : found) {
            who.reply.bulk(name);
            who.reply.bulk(value);
        }
    } else if (equals_ignoring_case(args[1], "get")) {
        reply_wrong_arity(who.reply, "config|get");
    } else if (equals_ignoring_case(args[1], "set") && args.size() < 4) {
        reply_wrong_arity(who.reply, "config|set");
    } else if (equals_ignoring_case(args[1], "set")) {
        who.reply.error(
            "ERR CONFIG SET is not supported: change the configuration file, then reload it with "
            "LK.RELOAD or SIGHUP");
    } else if (equals_ignoring_case(args[1], "resetstat") && args.size() == 2) {
        who.reply.ok();
    } else if (equals_ignoring_case(args[1], "help") && args.size() == 2) {
        reply_help(who.reply, "CONFIG",
                   {"GET <pattern> [<pattern> ...]",
                    "    Settings of Redis that clients ask for, with the values that hold here.",
                    "RESETSTAT", "    Accepted, without effect."});
    } else {
        reply_unknown_subcommand(who.reply, "CONFIG", args[1]);
    }
}

void role(client& who, const request&) {
    who.reply.array(3);
    who.reply.bulk("master");
    who.reply.integer(0);
    who.reply.array(0);
}

void time(client& who, const request&) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    who.reply.array(2);
    who.reply.bulk(fmt::format("{}", now.tv_sec));
    who.reply.bulk(fmt::format("{}", now.tv_nsec / 1000));
}

void cluster(client& who, const request&) {
    who.reply.error("ERR This instance has cluster support disabled");
}

void readonly(client& who, const request&) {
    who.reply.error("ERR This instance has cluster support disabled");
}

/// There are no replicas to wait for: all of none have acknowledged.
void wait(client& who, const request& args) {
    if (!protocol::parse_integer(args[1])) {
        return reply_not_an_integer(who.reply);
    }
    const auto timeout = protocol::parse_integer(args[2]);
    if (!timeout) {
        return who.reply.error("ERR timeout is not an integer or out of range");
    }
    if (*timeout < 0) {
        return who.reply.error("ERR timeout is negative");
    }
    who.reply.integer(0);
}

void waitaof(client& who, const request& args) {
    for (size_t i = 1; i < 4; ++i) {
        const auto number = protocol::parse_integer(args[i]);
        if (!number) {
            return reply_not_an_integer(who.reply);
        }
        if (*number < 0) {
            return who.reply.error(i == 3 ? "ERR timeout is negative"
                                          : "ERR value is out of range, must be positive");
        }
    }
    if (args[1] != "0") {
        return who.reply.error(
            "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
    }
    who.reply.array(2);
    who.reply.integer(0);
    who.reply.integer(0);
}

void lolwut(client& who, const request&) {
    who.reply.verbatim(
        "txt", fmt::format("One holder, one queue, no quarrel.\nLockkeeper ver. {}\n", version));
}

constexpr uint16_t always = flag_loading | flag_stale;

constexpr command_spec table[] = {
    {.name = "cluster", .least = 2, .most = -1, .flags = always, .on_client = cluster},
    {.name = "command", .least = 1, .most = -1, .flags = always, .on_client = describe_commands},
    {.name = "config",
     .least = 2,
     .most = -1,
     .flags = always | flag_admin | flag_noscript,
     .on_client = config_command},
    {.name = "info", .least = 1, .most = -1, .flags = always, .in_time = info},
    {.name = "lolwut",
     .least = 1,
     .most = -1,
     .flags = flag_readonly | flag_fast,
     .on_client = lolwut},
    {.name = "readonly", .least = 1, .most = 1, .flags = always | flag_fast, .on_client = readonly},
    {.name = "readwrite",
     .least = 1,
     .most = 1,
     .flags = always | flag_fast,
     .on_client = readonly},
    {.name = "role",
     .least = 1,
     .most = 1,
     .flags = always | flag_noscript | flag_fast,
     .on_client = role},
    {.name = "time", .least = 1, .most = 1, .flags = always | flag_fast, .on_client = time},
    {.name = "wait", .least = 3, .most = 3, .flags = flag_noscript, .on_client = wait},
    {.name = "waitaof", .least = 4, .most = 4, .flags = flag_noscript, .on_client = waitaof},
};

}  // namespace

std::span<const command_spec> introspection_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
