#pragma once

#include <optional>
#include <seastar/core/future.hh>

#include "proxy/router.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

/// What became of a command that was run on the leases that are here.
struct leased_attempt {
    enum class end : uint8_t {
        answered,
        uncovered,  ///< answered, but the answer is not true before the masters hold what is wanted
        not_run,    ///< a lease is missing: nothing has changed, nothing is written
    };
    end how = end::answered;
    std::vector<shards::wanted_lease> wanted{};
    std::optional<shards::polled_try> polled{};
};
/// Runs a command on keys of this core at once, without waiting for a turn: it must be free. The
/// reply goes behind what `bytes` holds already.
leased_attempt try_leased(const command_spec& spec, const key_call& call, protocol::output& bytes);

/// Carries out a batch where masters stand behind the keys. A command that lacks a lease has
/// changed nothing: it is run again when the lease is there. One that has changed the end of a lock
/// is answered when the masters hold it that long. Commands on different keys do not wait for each
/// other; their replies come in order all the same.
ss::future<core_replies> run_leased(shards::lock_service& locks, core_batch batch, turn whose);

}  // namespace lockkeeper::proxy
