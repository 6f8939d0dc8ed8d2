#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/redis_address.hh"
#include "config/sha256.hh"

namespace lockkeeper::config {

using std::chrono::milliseconds;

/// Where clients connect.
struct server_options {
    /// Loopback by default: a lock server without a password must not face a network by accident.
    std::string address = "127.0.0.1";
    /// One above Redis' own port, so that both run side by side.
    uint16_t port = 6380;
    /// While the default user needs no password, only this machine may connect: whoever opens the
    /// port to a network must have said who may use it, or that the network itself sees to that.
    bool protected_mode = true;
    /// Connections that the kernel holds until we accept them. A fleet that reconnects at once
    /// after a restart overflows Redis' 511 and then waits for TCP's retry timer.
    uint32_t backlog = 4096;
    /// The version told in HELLO and INFO. Clients choose their lock idiom by it.
    std::string redis_version = "7.2.4";
};

/// Where operators look: metrics, health, and the live page.
struct http_options {
    /// Loopback by default: names of locks and of their owners are nobody else's business.
    std::string address = "127.0.0.1";
    /// 0: none.
    uint16_t port = 9380;
    /// Admins may break locks from the page: users with a password who may run LK.BREAK, and who
    /// give it each time.
    bool break_locks = false;
    /// Somebody has chosen the port: then not to get it is a reason not to start. Not in the file.
    bool is_chosen = false;
};

/// Whether clients show certificates of their own.
enum class client_certificates : uint8_t {
    none,      ///< they are not asked
    optional,  ///< they may, and a wrong one is refused
    required,
};

/// Encrypted connections of clients, on a port of their own. Certificates and keys are PEM files;
/// they are read again when they change.
struct tls_options {
    /// 0: no TLS. server.address holds for it too.
    uint16_t port = 0;
    std::string certificate{};
    std::string key{};
    /// The authorities that sign certificates of clients.
    std::string ca{};
    lockkeeper::config::client_certificates client_certificates =
        lockkeeper::config::client_certificates::none;
    /// Clear text is refused then: the other port is not opened.
    bool only = false;
};

/// A secret by reference: env:NAME or file:/path.
struct secret_option {
    std::string reference{};
    std::string value{};
};

enum class log_level : uint8_t { error, warn, info, debug, trace };

/// How it says it.
enum class log_format : uint8_t {
    text,  ///< lines for people
    json,  ///< an object in each line, for programs that collect logs
};

/// What the log says.
struct log_options {
    /// `debug` tells of every connection, `trace` of every command to a master.
    log_level level = log_level::info;
    log_format format = log_format::text;
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
    /// Wrong passwords that one connection may try before it is closed. 0: no bound.
    uint32_t failed_logins = 5;
    /// Wrong passwords within a minute from one address, on each core; answers to further ones are
    /// late. Right ones are not: others may come from there. 0: no bound.
    uint32_t failed_logins_per_address = 20;
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
    /// Whether grants come with fences. Without them a vote is two commands instead of five, and
    /// every fence is 0.
    bool fences = true;
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
    /// What we show masters that want a certificate of their clients, and its key; PEM files.
    std::string tls_certificate{};
    std::string tls_key{};
    /// For masters whose addresses have no credentials.
    std::string user{};
    secret_option password{};
};

/// The other proxies of the fleet: requests for a key that one of them has the lease of go there.
struct proxy_options {
    /// Proves that a peer belongs to us; the same at all of them. It is never sent.
    std::string secret{};
    /// Where the others reach this proxy; none: at the address of `server`.
    std::optional<redis_address> advertise{};
    /// Only these are talked to. Empty: whoever registers on the masters.
    std::vector<redis_address> peers{};
    /// Links are encrypted, and go to the others' ports for TLS.
    bool tls = false;
    /// The authorities that sign certificates of proxies. Empty: tls.ca, or else the system's.
    std::string tls_ca{};
};

/// How clients are treated that wait by asking again and again.
enum class poller_rule : uint8_t {
    barge,     ///< whoever asks at the right moment wins, until somebody has been starved
    reserve,   ///< a lock that comes free is kept for the one who has asked for it the longest
    park,      ///< the answer is held back for a while, in the queue of all who wait
    adaptive,  ///< ... of those who keep asking; first tries are answered at once
};

/// What the masters hold under the name of a lock.
enum class store_rule : uint8_t {
    lease,  ///< a value of the proxy's own
    token,  ///< the token of the client that has it
};

/// What to do about clients that wait for each other in a circle.
enum class deadlock_rule : uint8_t { report, refuse };

/// How the locks of some keys are treated. The same as shards::lock_policy, in words of the file; a
/// test keeps the defaults of both alike.
struct policy_options {
    /// Patterns as in Redis' KEYS. Of all policies, the first with a pattern that matches decides.
    std::vector<std::string> keys;
    /// Who tries once is answered at once, as by Redis; who keeps asking waits in line between its
    /// tries.
    poller_rule pollers = poller_rule::adaptive;
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
    /// With tokens, clients that still talk to the masters directly see whose a lock is and can
    /// release their own; but each hand-off asks the masters.
    store_rule store = store_rule::lease;
};

/// A word of the file, for what can be judged only later, and where it stands.
struct placed_text {
    std::string text;
    int line = 0;
    int column = 0;
};

struct password {
    /// env:NAME or file:/path; empty if the file has the digest itself.
    std::string reference;
    sha256_digest digest;
};

/// Who may connect and do what. Without any user everybody may do everything, from this machine
/// (server_options::protected_mode); with some, only they may, and `default` only if it is one of
/// them.
struct user_options {
    std::string name;
    /// Any of them lets the user in.
    std::vector<password> passwords{};
    /// In the language of Redis' ACLs, in order.
    std::vector<placed_text> rules{};
    /// Connections at a time, over all cores: one user must not take the places of all. 0: no bound
    /// but limits.clients.
    uint32_t connections = 0;
    /// Commands per second, over all connections and cores; more are refused. 0: no bound.
    uint32_t rate = 0;
    int line = 0;  ///< where it stands in the file
    int column = 0;
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

/// Which waits and holds are written down for LK.SLOWLOG.
struct slow_options {
    /// Longer than a wait should ever be; most are done in milliseconds.
    milliseconds wait{1'000};
    /// A lock held for so long holds up whatever it guards.
    milliseconds hold{10'000};
    /// On each core; the oldest go. A few hundred bytes each.
    uint32_t entries = 128;
};

/// How the process ends.
struct shutdown_options {
    /// What a SIGTERM may take: replies under way are written, then connections are cut.
    milliseconds deadline{1'500};
    /// Between the signal and the end of accepting: the server says that it is not ready, and
    /// serves on until load balancers have seen it.
    milliseconds delay{0};
};

/// Everything that can be configured. Plain values: a copy of it goes to every core.
struct config {
    server_options server;
    http_options http;
    tls_options tls{};
    log_options log{};
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
    /// None: each proxy has queues of its own.
    std::optional<proxy_options> proxies{};
    std::vector<policy_options> policies{};
    std::vector<user_options> users{};
    embedded_options embedded{};
    slow_options slow{};
};

}  // namespace lockkeeper::config
