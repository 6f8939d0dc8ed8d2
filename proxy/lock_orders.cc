#include "proxy/lock_orders.hh"

#include <fmt/format.h>
#include <algorithm>

#include <limits>

#include "protocol/text.hh"
#include "proxy/command.hh"

namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using std::chrono::milliseconds;

std::optional<int64_t> read_number(std::string_view text, protocol::reply_writer& reply) {
    const auto number = protocol::parse_integer(text);
    if (!number) {
        reply_not_an_integer(reply);
    }
    return number;
}

bool read_wait(std::string_view text, const order_limits& limits, shards::lock_order& order,
               protocol::reply_writer& reply) {
    const auto number = read_number(text, reply);
    if (!number) {
        return false;
    }
    if (*number < 0) {
        reply.error("ERR timeout is negative");
        return false;
    }
    // Beyond a few centuries an instant cannot tell; that is as good as for ever.
    constexpr int64_t longest = std::numeric_limits<int64_t>::max() / 2'000'000;
    order.wait = milliseconds(std::min(*number, longest));
    if (limits.wait_max.count() > 0 && (*number == 0 || *order.wait > limits.wait_max)) {
        order.wait = limits.wait_max;
    }
    return true;
}

bool read_permits(std::string_view permits, std::string_view of, shards::lock_order& order,
                  protocol::reply_writer& reply) {
    const auto wanted = read_number(permits, reply);
    if (!wanted) {
        return false;
    }
    const auto all = read_number(of, reply);
    if (!all) {
        return false;
    }
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (*wanted < 1 || *all < 1 || *all > most) {
        reply.error("ERR PERMITS and OF must be positive");
        return false;
    }
    if (*wanted > *all) {
        reply.error("ERR PERMITS is above OF: that many can never be granted");
        return false;
    }
    order.mode = shards::lock_mode::permits;
    order.permits = static_cast<uint32_t>(*wanted);
    order.of = static_cast<uint32_t>(*all);
    return true;
}

}  // namespace

std::optional<milliseconds> read_ttl(std::string_view text, std::string_view command,
                                     const order_limits& limits, protocol::reply_writer& reply) {
    const auto number = read_number(text, reply);
    if (!number) {
        return std::nullopt;
    }
    if (*number < 1) {
        reply.error({"ERR invalid expire time in '", command, "' command"});
        return std::nullopt;
    }
    if (*number > limits.ttl_max.count()) {
        reply.error({"ERR invalid expire time in '", command, "' command: at most ",
                     fmt::format("{}", limits.ttl_max.count()), " ms (leases.max_ttl)"});
        return std::nullopt;
    }
    return milliseconds(*number);
}

bool is_owner_too_long(std::string_view owner, const order_limits& limits,
                       protocol::reply_writer& reply) {
    if (owner.size() <= limits.owner_bytes_max) {
        return false;
    }
    reply.error({"ERR OWNERTOOLONG an owner has at most ",
                 fmt::format("{}", limits.owner_bytes_max), " bytes"});
    return true;
}

bool read_order_options(const protocol::request& args, size_t first, std::string_view command,
                        const order_limits& limits, shards::lock_order& order,
                        protocol::reply_writer& reply) {
    bool has_mode = false;
    bool has_priority = false;
    const auto fail = [&reply] {
        reply_syntax_error(reply);
        return false;
    };
    for (size_t i = first; i < args.size(); ++i) {
        const std::string_view word = args[i];
        const size_t left = args.size() - i - 1;
        if (equals_ignoring_case(word, "ttl") && left >= 1 && !order.ttl) {
            order.ttl = read_ttl(args[++i], command, limits, reply);
            if (!order.ttl) {
                return false;
            }
        } else if (equals_ignoring_case(word, "wait") && left >= 1 && !order.wait) {
            if (!read_wait(args[++i], limits, order, reply)) {
                return false;
            }
        } else if (equals_ignoring_case(word, "shared") && !has_mode) {
            has_mode = true;
            order.mode = shards::lock_mode::shared;
        } else if (equals_ignoring_case(word, "permits") && left >= 3 && !has_mode &&
                   equals_ignoring_case(args[i + 2], "of")) {
            has_mode = true;
            if (!read_permits(args[i + 1], args[i + 3], order, reply)) {
                return false;
            }
            i += 3;
        } else if (equals_ignoring_case(word, "priority") && left >= 1 && !has_priority) {
            has_priority = true;
            const auto number = read_number(args[++i], reply);
            if (!number) {
                return false;
            }
            constexpr int64_t most = 1'000'000;
            if (*number < -most || *number > most) {
                reply.error("ERR PRIORITY is not between -1000000 and 1000000");
                return false;
            }
            order.priority = static_cast<int32_t>(*number);
        } else if (limits.is_from_proxy && left >= 1 && order.number.empty() &&
                   !args[i + 1].empty() && word == "ORDER") {
            order.number = args[++i];
        } else if (limits.is_from_proxy && left >= 2 && order.number.empty() &&
                   !args[i + 1].empty() && word == "AGAIN") {
            order.number = args[++i];
            const auto times = read_number(args[++i], reply);
            if (!times) {
                return false;
            }
            order.repeated = static_cast<uint32_t>(std::clamp<int64_t>(*times, 1, 1'000'000));
        } else if (limits.is_from_proxy && word == "COLLECT") {
            order.is_collected = true;
        } else if (limits.is_from_proxy && left >= 2 && word == "CONFIRM") {
            const auto fence = read_number(args[++i], reply);
            if (!fence) {
                return false;
            }
            order.confirms = {.fence = static_cast<uint64_t>(*fence),
                              .how = args[++i] == "HELD" ? shards::collected_as::held_before
                                                         : shards::collected_as::fresh};
        } else {
            return fail();
        }
    }
    return true;
}

int64_t told_ttl(shards::instant until, shards::instant now) {
    if (until == shards::end_of_time) {
        return -1;
    }
    // Rounded down: a promise is never longer than what holds.
    return std::max<int64_t>(0, std::chrono::floor<milliseconds>(until - now).count());
}

void reply_grant(protocol::reply_writer& reply, const shards::grant& given, shards::instant now) {
    if (given.until <= now) {
        return reply.null_array();
    }
    reply.array(3);
    reply.integer(static_cast<int64_t>(given.fence));
    reply.integer(told_ttl(given.until, now));
    reply.integer(given.holds);
}

}  // namespace lockkeeper::proxy
