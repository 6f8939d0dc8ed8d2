#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_writer.hh"
#include "proxy/scripts/call.hh"

namespace lockkeeper::proxy::scripts {

/// Carries out a call, on keys that are all in `c.table`.
answer run(const call& c);

/// Where a library that wants fences gets them: from a counter under a key of its own, or from what
/// every grant has anyway.
enum class fences : uint8_t { beside_locks, of_grants };

/// Those of KEYS under which something is kept. Channels and prefixes only look like keys, and some
/// libraries pass numbers there.
std::vector<std::string_view> stored_keys(const idioms::known_script& script,
                                          std::span<const std::string_view> keys,
                                          fences which = fences::beside_locks);
/// Those that are locks: on a fleet the masters hold them. The others live and die beside them.
std::vector<std::string> lock_keys(const idioms::known_script& script,
                                   std::span<const std::string_view> keys);

/// It tells those who wait for a lock, by a message or an element of a list.
bool wakes_sleepers(const idioms::known_script& script);

/// Renewals treat each key for itself and do nothing to one that is absent. So a call over keys of
/// several cores may be carried out on each of them; what counts for a key is what its own core
/// says in effects::each.
bool is_renewal(idioms::operation op);

/// Allowed in EVAL_RO.
bool only_reads(idioms::operation op);
/// It makes new locks and does nothing else, so it is what to refuse when memory is short.
bool only_acquires(idioms::operation op);

/// A call that wants one lock and is refused it while anybody else has it: what it would store
/// there, and for how long.
struct one_try {
    std::string_view value;
    std::string_view ttl;
    std::chrono::milliseconds unit;
    bool renews;  ///< if the caller has the lock already
};
/// Nothing if the call is none, for example because it says more about the lock than that.
std::optional<one_try> as_try(const call& c);
/// How such a call ends that got the lock.
idioms::result granted_one();

/// The reply of a call that did not fail.
void write_reply(protocol::reply_writer& reply, const idioms::known_script& script,
                 const idioms::result& whole, std::span<const idioms::result> each);

}  // namespace lockkeeper::proxy::scripts
