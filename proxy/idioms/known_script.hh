#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/idioms/operation.hh"
#include "proxy/idioms/reply_map.hh"

namespace lockkeeper::proxy::idioms {

/// What one element of KEYS or ARGV means. How an operation uses them: operation.hh.
enum class role : uint8_t {
    unused,  ///< passed by the library, read by nobody

    // Keys
    lock,            ///< the key that the operation is about
    channel,         ///< publish here; a key or an argument
    channel_prefix,  ///< publish to `<this>:<owner>`
    fence,           ///< a counter that grows with each grant
    hold_prefix,     ///< of the caller's hold leases
    holds_prefix,    ///< of everybody's hold leases
    latch,           ///< of this request
    leases,          ///< sorted set of permits
    queue,           ///< list of owners who wait
    signal,          ///< list for BLPOP
    waiter,          ///< key of the caller while he waits
    waits,           ///< sorted set of owners who wait

    // Arguments. `_ms` without more words is a duration.
    add_ms,
    allow_new,  ///< "yes", or anything else
    at_ms,      ///< Unix time
    condition,
    deadline_ms,  ///< Unix time
    latch_ms,
    lease_ms,
    limit,
    message,
    never_ms,  ///< Unix time
    now_ms,    ///< Unix time of the client
    owner,
    owner_groups,  ///< for each group of keys a number n, and n owners
    permit_id,     ///< any bytes
    permits,
    publish_command,  ///< PUBLISH or SPUBLISH, in any case
    reentry_error,
    replace,
    signal_ms,  ///< in some old texts a key
    token,
    token_length,
    ttl_ms,
    ttl_s,
    value,
    wait_ms,
    wait_until_ms,  ///< Unix time
    write_owner,
};

/// The roles of KEYS or of ARGV, in order. The last `group` of them may come again and again; 0:
/// they come once.
struct layout {
    static constexpr size_t roles_max = 6;

    std::array<role, roles_max> roles{};
    uint8_t count = 0;
    uint8_t group = 0;

    /// Where the (first) element with this role stands.
    constexpr std::optional<size_t> index_of(role wanted) const {
        for (size_t i = 0; i < count; ++i) {
            if (roles[i] == wanted) {
                return i;
            }
        }
        return std::nullopt;
    }
    constexpr bool has(role wanted) const { return index_of(wanted).has_value(); }
    constexpr bool repeats() const { return group != 0; }
    /// How many times the repeating group comes in a call with `actual` elements.
    constexpr size_t groups_in(size_t actual) const {
        return group == 0 || actual < count ? 0 : (actual - (count - group)) / group;
    }
};

/// In what a script differs from the plain form of its operation: operation.hh.
struct traits {
    bool absent_notifies = false;
    bool adds_lease = false;
    bool all_or_none = false;
    bool empty_ttl_is_none = false;
    bool keeps_longer = false;
    bool last_counts = false;
    bool only_if_present = false;
    bool persists = false;
    bool publishes_amount = false;
    bool readmits = false;
    bool reads_back = false;
    bool rewrites = false;  ///< the value is written again, by SET ... PX
    bool subtracts = false;
    bool ttl_required = false;
    bool wrong_type_is_other = false;  ///< a key of the wrong type is no error, it is not mine

    constexpr bool operator==(const traits&) const = default;
};

/// A script that we can carry out. Immutable, in a table of constants: a pointer to it stays good.
struct known_script {
    operation op;
    reply_map replies;
    traits behaviour;
    layout keys;
    layout arguments;
    std::string_view library;
    std::string_view script;
    std::string_view versions;  ///< in which the text was seen
};

}  // namespace lockkeeper::proxy::idioms
