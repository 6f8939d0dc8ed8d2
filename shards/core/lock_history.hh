#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shards/core/clock.hh"
#include "shards/core/keyspace.hh"

namespace lockkeeper::shards {

/// Somebody who has had a lock.
struct past_grant {
    instant granted{};
    instant ended{};
    std::chrono::nanoseconds waited{};  ///< in line for it
    uint64_t fence = 0;
    uint64_t client = 0;
    entry_watcher::reason why{};
};

/// The last few owners of one lock. Has its memory from the beginning: to add one copies a few
/// words.
class lock_history {
public:
    static constexpr size_t kept = 16;
    /// Of an owner's name. Tokens of libraries have 32 to 40 bytes, and whoever looks can tell them
    /// apart by the beginning.
    static constexpr size_t owner_bytes = 40;

    struct row {
        past_grant was{};
        std::array<char, owner_bytes> name{};
        uint32_t name_bytes = 0;

        std::string_view owner() const { return {name.data(), name_bytes}; }
    };

    void add(const past_grant& was, std::string_view owner) {
        row& next = _rows[_added++ % kept];
        next.was = was;
        next.name_bytes = static_cast<uint32_t>(std::min(owner.size(), owner_bytes));
        std::copy_n(owner.data(), next.name_bytes, next.name.data());
    }

    size_t size() const { return std::min(_added, kept); }
    /// From the newest, which is 0.
    const row& operator[](size_t back) const { return _rows[(_added - 1 - back) % kept]; }

private:
    std::array<row, kept> _rows{};
    size_t _added = 0;
};

}  // namespace lockkeeper::shards
