#pragma once

#include "shards/core/lease.hh"
#include "shards/core/lease_rules.hh"
#include "shards/core/lock_types.hh"
#include "shards/core/voter_set.hh"

namespace lockkeeper::shards {

/// The masters of one stripe, as those who keep leases on this core see them.
class lease_voters {
public:
    virtual const lease_rules& rules() const = 0;
    /// Masters whose votes count now.
    virtual voter_set admitted() const = 0;
    /// Sends what a lease asks for. Answers come later, to lease_answers.
    virtual void carry_out(const lease_action& what, const lock_key& key) = 0;

protected:
    ~lease_voters() = default;
};

/// Where their answers go. `key` need not outlive the call.
class lease_answers {
public:
    virtual void voted(const lock_key& key, attempt_id attempt, master_index from,
                       const vote& answer) = 0;
    virtual void raised(const lock_key& key, attempt_id attempt, master_index from, uint64_t to,
                        bool confirmed) = 0;
    virtual void renewed(const lock_key& key, attempt_id attempt, master_index from,
                         const renewal_answer& answer) = 0;
    virtual void looked(const lock_key& key, attempt_id attempt,
                        std::optional<std::string_view> holder,
                        std::optional<std::chrono::nanoseconds> remaining) = 0;
    /// The connection to a master of this stripe broke, or it may not vote any more.
    virtual void link_lost(uint32_t stripe, master_index from) = 0;

protected:
    ~lease_answers() = default;
};

}  // namespace lockkeeper::shards
