#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/admission.hh"
#include "shards/core/grant_types.hh"

namespace lockkeeper::shards {
class lock_service;
}

/// Locks as people see them: for LK.TOP and LK.LIST, and for the live page.
namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;

std::string_view name_of(shards::lock_mode mode);
std::string_view name_of(shards::admission::state standing);

/// A lock as a row of a list.
struct lock_row {
    uint32_t database = 0;
    std::string key{};
    std::string owner{};
    std::string_view mode = "exclusive";
    uint64_t fence = 0;
    uint64_t client = 0;
    int64_t ttl = -1;                 ///< milliseconds; -1: none
    std::chrono::nanoseconds held{};  ///< by the present holder
    size_t holders = 0;
    // While somebody is in line; all 0 otherwise.
    size_t waiters = 0;
    size_t polling = 0;
    uint64_t hand_offs = 0;
    std::chrono::nanoseconds waited{};        ///< by those that it was handed on to, together
    uint64_t ended = 0;                       ///< grants
    std::chrono::nanoseconds held_before{};   ///< by these, together
    std::chrono::nanoseconds in_line_for{};   ///< since somebody has been in line
    std::chrono::nanoseconds longest_wait{};  ///< of those who wait still
};

/// On its core.
lock_row look_at(shards::lock_service& core, uint32_t database, std::string_view key,
                 shards::instant now);

/// The locks that most clients are in line for, over all cores; of one database or of all. Looks at
/// the lines a few at a time, however many there are.
ss::future<std::vector<lock_row>> hottest_locks(services& all, std::optional<uint32_t> database,
                                                size_t most);

/// Locks whose name matches, over all cores and databases. `is_complete` if all were looked at:
/// that ends at some point, for a table may be large.
struct found_locks {
    std::vector<lock_row> rows;
    bool is_complete = true;
};
ss::future<found_locks> find_locks(services& all, std::string pattern, size_t most);

}  // namespace lockkeeper::proxy
