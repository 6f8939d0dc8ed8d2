#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shards/core/lease_terms.hh"

namespace lockkeeper::shards {

/// What a lock key holds on the masters while it is under a lease: whose it is, and by which
/// attempt. Not the client's token: a late release by an earlier holder, sent past the proxies,
/// must not free the lock of the next.
///
///     <proxy id>:<32 hexadecimal digits>
struct lease_value {
    std::string_view proxy{};
    attempt_id attempt{};

    friend bool operator==(const lease_value&, const lease_value&) = default;
};

std::string to_text(const lease_value& value);

/// Nothing if it is not one: then the key belongs to a client that talks to Redis directly. The
/// proxy's id is a view into `text`.
std::optional<lease_value> parse_lease_value(std::string_view text);

}  // namespace lockkeeper::shards
