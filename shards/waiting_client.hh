#pragma once

#include <boost/intrusive/set.hpp>
#include <seastar/core/future.hh>

#include "shards/core/waiter.hh"
#include "shards/lock_order.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// A client in line for a lock, and the promise of its answer. Made when it takes its place, gone
/// when the wait has ended.
struct waiting_client : waiter, boost::intrusive::set_base_hook<> {
    ss::promise<lock_answer> done{};
    uint64_t tries_as = 0;  ///< of a parked one: by which it is known when it comes again

    struct client_of {
        using type = uint64_t;
        uint64_t operator()(const waiting_client& who) const { return who.client; }
    };
};

/// By client; one waits for one lock at a time.
using waiting_clients =
    boost::intrusive::multiset<waiting_client,
                               boost::intrusive::key_of_value<waiting_client::client_of>>;

}  // namespace lockkeeper::shards
