#pragma once

#include <atomic>
#include <cstdint>

/// How far the end of this process has come. Written by the app and the sessions, read on any core
/// by whoever has to tell a client why its wait is over.
namespace lockkeeper::proxy::draining {

/// Load balancers should send nobody here any more.
inline std::atomic<bool> has_begun{false};

/// Connections that ended while draining and whose locks end with them, after their grace.
inline std::atomic<uint32_t> left_with_locks{0};

}  // namespace lockkeeper::proxy::draining
