#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shards/core/clock.hh"
#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// What stands behind the keys of a table that does not own them alone: in a fleet, the leases that
/// masters hold for this proxy. Asked without suspension; what cannot be answered from memory is
/// noted, and the shell sees to it and runs the command again.
class lease_source {
public:
    /// A new entry that ends at `until` (end_of_time: never), and the token of its owner if it is a
    /// plain lock. Its fence; or nothing, and then the lease is missing, too short, held by
    /// somebody else or in the name of another token, and that has been noted.
    virtual std::optional<uint64_t> fence(const lock_key& key, instant until,
                                          std::string_view token, instant now) = 0;
    /// Whether the masters still hold the key for us at this instant.
    virtual bool is_valid(const lock_key& key, instant now) = 0;
    /// Whether somebody else is known to hold it: there is no need to ask.
    virtual bool is_elsewhere(const lock_key& key, instant now) = 0;
    /// Until when somebody else holds it, if that is known.
    virtual std::optional<instant> elsewhere_until(const lock_key& key) = 0;
    /// An entry ends at another time now. What is not covered yet has been noted: nobody may be
    /// told before it is.
    virtual void needed_until(const lock_key& key, instant until, instant now) = 0;
    /// The entry has gone, or the last who was in line for one. `in_line`: somebody may get the key
    /// next.
    virtual void gone(const lock_key& key, bool in_line, instant now) = 0;

protected:
    ~lease_source() = default;
};

}  // namespace lockkeeper::shards
