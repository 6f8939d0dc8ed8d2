#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <seastar/core/future.hh>
#include <string_view>

#include "proxy/owned_request.hh"
#include "shards/lock_order.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;

/// Whether any try can be held back, now: most servers need not look any closer.
bool may_park_any(client& who);

/// For how long a policy holds back the answer to a refused try for this key, in the queue of all
/// who wait. Nothing if it does not, or if more commands have come already: they would wait behind
/// it. By the policy `auto` those are held back who have been refused twice, for no longer than
/// they have asked already.
std::optional<std::chrono::milliseconds> time_to_park(client& who, std::string_view key,
                                                      std::string_view owner);

/// The time to live that a try asks for: one from now, in this unit. Nothing if it is not one that
/// can be kept in line.
std::optional<std::chrono::milliseconds> ttl_of_try(std::string_view number,
                                                    std::chrono::milliseconds unit);

/// How a try that was held back ended.
enum class parked_end : uint8_t {
    granted,
    refused,   ///< its time is over, or the client has said something else
    answered,  ///< the reply is written, or nobody is there to read it
};

/// Stands in line for a client that does not know it. The request is for the key's home, if that is
/// another proxy.
ss::future<parked_end> park(client& who, const owned_request& request, shards::lock_order order,
                            std::chrono::milliseconds how_long);

/// Carries the request out on the core of its key, as if nothing were ever held back.
ss::future<> run_unparked(client& who, const owned_request& request, std::string_view key);

}  // namespace lockkeeper::proxy
