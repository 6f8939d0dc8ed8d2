#pragma once

#include <string_view>

namespace lockkeeper::shards {

/// Who knows the way to the other proxies, on one core.
class home_directory {
public:
    /// Whether requests can be sent to that proxy now.
    virtual bool is_reachable(std::string_view proxy) const = 0;

protected:
    ~home_directory() = default;
};

}  // namespace lockkeeper::shards
