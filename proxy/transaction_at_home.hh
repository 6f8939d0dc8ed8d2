#pragma once

#include <seastar/core/future.hh>

#include "proxy/owned_request.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;
struct transaction;

/// WATCH, MULTI and EXEC on keys that another proxy has the lease of. The home watches, in its
/// conversation with this client, and gets the whole transaction in one piece.
///
/// A key that leaves its home has changed: what was watched there ends the transaction with nil.

/// Has the home of these keys watch them. False: they are ours to watch.
ss::future<bool> watched_at_home(client& who, const owned_request& watch);

/// Has the home carry the transaction out, if that is another proxy than ours. False: it is ours to
/// do.
ss::future<bool> executed_at_home(client& who, const transaction& all);

}  // namespace lockkeeper::proxy
