#include <fmt/format.h>
#include <unistd.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/memory.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/expiry.hh"
#include "proxy/lock_report.hh"
#include "proxy/process.hh"
#include "proxy/services.hh"
#include "proxy/version.hh"
#include "shards/core/glob.hh"

/// What the server tells about itself, in the words that Redis' clients look for: INFO, COMMAND,
/// CONFIG GET, ROLE...
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
    std::array<uint64_t, 64> keys_by_database{};
    uint64_t clients = 0;
    uint64_t blocked = 0;
    uint64_t channels = 0;
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
    }
    sum.clients += more.clients;
    sum.blocked += more.blocked;
    sum.channels += more.channels;
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
            for (uint32_t database = 0; database < shards::lock_table_options{}.databases;
                 ++database) {
                here.keys_by_database[database] = locks.table().size(database);
            }
            here.clients = core.size();
            core.for_each([&here](const client& one) { here.blocked += one.blocked ? 1 : 0; });
            here.channels = all.messages.local().names(channel_kind::channel).size();
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
        "multiplexing_api:seastar\r\nprocess_id:{}\r\nrun_id:{}\r\ntcp_port:{}\r\nserver_time_usec:"
        "{}\r\n"
        "uptime_in_seconds:{}\r\nuptime_in_days:{}\r\nlockkeeper_version:{}\r\nlockkeeper_store:"
        "embedded\r\n"
        "lockkeeper_cores:{}\r\n",
        who.all.settings.server.redis_version, getpid(), run_id(), who.all.settings.server.port,
        wall_clock_ms() * 1000, uptime, uptime / 86'400, version, ss::smp::count);
}

std::string info_clients(const client& who, const totals& all) {
    return fmt::format(
        "connected_clients:{}\r\ncluster_connections:0\r\nmaxclients:{}\r\nclient_recent_max_input_"
        "buffer:0\r\n"
        "client_recent_max_output_buffer:0\r\nblocked_clients:{}\r\ntracking_clients:0\r\n"
        "clients_in_timeout_table:0\r\n",
        all.clients, who.all.settings.limits.clients, all.blocked);
}

std::string info_memory(const client&, const totals& all) {
    return fmt::format(
        "used_memory:{}\r\nused_memory_human:{}\r\nused_memory_dataset:{}\r\ntotal_system_memory:{}"
        "\r\n"
        "total_system_memory_human:{}\r\nmaxmemory:{}\r\nmaxmemory_human:{}\r\nmaxmemory_policy:"
        "noeviction\r\n"
        "mem_fragmentation_ratio:1.00\r\nmem_allocator:seastar\r\n",
        all.memory_used, human(all.memory_used), all.locks.bytes, all.memory_total,
        human(all.memory_total), all.memory_total, human(all.memory_total));
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
        "keyspace_hits:0\r\nkeyspace_misses:0\r\npubsub_channels:{}\r\npubsub_patterns:{}\r\n"
        "total_error_replies:{}\r\n",
        all.counted.connections, all.counted.commands, all.counted.bytes_in, all.counted.bytes_out,
        all.counted.connections_refused, all.locks.expired, all.channels, all.patterns,
        all.counted.error_replies);
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
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return fmt::format("used_cpu_sys:0.000000\r\nused_cpu_user:{}.{:06}\r\n", used.tv_sec,
                       used.tv_nsec / 1000);
}

std::string info_empty(const client&, const totals&) {
    return {};
}

std::string info_locks(const client&, const totals& all) {
    return info_text(all.lock_traffic);
}

std::string info_cluster(const client&, const totals&) {
    return "cluster_enabled:0\r\n";
}

