#pragma once

#include <cstdint>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <string_view>

namespace lockkeeper::shards {

namespace ss = seastar;

/// Who knows the way to the other proxies, on one core.
class home_directory {
public:
    /// Whether requests can be sent to that proxy now.
    virtual bool is_reachable(std::string_view proxy) const = 0;
    /// Asks all of them which one has the lease of that key, as the masters do not tell. Never
    /// fails, and does not take long.
    virtual ss::future<std::optional<std::string>> ask_who_has(uint32_t database,
                                                               std::string key) const = 0;

protected:
    ~home_directory() = default;
};

}  // namespace lockkeeper::shards
