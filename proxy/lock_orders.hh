#pragma once

#include <optional>

#include "protocol/reply_writer.hh"
#include "protocol/request.hh"
#include "shards/lock_order.hh"

/// From the words of a native verb to an order for a lock, and from its answer to a reply.
namespace lockkeeper::proxy {

struct order_limits {
    std::chrono::milliseconds ttl_max;
    std::chrono::milliseconds wait_max;  ///< 0: no bound
    size_t owner_bytes_max;
    bool is_from_proxy = false;  ///< then orders have numbers, and may be parts of larger ones
};

/// The options of LK.ACQUIRE from argument `first` on: TTL, WAIT, SHARED, PERMITS n OF m, PRIORITY.
/// False if they make no sense; then that has been said, in the name of `command`.
bool read_order_options(const protocol::request& args, size_t first, std::string_view command,
                        const order_limits& limits, shards::lock_order& order,
                        protocol::reply_writer& reply);

/// TTL of LK.EXTEND; nothing if it makes no sense, which has been said then.
std::optional<std::chrono::milliseconds> read_ttl(std::string_view text, std::string_view command,
                                                  const order_limits& limits,
                                                  protocol::reply_writer& reply);

bool is_owner_too_long(std::string_view owner, const order_limits& limits,
                       protocol::reply_writer& reply);

/// Whole milliseconds that are left of a grant: -1 without an end.
int64_t told_ttl(shards::instant until, shards::instant now);

/// [fence, ttl, holds]; nil if so little is left that the grant is not worth its name.
void reply_grant(protocol::reply_writer& reply, const shards::grant& given, shards::instant now);

}  // namespace lockkeeper::proxy
