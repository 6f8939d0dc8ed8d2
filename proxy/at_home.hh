#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/forwarder.hh"
#include "proxy/owned_request.hh"
#include "shards/lock_order.hh"

namespace lockkeeper::proxy {

class client;
struct key_name;

/// What is said when the link broke before the answer, and asking again would not be the same.
inline constexpr std::string_view home_lost =
    "ERR HOMELOST the proxy that has this lock is gone; whether it has done this is not known";

/// The key whose home is that of `key`: what Redisson keeps beside a lock is where the lock is, and
/// bears its name in braces. Both belong to the same core.
std::string_view home_key(std::string_view key);

/// The other proxy that the first of the keys with a home has it at; nothing if one of them is
/// here.
ss::future<std::optional<std::string>> home_of(client& who, std::vector<std::string_view> keys,
                                               uint32_t database);

/// Where several keys are, each of them; what nobody has is nowhere.
struct key_places {
    bool any_here = false;
    std::vector<std::string> homes{};  ///< other proxies, each once
};
/// `anew`: the masters are asked about all that are not here, whatever was known of their homes.
ss::future<key_places> places_of(client& who, std::vector<key_name> keys, bool anew);

/// What to do if nobody knows whether a command was carried out.
shards::forward_journey::if_unknown rule_if_unknown(const owned_request& request);

/// Asks that proxy for something.
using home_question = std::function<ss::future<forward_result>(const std::string& home)>;

/// Asks the home of these keys, wherever their lease goes meanwhile. Nothing: it is ours to do.
/// The trouble, if any, is that nobody knows whether it was done.
ss::future<std::optional<forward_result>> ask_home(client& who, std::vector<std::string> keys,
                                                   shards::forward_journey::if_unknown rule,
                                                   home_question ask);

/// Has the proxy that has the lease of these keys carry the command out, if that is another one
/// than ours. Its answer may be held back there until the client says something else. False: it is
/// ours to do.
ss::future<bool> done_at_home(client& who, const owned_request& request,
                              std::vector<std::string_view> keys);

/// Asks that proxy for a lock, and waits there.
ss::future<std::expected<shards::lock_answer, forward_trouble>> acquire_at_home(
    client& who, std::string home, shards::lock_order order);

/// All of several locks are there: tells the proxy that has given this one. Refused: it is lost.
ss::future<shards::lock_answer> confirm_at_home(client& who, std::string home,
                                                shards::lock_order order);

/// The fence that this order of another proxy's client got when it was first given, if it was
/// granted and the answer got lost with the link. Whoever else has given it is cut off.
ss::future<std::optional<uint64_t>> given_before(client& who, std::string number, uint32_t times);

/// That proxy is not the home of the key, or cannot be reached.
ss::future<> forget_home(client& who, uint32_t database, std::string key, std::string home,
                         forward_trouble why);

}  // namespace lockkeeper::proxy
