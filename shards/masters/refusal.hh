#pragma once

#include <cstdint>

#include "protocol/reply.hh"

namespace lockkeeper::shards {

/// What an error reply of a master means to us.
enum class refusal : uint8_t {
    none,          ///< it is no error
    no_script,     ///< scripts belong to one life of a master: a new handshake is due
    exec_aborted,  ///< a command of a transaction was refused, so none was carried out
    out_of_memory,
    busy,         ///< a script runs for too long
    loading,      ///< after a start, from disk
    read_only,    ///< it has become a replica
    not_writing,  ///< MISCONF, NOREPLICAS: it refuses writes that it could not keep
    no_auth,      ///< we are not, or no longer, logged in
    no_permission,
    moved,  ///< a cluster: it does not own the key
    other,
};

/// Transactions nest errors in their array; this looks at one reply only.
refusal refusal_of(const protocol::reply& reply);

/// Nothing that is sent on this connection can succeed: it is to be made anew.
constexpr bool needs_reconnect(refusal why) {
    return why == refusal::no_auth || why == refusal::read_only;
}

}  // namespace lockkeeper::shards
