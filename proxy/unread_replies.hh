#pragma once

#include <seastar/net/api.hh>

namespace lockkeeper::proxy {

/// What has become of the replies that were written to a client. That it has read them nobody can
/// know but itself: who closes a connection with something unread in it resets it.
enum class delivery : uint8_t {
    done,       ///< its machine has acknowledged them, and the connection was not reset
    under_way,  ///< some are not acknowledged yet
    failed,     ///< the connection was reset, or nobody can tell
};

delivery delivery_on(const seastar::connected_socket& socket);

}  // namespace lockkeeper::proxy
