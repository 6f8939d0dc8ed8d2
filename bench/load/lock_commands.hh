#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/load/options.hh"
#include "bench/load/reply_scanner.hh"
#include "protocol/output.hh"

namespace lockkeeper::bench {

/// What one server's reply means for what was asked.
struct vote {
    enum class answer : std::uint8_t { yes, no, error };

    answer what = answer::no;
    std::optional<std::uint64_t> fence{};  ///< of a protocol that has fences
};

/// The lock of one section.
struct lock_name {
    std::string_view key;
    std::string_view token;  ///< of its owner; another one for each section
};

/// The words of one protocol: which command asks for what, and what its reply means. Who asks whom,
/// when and how often is lock_client's. Shared by all threads.
class lock_commands {
public:
    virtual ~lock_commands() = default;

    virtual void write_acquire(protocol::output& out, const lock_name& lock) const = 0;
    virtual void write_renew(protocol::output& out, const lock_name& lock) const = 0;
    virtual void write_release(protocol::output& out, const lock_name& lock) const = 0;

    virtual vote read_acquire(const scanned_reply& reply) const = 0;
    virtual vote read_renew(const scanned_reply& reply) const = 0;
    virtual vote read_release(const scanned_reply& reply) const = 0;

    /// An acquire is answered when the lock is ours, however long that takes.
    virtual bool waits_in_server() const = 0;
};

/// Compare-and-delete and compare-and-extend, in the words that most libraries use.
inline constexpr std::string_view release_script =
    R"(if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end)";
inline constexpr std::string_view renew_script =
    R"(if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end)";

/// What SCRIPT LOAD answered to them.
struct script_hashes {
    std::string release;
    std::string renew;
};

/// The one element of the list that blpop passes around.
inline constexpr std::string_view blpop_token = "token";

std::unique_ptr<const lock_commands> make_lock_commands(protocol_kind protocol,
                                                        std::chrono::milliseconds ttl,
                                                        const script_hashes& scripts);

}  // namespace lockkeeper::bench
