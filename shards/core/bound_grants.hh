#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shards/core/lock_entry.hh"

namespace lockkeeper::shards {

/// Which locks live by which connections. An entry that is in here bears the mark `bound`.
class bound_grants {
public:
    /// `after`: how long the lock goes on when the connection has ended.
    void add(uint64_t client, lock_entry& entry, std::chrono::milliseconds after);
    /// False if it was not there.
    bool remove(uint64_t client, lock_entry& entry);
    void remove_database(uint32_t database);

    struct item {
        lock_entry* entry;
        std::chrono::milliseconds after;
    };
    /// Takes all of a client's out.
    std::vector<item> take(uint64_t client);

    bool contains(uint64_t client, lock_entry& entry) const {
        return _by_client.contains({client, &entry});
    }
    size_t size() const { return _by_client.size(); }

private:
    std::map<std::pair<uint64_t, lock_entry*>, std::chrono::milliseconds> _by_client;
};

}  // namespace lockkeeper::shards
