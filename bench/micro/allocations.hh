#pragma once

#include <cstdint>

namespace lockkeeper::bench {

/// How often this process has asked for memory so far, by `new` of any form. Linking this in
/// replaces `new`, so it is for programs that measure only, and for those of one thread.
std::uint64_t allocations();

}  // namespace lockkeeper::bench
