#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <expected>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <vector>

#include "protocol/reply.hh"
#include "shards/core/clock.hh"
#include "shards/masters/command_batch.hh"
#include "shards/masters/master_error.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Numbers the connections that were made to one master, from 1 on; 0 is none. What was learnt
/// about a master (its run_id above all) is true for one of them only: no process survives its
/// connections' end unnoticed.
struct link_generation {
    uint64_t value = 0;
    friend constexpr auto operator<=>(link_generation, link_generation) = default;
};

struct master_replies {
    std::vector<protocol::reply> replies;  ///< one for each command, in order
    link_generation generation{};
    instant sent{};      ///< not after the first byte left
    instant received{};  ///< not before the last byte came
};

using master_result = std::expected<master_replies, master_error>;

struct send_options {
    /// From now. Afterwards the answer is timed_out, at once.
    std::chrono::milliseconds timeout{};
    /// Only on this connection: if it is gone, the answer is unreachable and nothing is sent.
    std::optional<link_generation> only_on{};
};

/// One Redis as one core sees it: the seam between those who decide and those who transport. Real
/// ones are redis_master; tests have fakes.
///
/// All requests go down one connection in the order of the calls, and the master carries them out
/// in that order. So a release that is sent after a timed-out acquire comes after it, whatever
/// became of the acquire, unless the connection broke in between (generation() tells).
class master {
public:
    virtual ~master() = default;

    /// Sends the commands together. They are copied before the call returns, and leave with
    /// everything else that this turn of the reactor sends. The future never fails. A reply that
    /// comes after the timeout is dropped; a timeout calls nothing off.
    virtual ss::future<master_result> send(const command_batch& commands, send_options how) = 0;

    /// Ends the connection, if there is one, and makes a new one: the master is no longer what it
    /// was when it was greeted. `why` is for operators.
    virtual void reconnect(std::string why) = 0;

    virtual bool is_connected() const = 0;
    /// Of the present connection, or of the last one.
    virtual link_generation generation() const = 0;
    /// Its place in its group.
    virtual uint32_t index() const = 0;
};

/// Who wants to know how a master fares. Called on the core of the master, from within its fibers:
/// must not throw, may send.
class master_events {
public:
    /// A new connection is up and logged in; from now on requests are sent.
    virtual void connected(master& from) = 0;
    /// The connection is gone. What was in flight fails with connection_lost or protocol_error;
    /// those who wait for it learn so after this call.
    virtual void disconnected(master& from, const std::string& why) = 0;
    /// A message that nobody asked for came in between, as of a subscription.
    virtual void pushed(master& from, protocol::reply message) = 0;

protected:
    ~master_events() = default;
};

}  // namespace lockkeeper::shards
