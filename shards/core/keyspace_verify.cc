#include <algorithm>

#include "shards/core/keyspace.hh"

namespace lockkeeper::shards {

std::optional<std::string> keyspace::verify() const {
    std::optional<std::string> broken;
    size_t keys = 0;
    size_t bytes = 0;
    size_t ending = 0;
    uint32_t number = 0;
    uint64_t newest = 0;
    const auto check = [&](const lock_entry& entry) {
        bytes += entry.counted_bytes;
        ending += entry.has_expiry() ? 1 : 0;
        newest = std::max(newest, entry.version);
        if (entry.counted_bytes != entry.footprint()) {
            broken = "the bytes of an entry changed without changed()";
        }
        if (entry.database() != number) {
            broken = "an entry is in the wrong database";
        }
    };
    const auto walk = [&](const content& each) {
        ending = 0;
        for (uint64_t at = 0; at != entry_map::end_of_positions;) {
            at = each.map.visit_bucket(at, check);
        }
        if (auto error = each.map.verify()) {
            broken = error;
        }
    };
    for (const database& each : _databases) {
        if (each.held) {
            walk(*each.held);
            keys += each.held->map.size();
            if (auto error = each.held->heap.verify()) {
                broken = error;
            }
            if (ending != each.held->heap.size()) {
                broken = "the heap does not hold exactly the entries with an expiry";
            }
        }
        if (std::max(each.newest_change, each.newest_flushed) > _version) {
            broken = "a version is newer than the newest";
        }
        ++number;
    }
    for (const auto& each : _flushed) {
        for (uint64_t at = 0; at != entry_map::end_of_positions;) {
            at = each->map.visit_bucket(
                at, [&](const lock_entry& entry) { bytes += entry.counted_bytes; });
        }
    }
    if (keys != _keys || bytes != _entry_bytes || newest > _version) {
        broken = "keys, bytes or versions do not add up";
    }
    return broken;
}

}  // namespace lockkeeper::shards
