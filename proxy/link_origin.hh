#pragma once

#include <seastar/core/shared_ptr.hh>
#include <string>

namespace lockkeeper::proxy {

/// Where a client of another proxy comes from.
struct link_origin {
    std::string proxy{};
    /// True as soon as the link has ended: then the client may not have left at all.
    seastar::lw_shared_ptr<const bool> link_is_over{};
};

}  // namespace lockkeeper::proxy
