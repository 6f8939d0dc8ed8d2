#include "tests/support/free_port.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace lockkeeper::tests {

namespace {

bool is_free(uint16_t port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0;
    ::close(probe);
    return bound;
}

}  // namespace

uint16_t free_port() {
    thread_local std::mt19937 random{std::random_device{}()};
    // Above the blocks of tests/e2e/ports.py, and below what the system gives to outgoing
    // connections.
    std::uniform_int_distribution<uint16_t> ports(30'000, 31'999);
    for (int i = 0; i < 1'000; ++i) {
        const uint16_t port = ports(random);
        if (is_free(port)) {
            return port;
        }
    }
    throw std::runtime_error("no free port found");
}

}  // namespace lockkeeper::tests
