#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shards/core/expiry_heap.hh"
#include "shards/core/lease.hh"
#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// The lease of one key, where a lease_keeper finds it.
class lease_record {
public:
    using owner = std::unique_ptr<lease_record>;

    static constexpr size_t hot_bytes = 64;  ///< see node_map::fetch_node()

    lease_record(const lock_key& key, uint64_t record_hash, uint32_t group)
        : database(key.database),
          stripe(group),
          _key_hash(key.hash),
          _hash(record_hash),
          _name(key.name) {}
    virtual ~lease_record() = default;

    std::string_view name() const { return _name; }
    uint64_t hash() const { return _hash; }
    lock_key key() const { return {database, _name, _key_hash}; }

    const uint32_t database;
    const uint32_t stripe;
    lease held{};
    bool is_idle = false;    ///< its entry has gone: to be looked at when the command is over
    bool is_listed = false;  ///< among those to be looked at
    uint32_t pins = 0;       ///< commands that are not over and need it
    bool is_spare = false;   ///< pinned, and nobody has it: to be looked at when the pins are gone
    bool was_awaited = false;                 ///< somebody was in line for it at its last grant
    bool has_peers = false;                   ///< clients of other proxies have asked for it here
    instant began{};                          ///< of the last round
    instant unreachable_since = end_of_time;  ///< no round could begin since
    instant lingers_until = end_of_time;  ///< nobody has it: kept for a moment, see lease_keeper

    lease_record* next = nullptr;       ///< in its bucket; belongs to node_map
    instant expiry{};                   ///< when it has something to do; belongs to the heap
    uint32_t heap_index = not_in_heap;  ///< likewise

private:
    key_hash _key_hash;
    uint64_t _hash;
    std::string _name;
};

}  // namespace lockkeeper::shards
