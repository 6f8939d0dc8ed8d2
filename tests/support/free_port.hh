#pragma once

#include <cstdint>

namespace lockkeeper::tests {

/// A loopback port that nobody listens on. Below the range that outgoing connections take theirs
/// from: there, a connection to a port without a listener may meet itself.
uint16_t free_port();

}  // namespace lockkeeper::tests
