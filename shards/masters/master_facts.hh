#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "protocol/reply.hh"
#include "shards/masters/clock_sample.hh"
#include "shards/masters/command_batch.hh"

namespace lockkeeper::shards {

enum class master_role : uint8_t { unknown, master, replica, sentinel };

/// What a master tells about itself when we connect; admission judges by it. Values that it did not
/// tell are absent, never guessed.
struct master_facts {
    std::string run_id;   ///< of this life of the process; never empty
    std::string version;  ///< as in "7.0.15"
    std::string mode;     ///< "standalone", "cluster" or "sentinel"
    master_role role = master_role::unknown;
    bool loading = false;  ///< still reads its data from disk
    /// It was a replica before, in this life or in its last hour: what it has is what it was sent.
    /// Not all that calls itself Redis tells.
    std::optional<bool> promoted{};

    std::optional<bool> append_only{};
    std::optional<std::string> append_fsync{};  ///< "always", "everysec" or "no"
    std::optional<uint64_t> memory_max{};       ///< bytes; 0: no bound
    std::optional<std::string> eviction{};      ///< maxmemory-policy, as in "noeviction"
    std::optional<std::string> save{};          ///< "" if there are no snapshots
    /// CONFIG GET answered. If not (ACLs, hosted Redis), what is above comes from INFO where INFO
    /// has it, and the rest is absent: "unverified".
    bool config_verified = false;

    clock_sample clock{};
};

/// The questions behind master_facts, TIME excepted: it is asked alone, for its round trip.
command_batch facts_questions();

/// Reads the replies to facts_questions(). An error is a reason for operators: the facts that
/// nothing goes without are missing.
std::expected<master_facts, std::string> read_facts(std::span<const protocol::reply> replies);

/// What operators change while a master runs: role, eviction. A fact that is not told is absent.
command_batch changing_facts_questions();
struct changing_facts {
    master_role role = master_role::unknown;
    std::optional<uint64_t> memory_max{};
    std::optional<std::string> eviction{};
};
changing_facts read_changing_facts(std::span<const protocol::reply> replies);

/// Reads the reply to TIME.
std::optional<std::chrono::microseconds> read_time(const protocol::reply& reply);

}  // namespace lockkeeper::shards
