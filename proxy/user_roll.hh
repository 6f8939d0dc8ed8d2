#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <seastar/core/future.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/shared_ptr.hh>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/access/user.hh"
#include "proxy/login_failures.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// What all connections of a user do together. The one thing that cores share: a limit that was cut
/// into shares would stop a user whose connections happen to be on one core.
struct user_load {
    std::atomic<uint32_t> connections{0};

    /// One more connection, if there may be `most`; 0 is no bound.
    bool enter(uint32_t most);
    void leave() { connections.fetch_sub(1, std::memory_order_relaxed); }
    /// One more command in this second, if there may be `most`.
    bool take(uint32_t most, uint32_t second);

private:
    std::atomic<uint64_t> _window{0};  ///< the second in the upper half, its commands in the lower
};

/// What the connections of a user have done on one core, for metrics.
struct user_counters {
    uint64_t commands = 0;
    uint64_t error_replies = 0;
    uint64_t denied = 0;        ///< it may not do that
    uint64_t rate_limited = 0;  ///< nor so often
    uint64_t failed_logins = 0;
};

/// A user as the connections of one core see it. Lives for as long as one of them is logged in.
struct identity {
    access::user rights;
    user_load* load;
    user_counters* counted;
};
using identity_ptr = ss::lw_shared_ptr<const identity>;

/// Why somebody was refused, as ACL LOG tells it.
struct denial {
    enum class reason : uint8_t { authentication, command, key, channel };
    reason why;
    bool in_transaction = false;
    std::string object{};  ///< the command, key or channel
    std::string user{};
    std::string client{};  ///< its line of CLIENT LIST
    uint64_t count = 1;
    ss::lowres_clock::time_point at = ss::lowres_clock::now();
};

/// The users, one copy on every core, and whom that core has refused lately.
class user_roll : public ss::peering_sharded_service<user_roll> {
public:
    /// `loads` outlive it; one for each user, in the same order.
    user_roll(std::vector<access::user> all, std::vector<user_load*> loads);

    /// Others from now on. Who is logged in keeps the old rights until told (client::renew_user).
    void replace(std::vector<access::user> all, std::vector<user_load*> loads);

    /// Null if there is none of that name.
    identity_ptr find(std::string_view name) const;
    const identity_ptr& standard() const { return _standard; }
    /// A new connection is the default user's without a word.
    bool standard_is_open() const;
    /// Null if that is no user, not its password, or if the user is off; all three take the same
    /// time.
    identity_ptr authenticate(std::string_view name, std::string_view password) const;
    const std::map<std::string, identity_ptr, std::less<>>& all() const { return _all; }

    void note(denial what);
    const std::deque<denial>& denials() const { return _denials; }
    void forget_denials() { _denials.clear(); }
    login_failures failures{};

    ss::future<> stop() { return ss::make_ready_future<>(); }

private:
    std::map<std::string, identity_ptr, std::less<>> _all;
    /// By name, of all users that there have been: they go on counting if they come back.
    std::map<std::string, std::unique_ptr<user_counters>, std::less<>> _counted;
    identity_ptr _standard;
    std::deque<denial> _denials;  ///< the latest first
};

/// Hands out the loads of users by name, the same one for as long as the process lives: connections
/// keep counting over a reload.
class user_loads {
public:
    std::vector<user_load*> of(const std::vector<access::user>& all);

private:
    std::map<std::string, std::unique_ptr<user_load>, std::less<>> _by_name;
};

}  // namespace lockkeeper::proxy
