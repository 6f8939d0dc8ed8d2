#pragma once

#include <seastar/net/api.hh>

namespace lockkeeper::proxy {

/// What has become of the replies that were written to a client. That it has read them nobody can
/// know but itself; that its machine has them is as much as can be known. A reset says no more:
/// some libraries close every connection with one.
enum class delivery : uint8_t {
    done,       ///< its machine has acknowledged them
    under_way,  ///< some are not acknowledged yet
    failed,     ///< some never will be, or nobody can tell
};

delivery delivery_on(const seastar::connected_socket& socket);

}  // namespace lockkeeper::proxy
