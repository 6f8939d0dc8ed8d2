#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockkeeper::proxy {

/// What CLIENT TRACKING has chosen. Nothing is ever invalidated: a lock's state is not to be
/// cached, and clients that insist on the mode only want it to be there (docs/compatibility.md).
struct tracking {
    bool on = false;
    bool bcast = false;
    bool optin = false;
    bool optout = false;
    bool noloop = false;
    uint64_t redirect = 0;  ///< a client's id; 0: none
    std::vector<std::string> prefixes{};
    /// CLIENT CACHING holds for the next command that is none of CLIENT: the number of the last
    /// command up to which it does.
    uint64_t caching_at = 0;
};

}  // namespace lockkeeper::proxy
