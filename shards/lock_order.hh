#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shards/core/grant_types.hh"

namespace lockkeeper::shards {

/// A client's wish for a lock, whole: it travels to the core that owns the key.
struct lock_order {
    uint32_t database = 0;
    std::string key{};
    std::string owner{};
    uint64_t client = 0;
    lock_mode mode = lock_mode::exclusive;
    uint32_t permits = 1;
    uint32_t of = 1;
    /// None: as long as the client's connection lives.
    std::optional<std::chrono::milliseconds> ttl{};
    /// None: now or never. 0: for as long as it takes.
    std::optional<std::chrono::milliseconds> wait{};
    int32_t priority = 0;
    bool is_parked = false;  ///< the client does not know that it waits
};

/// How it ended.
struct lock_answer {
    enum class end : uint8_t {
        granted,
        refused,    ///< held by somebody else, and not waited for, or not any longer
        cancelled,  ///< the client left, or somebody unblocked it
        failed,     ///< `error` tells why
    };

    end how = end::refused;
    grant given{};
    lock_error error{};
};

}  // namespace lockkeeper::shards
