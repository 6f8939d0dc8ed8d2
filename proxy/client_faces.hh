#pragma once

#include <cstdint>
#include <map>
#include <seastar/core/future.hh>
#include <string>
#include <vector>

namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;

/// What people know a connection by.
struct client_face {
    std::string name;     ///< as CLIENT SETNAME gave it
    std::string address;  ///< where it comes from
    std::string library;
};

/// Those of these connections that are still there, on whatever core.
ss::future<std::map<uint64_t, client_face>> faces_of(services& all, std::vector<uint64_t> ids);

}  // namespace lockkeeper::proxy
