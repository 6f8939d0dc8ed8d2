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
    /// env:NAME or file:/path, if the password came from there.
    std::string password_reference{};
    bool tls = false;

    /// Without the password: for logs and for people.
    std::string show() const;
};

/// host:port alone.
std::string show_endpoint(const redis_address& address);

/// A password may be a reference (config/secret.hh), which is read at once.
std::expected<redis_address, std::string> parse_redis_address(std::string_view text);

}  // namespace lockkeeper::config
