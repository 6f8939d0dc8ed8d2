#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shards/core/key_hash.hh"
#include "shards/core/lock_types.hh"

/// Keys and moments for the tests of this folder.
namespace lockkeeper::shards {

/// `name` must outlive the key.
inline lock_key key_of(std::string_view name, uint32_t database = 0) {
    static const key_hasher hasher({.low = 0x0123456789abcdef, .high = 42});
    return {.database = database, .name = name, .hash = hasher.place(name).bucket};
}

/// The machine has run for a while when a test begins.
inline constexpr instant start = instant{} + std::chrono::hours(1);

inline expiry_change ends(instant when) {
    return expiry_change::at(when);
}

}  // namespace lockkeeper::shards
