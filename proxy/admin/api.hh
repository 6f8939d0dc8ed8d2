#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <string>

#include "proxy/readiness.hh"
#include "proxy/services.hh"

/// What the live page asks for, as JSON. It only looks: nothing here changes a lock.
namespace lockkeeper::proxy::admin {

namespace ss = seastar;

/// Counters, histograms, the hottest locks, stripes and masters: what the page shows all the time.
ss::future<std::string> live(services& all, const readiness& state);

/// One lock in depth. While somebody looks at it, what happens to it is remembered.
ss::future<std::string> one_lock(services& all, uint32_t database, std::string key);

/// Long waits and holds of late, and habits of clients that somebody should talk about.
ss::future<std::string> notes(services& all);

/// Locks by a part of their name, or by a pattern of Redis.
ss::future<std::string> search(services& all, std::string wanted);

}  // namespace lockkeeper::proxy::admin
