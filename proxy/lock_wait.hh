#pragma once

#include <seastar/core/future.hh>

#include "shards/lock_order.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;

/// Takes a lock for a client, or waits for it, on whatever core owns it. A wait ends when the
/// client leaves, when somebody unblocks it, and for a parked try when it sends its next command. A
/// grant that the client is not there to hear of is taken back.
ss::future<shards::lock_answer> wait_for_lock(client& who, shards::lock_order order);

/// The connection ends while its command waits: a client that is still there is told if it is we
/// who end it. Nothing else of it is carried out.
void end_wait_for_good(client& who);

/// What LK.ACQUIRE says to such an answer.
void reply_answer(client& who, const shards::lock_answer& answer);

}  // namespace lockkeeper::proxy
