#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <vector>

#include "proxy/client_faces.hh"
#include "shards/core/slow_log.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;

/// A long wait or hold, as people see it.
struct slow_row {
    shards::slow_event event;
    int64_t unix_ms = 0;
    client_face client{};
    client_face other{};

    /// Over all cores.
    uint64_t id() const;
};

/// The newest first, of all cores.
ss::future<std::vector<slow_row>> slow_events(services& all, size_t most);
ss::future<size_t> count_slow_events(services& all);
ss::future<> forget_slow_events(services& all);

}  // namespace lockkeeper::proxy
