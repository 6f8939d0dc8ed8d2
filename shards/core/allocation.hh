#pragma once

#include <cstddef>
#include <string>

/// Estimates of what an allocation really takes: a header and steps of 16 bytes, as in usual
/// allocators.
namespace lockkeeper::shards {

constexpr size_t allocation_bytes(size_t asked) {
    return (asked + 8 + 15) & ~size_t{15};
}

/// What a string takes beside itself.
inline size_t string_heap_bytes(const std::string& text) {
    static const size_t inline_capacity = std::string().capacity();
    return text.capacity() > inline_capacity ? allocation_bytes(text.capacity() + 1) : 0;
}

}  // namespace lockkeeper::shards
