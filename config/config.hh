#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/redis_address.hh"

namespace lockkeeper::config {

using std::chrono::milliseconds;

/// Where clients connect.
struct server_options {
    /// Loopback by default: a lock server without a password must not face a network by accident.
    std::string address = "127.0.0.1";
    /// One above Redis' own port, so that both run side by side.
    uint16_t port = 6380;
    /// Connections that the kernel holds until we accept them. A fleet that reconnects at once
    /// after a restart overflows Redis' 511 and then waits for TCP's retry timer.
    uint32_t backlog = 4096;
    /// The version told in HELLO and INFO. Clients choose their lock idiom by it.
    std::string redis_version = "7.2.4";
};

/// Named bounds for everything that a client can make grow.
struct limit_options {
    /// Connections over all cores; more are told so and closed. Redis' own default.
    uint32_t clients = 10'000;
    /// Arguments of one command. Lock commands have fewer than 20; Redisson renews 100 keys at
    /// once.
    uint32_t arguments = 1'024;
    /// Bytes of one argument. Owner tokens are short; scripts of the largest lock libraries have 4
    /// KiB.
    uint32_t argument_bytes = 64 * 1024;
    /// Bytes read but not yet executed, per connection: an incomplete command, and the commands of
    /// a transaction that waits for its EXEC.
    uint32_t query_bytes = 1024 * 1024;
    /// Bytes that a client has not read yet. Reading from it stops there; messages and the replies
    /// of a transaction, which cannot wait for it, end the connection.
    uint32_t output_bytes = 1024 * 1024;
    /// So many bytes that a client does not take for `output_slow` end the connection too: it has
    /// stopped reading, and what it asked for must not lie here for ever.
    uint32_t output_slow_bytes = 256 * 1024;
    milliseconds output_slow{10'000};
    /// Commands of one connection under way at once; reading from it stops there.
    uint32_t pipelined_commands = 1'024;
    /// Channels and patterns that one connection listens to. Redisson listens to one per lock that
    /// some thread of the process waits for.
    uint32_t subscriptions = 10'000;
    /// Keys that one connection watches. Every one is looked at by EXEC.
    uint32_t watched_keys = 1'024;
    /// How long a first command may take from its first byte to its last: who sends it byte by byte
    /// is no client. A connection that has not said anything yet is merely idle. 0 never closes.
    milliseconds handshake{5'000};
    /// A connection silent for longer is closed; 0 never closes, as in Redis.
    milliseconds idle{0};
    /// Bytes of one key. Names of locks are short; a key that long is a mistake of the caller.
    uint32_t key_bytes = 8 * 1024;
    /// Keys of one core. A held lock takes some 200 bytes, so this many fit into 1 GiB.
    uint32_t locks = 4'000'000;
    /// Clients in all queues of one core.
    uint32_t waiters = 1'000'000;
    /// Keys of one core that somebody waits or polls for. Beyond it nobody can wait for another
    /// key, and who polls for one is not remembered.
    uint32_t queues = 200'000;
    /// The longest wait, whatever the client asked for: a client that is gone without a sign, or a
    /// lock that is never given back, must not keep a place for ever. 0: no bound.
    milliseconds wait{3'600'000};
};

/// A slice of the lock keys and the masters that vote on it. No stripes at all: locks live in this
/// process' own memory.
struct stripe_options {
    /// Part of the hash that places keys (shards/core/stripe_map.hh): a renamed stripe is another
    /// one.
    std::string name;
    /// An odd number, so that there is no tie to break; each a server of its own.
    std::vector<redis_address> masters;
};

/// What to do with a TTL that is longer than the longest lease.
enum class long_ttls : uint8_t {
    renew,   ///< the lease is renewed for as long as the entry lives
    refuse,  ///< the command is refused
};

/// What masters hold for us.
struct lease_options {
    /// How much longer than a grant its lease is, at least: the next grant of the key then needs no
    /// master.
    milliseconds slack{5'000};
    /// The longest lease. A master that has forgotten its keys must not vote for this long, so it
    /// is the price of a crash; one value for the whole fleet.
    milliseconds max_ttl{600'000};
    /// The lease of an entry without a TTL; it is renewed every third of it.
    milliseconds untimed{30'000};
    lockkeeper::config::long_ttls long_ttls = lockkeeper::config::long_ttls::renew;
};

/// When a master may vote that has never been admitted, or whose whole group forgot.
enum class first_admission : uint8_t {
    automatic,  ///< strict for three masters or more, quick for one
    strict,     ///< after the longest lease
    quick,      ///< at once: nobody else uses these masters, and nobody did lately
};

/// When the counters of fences are lost on a majority.
enum class fence_recovery : uint8_t {
    clock,   ///< go on from the wall clock
    strict,  ///< stay closed
};

/// How masters are talked to.
struct master_options {
    /// The longest that a round waits for votes; short TTLs wait for a tenth of themselves.
    milliseconds timeout{250};
    milliseconds connect_timeout{1'000};
    /// An idle connection is pinged this often.
    milliseconds ping{1'000};
    /// A connection that owes an answer for this long is cut: the other side is gone or stuck.
    milliseconds silence{2'000};
    /// The longest pause between two attempts to connect.
    milliseconds reconnect{2'000};
    lockkeeper::config::first_admission admission = lockkeeper::config::first_admission::automatic;
    lockkeeper::config::fence_recovery fence_recovery = lockkeeper::config::fence_recovery::clock;
    /// PEM file of the authorities that sign certificates of masters; the system's if empty.
    std::string tls_ca{};
};

/// How clients are treated that wait by asking again and again.
enum class poller_rule : uint8_t {
    barge,    ///< whoever asks at the right moment wins, until somebody has been starved
    reserve,  ///< a lock that comes free is kept for the one who has asked for it the longest
    park,     ///< the answer is held back for a while, in the queue of all who wait
};

/// What to do about clients that wait for each other in a circle.
enum class deadlock_rule : uint8_t { report, refuse };

/// How the locks of some keys are treated. The same as shards::lock_policy, in words of the file; a
/// test keeps the defaults of both alike.
struct policy_options {
    /// Patterns as in Redis' KEYS. Of all policies, the first with a pattern that matches decides.
    std::vector<std::string> keys;
    /// As Redis has it by default: a try is answered at once.
    poller_rule pollers = poller_rule::barge;
    /// The longest that an answer is held back. Clients give up on a silent connection after a
    /// second or more.
    milliseconds park{50};
    /// A poller that was refused for this long is preferred to those who came later.
    milliseconds starvation_after{1'000};
    /// Locks with a TTL are kept alive for as long as their client is connected. Redis would let
    /// them end, so somebody has to ask for it.
    bool renew = false;
    /// The longest hold of a lock that is kept alive by a connection: a client may hang while its
    /// connection lives. 0: no bound.
    milliseconds max_hold{600'000};
    /// A lock without a TTL is released this long after its connection has ended: its client may
    /// be at work until it notices.
    milliseconds grace{1'000};
    /// A lock that ended without a release cannot be taken for this long.
    milliseconds lock_delay{0};
    /// Clients in the queue of one key.
    uint32_t max_waiters = 10'000;
    deadlock_rule deadlocks = deadlock_rule::report;
};

/// Locks in this process' own memory, that is without stripes: what a restart must not forget.
struct embedded_options {
    /// A folder that keeps fences growing over restarts, whatever the wall clock does; empty: they
    /// go on from the clock.
    std::string state{};
    /// No lock is given for this long after a start: those who held one before it have had it by
    /// then.
    milliseconds start_delay{0};
};

/// How the process ends.
struct shutdown_options {
    /// What a SIGTERM may take: replies under way are written, then connections are cut.
    milliseconds deadline{1'500};
};

/// Everything that can be configured. Plain values: a copy of it goes to every core.
struct config {
    server_options server;
    limit_options limits;
    shutdown_options shutdown;
    /// Where everything goes that is not a lock. None: every key is a lock, and other commands are
    /// unknown.
    std::optional<redis_address> data{};
    /// Patterns of the keys that are locks, as in Redis' KEYS; means something with `data` only.
    std::vector<std::string> locks = {"*"};
    std::vector<stripe_options> stripes{};
    lease_options leases{};
    master_options masters{};
    std::vector<policy_options> policies{};
    embedded_options embedded{};
};

}  // namespace lockkeeper::config
