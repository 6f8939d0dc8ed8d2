#pragma once

#include <string>
#include <vector>

namespace lockkeeper::shards {

/// What masters hold, or may hold, for a key whose policy is `store: token`. An empty text stands
/// for the lease's own value.
struct stored_value {
    std::string value;              ///< what they are to hold
    std::vector<std::string> also;  ///< what some of them may hold instead, and is ours as well
};

}  // namespace lockkeeper::shards
