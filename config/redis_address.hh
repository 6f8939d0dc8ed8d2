#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace lockkeeper::config {

/// A Redis server that we connect to, as in redis://[user:password@]host[:port][/database];
/// rediss:// for TLS.
struct redis_address {
    std::string host;
    uint16_t port = 6379;
    uint32_t database = 0;
    std::string user{};
    std::string password{};
    bool tls = false;

    /// Without the password: for logs and for people.
    std::string show() const;
};

std::expected<redis_address, std::string> parse_redis_address(std::string_view text);

}  // namespace lockkeeper::config
