#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::shards {

/// What every proxy of a fleet must have in common so that their locks exclude each other: which
/// masters vote on which keys, how long a lease can be, and how long a round can last. It is
/// written on every master, and a vote of a master with another one does not count.
struct fleet_shape {
    struct stripe {
        std::string name;
        std::vector<std::string> masters;  ///< host:port/database, without passwords
    };

    std::vector<stripe> stripes;
    std::chrono::milliseconds max_ttl{};
    std::chrono::milliseconds round_timeout{};
};

/// 32 hexadecimal digits: SipHash-2-4 under the key (0, 0) and under (1, 0) of a text that has all
/// of it, in an order that does not depend on the order in the file.
std::string fleet_fingerprint(const fleet_shape& shape);

}  // namespace lockkeeper::shards
