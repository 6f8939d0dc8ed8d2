#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::shards {

/// Why a request to a master has no reply. What the master itself says, errors included, is a
/// reply.
enum class master_error : uint8_t {
    unreachable,      ///< there is no connection, or not the one that was asked for
    overloaded,       ///< too much is in flight to this master already
    timed_out,        ///< no reply in time; the master may still carry it out
    connection_lost,  ///< the connection ended before the reply came
    protocol_error,   ///< what came was no reply; the connection has been ended
};

/// Whether the master may have carried the request out, or may do so yet. If not, nothing was sent.
constexpr bool may_have_happened(master_error error) {
    return error != master_error::unreachable && error != master_error::overloaded;
}

constexpr std::string_view to_text(master_error error) {
    switch (error) {
        case master_error::unreachable:
            return "unreachable";
        case master_error::overloaded:
            return "too many requests in flight";
        case master_error::timed_out:
            return "no answer in time";
        case master_error::connection_lost:
            return "connection lost";
        case master_error::protocol_error:
            return "answered nonsense";
    }
    return "unknown";
}

}  // namespace lockkeeper::shards