std::string info_keyspace(const client&, const totals& all) {
    std::string text;
    for (size_t i = 0; i < all.keys_by_database.size(); ++i) {
        if (all.keys_by_database[i] > 0) {
            text += fmt::format("db{}:keys={},expires=0,avg_ttl=0\r\n", i, all.keys_by_database[i]);
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
    std::string text;
    for (const info_section& section : sections) {
        if (is_wanted(section, args)) {
            text += fmt::format("{}# {}\r\n", text.empty() ? "" : "\r\n", section.name);
            text += section.write(who, all);
        }
    }
    who.reply.verbatim("txt", text);
}

// ---- COMMAND
// ----------------------------------------------------------------------------------------------

struct flag_name {
    uint32_t flag;
    std::string_view name;
};
constexpr flag_name flag_names[] = {
    {flag_write, "write"},       {flag_readonly, "readonly"}, {flag_grows, "denyoom"},
    {flag_admin, "admin"},       {flag_pubsub, "pubsub"},     {flag_noscript, "noscript"},
    {flag_blocking, "blocking"}, {flag_loading, "loading"},   {flag_stale, "stale"},
    {flag_fast, "fast"},         {flag_no_auth, "no_auth"},   {flag_movable_keys, "movablekeys"},
};

void describe_command(protocol::reply_writer& reply, const command_spec& spec) {
    reply.array(10);
    reply.bulk(spec.name);
    reply.integer(spec.most == spec.least ? spec.least : -spec.least);
    size_t flags = 0;
    for (const auto& known : flag_names) {
        flags += spec.flags & known.flag ? 1 : 0;
    }
    reply.set(flags);
    for (const auto& known : flag_names) {
        if (spec.flags & known.flag) {
            reply.simple(known.name);
        }
    }
    reply.integer(spec.keys.first);
    reply.integer(spec.keys.last);
    reply.integer(spec.keys.step);
    reply.set(0);    // ACL categories
    reply.array(0);  // tips
    reply.array(0);  // key specifications
    reply.array(0);  // subcommands
}

void command_info(client& who, const request& args) {
    if (args.size() == 2) {
        who.reply.array(all_commands().size());
        for (const command_spec* spec : all_commands()) {
            describe_command(who.reply, *spec);
        }
        return;
    }
    who.reply.array(args.size() - 2);
    for (size_t i = 2; i < args.size(); ++i) {
        const command_spec* spec = find_command(args[i]);
        spec ? describe_command(who.reply, *spec) : who.reply.null();
    }
}

/// Redis' own manual tells what the commands mean; here is only which there are.
void command_docs(client& who, const request& args) {
    std::vector<const command_spec*> wanted;
    for (size_t i = 2; i < args.size(); ++i) {
        if (const command_spec* spec = find_command(args[i])) {
            wanted.push_back(spec);
        }
    }
    if (args.size() == 2) {
        wanted.assign(all_commands().begin(), all_commands().end());
    }
    who.reply.map(wanted.size());
    for (const command_spec* spec : wanted) {
        who.reply.bulk(spec->name);
        who.reply.map(2);
        who.reply.bulk("summary");
        who.reply.bulk("As in Redis, on lock keys.");
        who.reply.bulk("group");
        who.reply.bulk(spec->flags & flag_pubsub ? "pubsub"
                       : spec->keys.first        ? "generic"
                                                 : "server");
    }
}

void command_keys(client& who, const request& args) {
    const request inner{args.args.subspan(2)};
    const command_spec* spec = find_command(inner.name());
    if (!spec) {
        return who.reply.error("ERR Invalid command specified");
    }
    const auto fits = inner.size() >= static_cast<size_t>(spec->least) &&
                      (spec->most < 0 || inner.size() <= static_cast<size_t>(spec->most));
    if (!fits) {
        return who.reply.error("ERR Invalid number of arguments specified for command");
    }
    const auto keys = spec->find_keys ? spec->find_keys(who, inner) : keys_of(*spec, inner);
    if (keys.empty()) {
        return who.reply.error("ERR The command has no key arguments");
    }
    who.reply.array(keys.size());
    for (const std::string_view key : keys) {
        who.reply.bulk(key);
    }
}

void command(client& who, const request& args) {
    if (args.size() == 1) {
        const std::string_view as_info[] = {"command", "info"};
        return command_info(who, request{as_info});
    }
    const std::string_view what = args[1];
    if (equals_ignoring_case(what, "count") && args.size() == 2) {
        who.reply.integer(static_cast<int64_t>(all_commands().size()));
    } else if (equals_ignoring_case(what, "info")) {
        command_info(who, args);
    } else if (equals_ignoring_case(what, "docs")) {
        command_docs(who, args);
    } else if (equals_ignoring_case(what, "list") && args.size() == 2) {
        who.reply.array(all_commands().size());
        for (const command_spec* spec : all_commands()) {
            who.reply.bulk(spec->name);
        }
    } else if (equals_ignoring_case(what, "getkeys") && args.size() > 2) {
        command_keys(who, args);
    } else {
        reply_unknown_subcommand(who.reply, "COMMAND", what);
    }
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
            "ERR CONFIG SET is not supported: change the configuration file and restart");
    } else if (equals_ignoring_case(args[1], "resetstat") && args.size() == 2) {
        who.reply.ok();
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
    {.name = "command", .least = 1, .most = -1, .flags = always, .on_client = command},
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
