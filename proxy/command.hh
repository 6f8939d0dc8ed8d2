#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/reply_writer.hh"
#include "protocol/request.hh"
#include "shards/core/clock.hh"
#include "shards/core/lock_table.hh"

namespace lockkeeper::shards {
class lock_service;
}

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;
class owned_request;

/// A command on the core that owns its keys. It runs without suspension: nothing else happens to
/// the table meanwhile. It may be another core than the client's, so it knows of the client only
/// what it is told here.
struct key_call {
    const protocol::request& args;
    uint32_t database;
    shards::lock_service& locks;
    shards::instant now;
    protocol::reply_writer& reply;
    uint64_t client = 0;  ///< the id of the one who asks

    shards::lock_key key(size_t argument) const { return named(args[argument]); }
    shards::lock_key named(std::string_view name) const;
    shards::lock_table& table() const;
};

/// What COMMAND INFO tells about a command, and what we decide by.
enum command_flag : uint32_t {
    flag_write = 1 << 0,
    flag_readonly = 1 << 1,
    flag_fast = 1 << 2,
    flag_blocking = 1 << 3,
    flag_pubsub = 1 << 4,
    flag_admin = 1 << 5,
    flag_noscript = 1 << 6,
    flag_loading = 1 << 7,
    flag_stale = 1 << 8,
    flag_no_auth = 1 << 9,
    flag_no_multi = 1 << 10,        ///< refused between MULTI and EXEC
    flag_when_listening = 1 << 11,  ///< allowed on a RESP2 connection with subscriptions
    flag_not_queued = 1 << 12,      ///< runs at once between MULTI and EXEC
    flag_movable_keys = 1 << 13,
    flag_about_data = 1 << 14,  ///< goes to the upstream for data, if there is one
    flag_about_both = 1 << 15,  ///< concerns the upstream and us alike
    flag_takes_lock =
        1 << 17,            ///< may take the lock of its first key, and its client may resend it
    flag_native = 1 << 18,  ///< about locks, whatever the name of its key
    flag_grows = 1 << 16,   ///< refused while memory is short; what ends locks never is
    flag_finds_homes = 1 << 19,  ///< looks for the home of each of its keys by itself
    flag_adds_up = 1 << 20,      ///< its answer is the sum of what is true of each key alone
};

/// Where the keys stand among the arguments, as in COMMAND INFO: first 0 means none, last counts
/// from the end if negative.
struct key_positions {
    int first = 0;
    int last = 0;
    int step = 0;
};

/// A line of the command table. At least one of the three ways to run is there.
struct command_spec {
    std::string_view name;  ///< in lower case, as Redis prints it
    int least;              ///< arguments, the name included
    int most;               ///< -1: no bound
    uint32_t flags = 0;
    key_positions keys{};
    /// About the connection: runs on its core, at once.
    void (*on_client)(client&, const protocol::request&) = nullptr;
    /// About keys that are all of one core: runs there, at once.
    void (*on_keys)(const key_call&) = nullptr;
    /// Takes its time; the client's next command waits for it. For a command that also has
    /// `on_keys` this is the way for keys of several cores.
    ss::future<> (*in_time)(client&, owned_request) = nullptr;
    /// Commands such as EVAL find their keys themselves: the keys, or nothing if the arguments make
    /// no sense.
    std::vector<std::string_view> (*find_keys)(client&, const protocol::request&) = nullptr;
    /// A command with another way that has to run `in_time` all the same, for it may wait.
    bool (*may_wait)(client&, const protocol::request&) = nullptr;
    /// With these arguments, to do it twice is to do it once. For those that only look it is so
    /// anyway.
    bool (*is_repeatable)(const protocol::request&) = nullptr;
    /// With these arguments it changes a key that nobody has, too: whose the key is shows when its
    /// lease is asked for. For any other command a key without a lease here is one that nobody has.
    bool (*finds_out_by_trying)(const protocol::request&) = nullptr;
};

/// nullptr if there is none of that name, in whatever case.
const command_spec* find_command(std::string_view name);
std::span<const command_spec* const> all_commands();

/// The keys of a request, by the spec's positions.
std::vector<std::string_view> keys_of(const command_spec& spec, const protocol::request& args);

/// EVAL and its kin tell the number of keys, and which ones they are does not depend on whether we
/// know the script. Nothing if the number makes no sense.
std::vector<std::string_view> counted_keys(const protocol::request& args);

/// Whether it may be carried out once more if nobody knows whether it has been.
bool may_be_repeated(const command_spec& spec, const protocol::request& args);

/// Whether that is a right number of arguments, the name included.
bool takes(const command_spec& spec, size_t arguments);

// The table's parts, one for each file of proxy/commands/.
std::span<const command_spec> acl_commands();
std::span<const command_spec> connection_commands();
std::span<const command_spec> client_commands();
std::span<const command_spec> introspection_commands();
std::span<const command_spec> key_commands();
std::span<const command_spec> string_commands();
std::span<const command_spec> hash_commands();
std::span<const command_spec> list_commands();
std::span<const command_spec> native_commands();
std::span<const command_spec> native_view_commands();
std::span<const command_spec> observing_commands();
std::span<const command_spec> peer_commands();
std::span<const command_spec> pubsub_commands();
std::span<const command_spec> script_commands();
std::span<const command_spec> transaction_commands();

// Replies that many commands share, in Redis' words.
void reply_syntax_error(protocol::reply_writer& reply);
void reply_not_an_integer(protocol::reply_writer& reply);
void reply_wrong_arity(protocol::reply_writer& reply, std::string_view command);
void reply_unknown_subcommand(protocol::reply_writer& reply, std::string_view command,
                              std::string_view subcommand);
void reply_out_of_memory(protocol::reply_writer& reply);
/// On this core. The rest is for releases and renewals, and for who is connected.
bool memory_is_short();
void reply_lock_error(protocol::reply_writer& reply, shards::lock_error error);

}  // namespace lockkeeper::proxy
