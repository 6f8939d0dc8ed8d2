#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace lockkeeper::bench {

/// An address of a server, ready to connect to.
struct endpoint {
    std::string text;  ///< as the user wrote it
    sockaddr_storage address{};
    socklen_t length = 0;
};

/// "127.0.0.1:6379", "[::1]:6379" or "localhost:6379". The error is a sentence.
std::expected<endpoint, std::string> parse_endpoint(std::string_view text);

/// 127.0.0.0/8 or ::1: nothing that leaves this machine.
bool is_loopback(const endpoint& where);

/// A connected blocking socket without Nagle's delay, or -1 and errno. `source` other than 0 binds
/// it to 127.0.0.`source` first: one address has only some 28,000 ports.
int connect_to(const endpoint& where, unsigned source = 0);

}  // namespace lockkeeper::bench
