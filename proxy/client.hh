#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <seastar/core/abort_source.hh>
#include <seastar/core/lowres_clock.hh>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/output.hh"
#include "protocol/reply.hh"
#include "protocol/reply_writer.hh"
#include "proxy/owned_request.hh"
#include "proxy/pubsub.hh"
#include "proxy/tracking.hh"
#include "proxy/user_roll.hh"
#include "shards/core/away_grants.hh"
#include "shards/core/grant_types.hh"
#include "shards/lock_order.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;
struct command_spec;
class forwarder;
class link_callee;
class upstream;

/// A transaction between MULTI and EXEC.
struct transaction {
    struct queued {
        const command_spec* spec;  ///< null: one that only the upstream knows
        owned_request request;
        bool for_upstream = false;
    };
    std::vector<queued> commands;
    size_t bytes = 0;     ///< that the commands take here, about
    bool broken = false;  ///< a command was refused while queueing: EXEC answers EXECABORT
};

/// A key under WATCH, as it was then.
struct watched_key {
    uint32_t database;
    std::string name;
    shards::watch_mark mark;
};

struct key_name {
    uint32_t database;
    std::string name;

    friend bool operator==(const key_name&, const key_name&) = default;
};

/// Keys that another proxy watches for this client, in one conversation with it.
struct watch_away {
    std::string home;
    uint64_t conversation;  ///< 0: it has ended, and nobody knows whether they changed
    std::vector<key_name> keys;
};

enum class reply_mode : uint8_t {
    on,
    off,
    skip_next,  ///< the next command gets no reply
    skipping,   ///< this one gets none
};

/// The one reason of client::overstays() that is nobody's fault.
inline constexpr std::string_view is_idle = "is idle";

/// What a connection has told us about itself, and what commands may do to it. Lives on the
/// connection's core.
class client : public subscriber {
public:
    // Who it is.
    uint64_t id = 0;
    std::string name{};
    std::string library_name{};
    std::string library_version{};
    std::string peer{};
    std::string local{};
    ss::lowres_clock::time_point connected_at = ss::lowres_clock::now();
    ss::lowres_clock::time_point last_heard = ss::lowres_clock::now();
    ss::lowres_clock::time_point first_heard{};  ///< the epoch: nothing yet
    std::string_view last_command = "NULL";      ///< a command table's name; good for ever
    uint64_t commands_executed = 0;

    // What it may do.
    identity_ptr user;       ///< the default user's until it has logged in; never null
    bool logged_in = false;  ///< or the default user needs no password
    /// May do everything and counts against no limit: nothing of its commands needs to be checked.
    bool free_hand = false;
    uint32_t failed_logins = 0;

    // What it has chosen.
    uint32_t database = 0;
    reply_mode replies = reply_mode::on;
    bool no_evict = false;
    bool no_touch = false;
    tracking tracked{};
    std::optional<transaction> multi{};
    std::vector<watched_key> watched{};
    std::optional<watch_away> watched_away{};
    bool watches_apart = false;  ///< keys at different proxies, which no EXEC can be about
    std::array<std::set<std::string, std::less<>>, channel_kinds> channels{};

    /// Its own connection to the upstream for data; null until open_upstream().
    std::unique_ptr<upstream> data;
    bool watches_upstream = false;

    /// Its conversations with other proxies; null until homes().
    std::unique_ptr<forwarder> at_homes;
    forwarder& homes();
    /// The proxy that it is really a client of; empty: ours. What it asks for is done here or not
    /// at all, never sent on.
    std::string from_proxy{};
    /// A proxy that says who it is; null for clients.
    std::unique_ptr<link_callee> calling;
    /// Nobody between it and us can read along.
    bool is_encrypted = false;
    /// It has: what follows are conversations, not commands.
    bool is_link = false;
    shards::order_route route() const;
    /// The last order of a client of another proxy, until that says something else.
    struct last_order {
        std::string number{};
        uint64_t fence = 0;  ///< 0: not granted
        uint64_t at = 0;     ///< which command it was
        uint32_t repeated = 0;
    };
    last_order order{};
    /// Its locks at other proxies that live by its connection here.
    shards::away_grants away{};

    // What happens to it.
    bool closing = false;      ///< after the reply under way
    bool blocked = false;      ///< in a command that waits
    bool holds_turns = false;  ///< in a transaction that has the turns of all its cores
    /// A reply is being put together over several turns of the reactor: messages wait until it is
    /// whole.
    bool in_reply = false;
    /// Messages that came before that reply are in `output` still, and nobody is about to write
    /// them.
    bool messages_due = false;
    bool was_unblocked = false;  ///< somebody has ended the wait under way
    bool unblocked_with_error = false;
    bool lives_with_locks = false;  ///< some locks may end with this connection
    bool has_more = false;          ///< bytes of further commands have come with the present one
    size_t unexecuted = 0;          ///< bytes of a command whose rest has not come yet
    /// Replies that the socket has not taken yet, and since when.
    size_t being_written = 0;
    ss::lowres_clock::time_point write_began{};
    /// Fires when the peer has hung up or somebody cuts the connection: waits end.
    ss::abort_source gone{};

    services& all;

    /// Replies in the order of the commands, whole ones only: a message may be put between any two.
    protocol::output output{};
    protocol::reply_writer reply{output};

    explicit client(services& shared);
    virtual ~client();

    /// Logs in as the user; false, and as before, if it has as many connections as it may.
    bool become(identity_ptr who);
    /// As the default user, or nobody yet where that one needs a password. False as above.
    bool become_standard();
    /// The users have changed: the same one with its new rights. Who has lost the user, or a
    /// channel that it listens to, is cut.
    void renew_user();

    /// Makes sure that there is a `data`; it connects with its first command.
    void open_upstream();

    size_t subscriptions() const;
    /// Only messages and a few commands pass a RESP2 connection with subscriptions.
    bool only_listens() const {
        return subscriptions() > 0 && reply.spoken() == protocol::version::resp2;
    }
    void unsubscribe_all();
    /// As a new connection, but for its protocol version: RESET.
    void reset();

    void deliver(const message& what) override;
    std::string_view address() const override {
        return std::string_view(peer).substr(0, peer.rfind(':'));
    }
    /// A message of the upstream, as it came.
    void relay(const protocol::reply& what);
    /// A lock of this client's has ended before its time. RESP2 has no words for it.
    void tell_lost(const shards::lost_grant& what);
    /// The reply under way is whole, or has not begun yet and may take long: in_reply ends, and
    /// messages that came meanwhile follow.
    void end_reply();

    /// Why a limit on time ends this connection now; nothing if it may go on.
    std::optional<std::string_view> overstays(ss::lowres_clock::time_point now) const;

    /// Ends the connection now.
    virtual void cut() = 0;
    /// Calls back once when the client has sent something more, or has left; at once if it has.
    virtual void when_heard(std::function<void()> call) = 0;
    /// It has just been given this lock: if it says nothing more it may not know, and send the same
    /// again over another connection.
    virtual void took_with_last_words(std::string_view key) = 0;
    /// The same for breaking a limit, which an operator may want to know.
    virtual void give_up(std::string_view why) = 0;

protected:
    /// `logged_in` may have changed.
    virtual void login_changed() = 0;
    /// `output` has grown out of turn.
    virtual void wake_writer() = 0;

private:
    void hold_or_wake();
    void leave_user();
    void adopt(identity_ptr who, bool is_known);
    bool may_keep_listening() const;

    protocol::output _held_messages{};
};

}  // namespace lockkeeper::proxy
