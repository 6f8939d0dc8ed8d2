#pragma once

#include <string_view>

namespace lockkeeper::shards {

/// The part of a key that decides where it lives: what stands between its first `{` and the next
/// `}`, if that is something; otherwise the whole key. Redis Cluster's rule, so keys that clients
/// keep together stay together.
constexpr std::string_view hash_tag(std::string_view key) {
    const size_t open = key.find('{');
    if (open == std::string_view::npos) {
        return key;
    }
    const size_t close = key.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1) {
        return key;
    }
    return key.substr(open + 1, close - open - 1);
}

}  // namespace lockkeeper::shards
