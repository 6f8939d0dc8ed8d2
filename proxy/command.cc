#include "proxy/command.hh"

#include <algorithm>
#include <array>
#include <seastar/core/memory.hh>

#include "protocol/text.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

namespace {

/// Names -> specs: open addressing, a power of two well above the number of commands, filled once.
class name_table {
public:
    name_table() {
        for (const auto part :
             {acl_commands(), connection_commands(), client_commands(), introspection_commands(),
              key_commands(), string_commands(), hash_commands(), list_commands(),
              native_commands(), native_view_commands(), observing_commands(), peer_commands(),
              pubsub_commands(), script_commands(), transaction_commands()}) {
            for (const command_spec& spec : part) {
                insert(spec);
                _all.push_back(&spec);
            }
        }
        std::ranges::sort(_all, {}, &command_spec::name);
    }

    const command_spec* find(std::string_view name) const {
        if (name.size() > longest_name) {
            return nullptr;
        }
        for (size_t slot = hash(name);; ++slot) {
            const command_spec* spec = _slots[slot % slots];
            if (!spec || protocol::equals_ignoring_case(spec->name, name)) {
                return spec;
            }
        }
    }

    std::span<const command_spec* const> all() const { return _all; }

private:
    static constexpr size_t slots = 512;
    static constexpr size_t longest_name = 32;

    static size_t hash(std::string_view name) {
        uint32_t value = 2'166'136'261u;
        for (const char c : name) {
            // Letters differ from their other case in this bit alone; that it folds others too does
            // no harm.
            value = (value ^ (static_cast<unsigned char>(c) | 0x20u)) * 16'777'619u;
        }
        return value;
    }

    void insert(const command_spec& spec) {
        size_t slot = hash(spec.name);
        while (_slots[slot % slots]) {
            ++slot;
        }
        _slots[slot % slots] = &spec;
    }

    std::array<const command_spec*, slots> _slots{};
    std::vector<const command_spec*> _all;
};

const name_table& names() {
    static const name_table table;
    return table;
}

}  // namespace

shards::lock_key key_call::named(std::string_view name) const {
    return {database, name, locks.hasher().place(name).bucket};
}

shards::lock_table& key_call::table() const {
    return locks.table();
}

const command_spec* find_command(std::string_view name) {
    return names().find(name);
}

std::span<const command_spec* const> all_commands() {
    return names().all();
}

std::vector<std::string_view> keys_of(const command_spec& spec, const protocol::request& args) {
    std::vector<std::string_view> keys;
    if (spec.keys.first == 0) {
        return keys;
    }
    const int count = static_cast<int>(args.size());
    const int last = spec.keys.last < 0 ? count + spec.keys.last : spec.keys.last;
    for (int i = spec.keys.first; i <= last && i < count; i += spec.keys.step) {
        keys.push_back(args[static_cast<size_t>(i)]);
    }
    return keys;
}

std::vector<std::string_view> counted_keys(const protocol::request& args) {
    const auto count = protocol::parse_integer(args[2]);
    if (!count || *count < 0 || *count > static_cast<int64_t>(args.size()) - 3) {
        return {};
    }
    const auto keys = args.args.subspan(3, static_cast<size_t>(*count));
    return {keys.begin(), keys.end()};
}

bool may_be_repeated(const command_spec& spec, const protocol::request& args) {
    return spec.flags & flag_readonly || (spec.is_repeatable && spec.is_repeatable(args));
}

bool takes(const command_spec& spec, size_t arguments) {
    return arguments >= static_cast<size_t>(spec.least) &&
           (spec.most < 0 || arguments <= static_cast<size_t>(spec.most));
}

void reply_syntax_error(protocol::reply_writer& reply) {
    reply.error("ERR syntax error");
}

void reply_not_an_integer(protocol::reply_writer& reply) {
    reply.error("ERR value is not an integer or out of range");
}

void reply_wrong_arity(protocol::reply_writer& reply, std::string_view command) {
    reply.error({"ERR wrong number of arguments for '", command, "' command"});
}

void reply_unknown_subcommand(protocol::reply_writer& reply, std::string_view command,
                              std::string_view subcommand) {
    constexpr size_t shown = 128;
    reply.error(
        {"ERR unknown subcommand '", subcommand.substr(0, shown), "'. Try ", command, " HELP."});
}

void reply_out_of_memory(protocol::reply_writer& reply) {
    reply.error("OOM command not allowed when used memory > 'maxmemory'.");
}

bool memory_is_short() {
    constexpr size_t kept_share = 20;
    constexpr size_t kept_least = 1024 * 1024;
    static thread_local const size_t kept =
        std::max(ss::memory::stats().total_memory() / kept_share, kept_least);
    return ss::memory::free_memory() < kept;
}

void reply_lock_error(protocol::reply_writer& reply, shards::lock_error error) {
    switch (error) {
        case shards::lock_error::wrong_type:
            return reply.error("WRONGTYPE Operation against a key holding the wrong kind of value");
        case shards::lock_error::key_too_long:
            return reply.error("ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes");
        case shards::lock_error::too_many_locks:
            return reply.error("ERR TOOMANYLOCKS this core holds as many lock keys as it may");
        case shards::lock_error::too_many_holders:
            return reply.error("ERR TOOMANYHOLDERS this lock has as many owners as it may");
        case shards::lock_error::too_many_members:
            return reply.error(
                "ERR TOOMANYMEMBERS this key has as many fields or elements as it may");
        case shards::lock_error::not_an_integer:
            return reply_not_an_integer(reply);
        case shards::lock_error::overflow:
            return reply.error("ERR increment or decrement would overflow");
        case shards::lock_error::too_many_holds:
            return reply.error("ERR TOOMANYHOLDS this owner holds the lock as often as it may");
        case shards::lock_error::too_many_waiters:
            return reply.error(
                "ERR TOOMANYWAITERS as many clients as may wait for it do so already");
        case shards::lock_error::other_lock_type:
            return reply.error(
                "ERR LOCKTYPE this key is a lock of another type: semaphores (PERMITS) and "
                "exclusive "
                "or shared locks cannot be mixed on one key");
        case shards::lock_error::other_permits:
            return reply.error(
                "ERR PERMITS this semaphore has another number of permits, or its owner holds "
                "another number of them");
        case shards::lock_error::upgrade:
            return reply.error(
                "ERR UPGRADE this owner shares the lock: release it before asking for it "
                "exclusively");
        case shards::lock_error::deadlock:
            return reply.error(
                "ERR DEADLOCK waiting for this lock would never end: its holder waits for one of "
                "yours");
        case shards::lock_error::no_fence:
            return reply.error("ERR NOFENCE no fencing token can be given right now, try again");
        case shards::lock_error::no_lease:
            return reply.error(
                "ERR NOQUORUM a majority of the masters could not be won for this key");
        case shards::lock_error::moved:
            return reply.error("NOTHOME this proxy does not have the lease of this key");
        case shards::lock_error::starting:
            return reply.error(
                "ERR STARTING no lock is given so soon after the start (embedded.start_delay), try "
                "again");
    }
}

}  // namespace lockkeeper::proxy
