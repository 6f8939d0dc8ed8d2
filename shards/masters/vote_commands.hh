#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/output.hh"
#include "protocol/reply.hh"
#include "shards/core/admission.hh"
#include "shards/core/quorum_round.hh"
#include "shards/core/renewal_round.hh"
#include "shards/masters/master_scripts.hh"

/// The exact words between a proxy and a master, both ways. Lock keys have the names that clients
/// gave them, so that clients which still talk to Redis directly and we exclude each other; what is
/// ours besides is named after the stripe.
namespace lockkeeper::shards {

/// The keys that a stripe has on each of its masters.
struct stripe_keys {
    explicit stripe_keys(std::string_view stripe);

    std::string fence;    ///< the fence table: master_scripts.cc
    std::string horizon;  ///< the mark: lease_horizon.hh
    std::string proxies;  ///< a hash of the proxies' cards: proxy_registry.hh
};

/// SHA-1s of the scripts of one incarnation, as SCRIPT LOAD answered them.
struct loaded_scripts {
    std::array<std::string, master_scripts_count> sha{};

    const std::string& operator[](master_script which) const {
        return sha[static_cast<size_t>(which)];
    }
};

// ---- The vote

/// One master's vote in an atomic step, and no Lua, which costs more than twice as much:
///
///     MULTI
///     HMGET <fence> inc cfg base      is it the admitted incarnation, of our fleet?
///     SET <key> <value> NX PX <ms>    is the key free? then it is ours
///     HINCRBY <fence> <slot> <block>  fences
///     EXEC
///
/// A transaction cannot refuse: a wrong incarnation is only seen in the answer, when the key has
/// been set. Such a vote does not count and is released like any other; and it counts fences also
/// if the key was not free, which leaves a gap.
struct vote_question {
    std::string_view key;
    std::string_view value;  ///< lease_value
    std::chrono::milliseconds length;
    std::string_view fence_key;
    uint32_t slot = 0;
    uint32_t block = 1;
};
inline constexpr uint32_t vote_commands = 5;
void write_vote(protocol::output& out, const vote_question& question);
/// `exec` is the last of the five replies, and says everything: an error before it makes EXEC fail.
vote read_vote(const protocol::reply& exec, const incarnation& admitted, uint32_t block);

/// Without fences, and so without a transaction:
///
///     SET <key> <value> NX PX <ms>
///     HMGET <fence> inc cfg
///
/// In this order. What the second one finds was there when the key was set: a master that forgets
/// its keys forgets that it was admitted as well, and is not admitted again at once.
inline constexpr uint32_t plain_vote_commands = 2;
void write_plain_vote(protocol::output& out, const vote_question& question);
vote read_plain_vote(const protocol::reply& set, const protocol::reply& head,
                     const incarnation& admitted);

/// True if an answer to a vote, a raise, a renewal or a mark says that the master is not the
/// incarnation that was admitted, or does not know our scripts: admission::on_vote_refused.
bool shows_other_incarnation(const protocol::reply& reply, const incarnation& admitted);

// ---- Who has the key?

/// What a vote that was lost asks: PTTL and GET.
inline constexpr uint32_t look_commands = 2;
void write_look(protocol::output& out, std::string_view key);
struct look_answer {
    /// Nothing: the key is free, or holds something else than a string.
    std::optional<std::string> holder{};
    std::optional<std::chrono::milliseconds> remaining{};  ///< nothing: it has no end
    bool free = false;
};
std::optional<look_answer> read_look(const protocol::reply& pttl, const protocol::reply& get);

// ---- Scripts; one command each

/// Values that are ours as well: a few.
using other_values = std::span<const std::string>;

struct raise_question {
    std::string_view key;
    std::string_view value;
    std::string_view fence_key;
    uint32_t slot = 0;
    uint64_t to = 0;
    other_values also{};
};
void write_raise(protocol::output& out, const loaded_scripts& scripts,
                 const raise_question& question);
/// True if the counter is as high as asked for, and the key was ours.
bool read_raise(const protocol::reply& reply);

struct renew_question {
    std::string_view key;
    std::string_view value;
    std::string_view fence_key;
    std::chrono::milliseconds length;
    uint32_t slot = 0;
    uint32_t block = 0;  ///< 0: no fences
    other_values also{};
};
void write_renew(protocol::output& out, const loaded_scripts& scripts,
                 const renew_question& question);
renewal_answer read_renew(const protocol::reply& reply, uint32_t block);

void write_release(protocol::output& out, const loaded_scripts& scripts, std::string_view key,
                   std::string_view value, other_values also = {});
/// True if it was ours until now, false if not; nothing if that is not known.
std::optional<bool> read_release(const protocol::reply& reply);

void write_mark(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                std::chrono::milliseconds length);
bool read_mark(const protocol::reply& reply);

// ---- Admission

/// The head of the fence table, for the handshake: one HMGET.
void write_head(protocol::output& out, const stripe_keys& keys);
/// Fills in what admission wants to know of it. False if the answer makes no sense.
bool read_head(const protocol::reply& reply, handshake_facts& facts);

void write_pend(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                std::string_view nonce, const admission_step& step);
std::optional<pend_answer> read_pend(const protocol::reply& reply);

void write_admit(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                 const admission_step& step);
std::optional<bool> read_admit(const protocol::reply& reply);

void write_horizon(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys);
/// The counters are asked for in chunks, one after the other: a master works on each for about a
/// millisecond, and votes in between. Sent in one write they would be one long step.
inline constexpr uint32_t counter_chunks = 64;
void write_counters(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                    uint32_t chunk);
/// Of either. Silent, if the answer makes no sense.
other_master read_other(const protocol::reply& reply);
/// What two chunks say together: the higher counter, or that the master does not count any more.
other_master joined(const other_master& one, const other_master& other);

}  // namespace lockkeeper::shards
