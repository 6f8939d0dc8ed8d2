#include "bench/load/endpoint.hh"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace lockkeeper::bench {

namespace {

/// Long enough for a server that is busy accepting thousands of us.
constexpr timeval connect_patience{.tv_sec = 10, .tv_usec = 0};

int give_up(int socket) {
    const int why = errno;
    ::close(socket);
    errno = why;
    return -1;
}

}  // namespace

std::expected<endpoint, std::string> parse_endpoint(std::string_view text) {
    const auto refused = [&](const char* why) {
        return std::unexpected("'" + std::string(text) + "' " + why);
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return refused("is not HOST:PORT");
    }
    std::string host(text.substr(0, colon));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.contains(':')) {
        return refused("is not HOST:PORT (an IPv6 address stands in brackets)");
    }
    const std::string port(text.substr(colon + 1));
    std::uint16_t number = 0;
    const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (failure != std::errc{} || end != port.data() + port.size() || number == 0) {
        return refused("has no port between 1 and 65535");
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
        return refused("names no host that can be found");
    }
    endpoint result{.text = std::string(text)};
    result.length = found->ai_addrlen;
    std::memcpy(&result.address, found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    return result;
}

bool is_loopback(const endpoint& where) {
    if (where.address.ss_family == AF_INET) {
        sockaddr_in address{};
        std::memcpy(&address, &where.address, sizeof(address));
        return ntohl(address.sin_addr.s_addr) >> 24 == 127;
    }
    if (where.address.ss_family == AF_INET6) {
        sockaddr_in6 address{};
        std::memcpy(&address, &where.address, sizeof(address));
        return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
    }
    return false;
}

int connect_to(const endpoint& where, unsigned source) {
    const int socket = ::socket(where.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        return -1;
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &connect_patience, sizeof(connect_patience));
    if (source != 0) {
        // The port is chosen at connect(), when the kernel knows which pairs are free.
        ::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
        sockaddr_in local{};
        local.sin_family = AF_INET;
        local.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + source);
        if (::bind(socket, reinterpret_cast<const sockaddr*>(&local), sizeof(local)) != 0) {
            return give_up(socket);
        }
    }
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&where.address), where.length) != 0) {
        return give_up(socket);
    }
    return socket;
}

}  // namespace lockkeeper::bench
