#pragma once

#include <seastar/core/future.hh>
#include <string>
#include <vector>

#include "config/config.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// Meets the masters once as another configuration would, on connections of its own, and tells who
/// would be lost: those that answer this core now and would not do so any more, and why. A master
/// that is down already is lost by nothing that we change.
///
/// A list without entries: all of them are as good as before.
ss::future<std::vector<std::string>> find_lost_masters(const config::config& next,
                                                       const shards::lock_service& here);

}  // namespace lockkeeper::proxy
