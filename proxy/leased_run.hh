#pragma once

#include <seastar/core/future.hh>

#include "proxy/router.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

/// Carries out a batch where masters stand behind the keys. A command that lacks a lease has
/// changed nothing: it is run again when the lease is there. One that has changed the end of a lock
/// is answered when the masters hold it that long. Commands on different keys do not wait for each
/// other; their replies come in order all the same.
ss::future<core_replies> run_leased(shards::lock_service& locks, core_batch batch, turn whose);

}  // namespace lockkeeper::proxy
