#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "shards/core/chunked_array.hh"
#include "shards/core/clock.hh"
#include "shards/core/lock_entry.hh"

namespace lockkeeper::shards {

/// The entries that end some day, the next one on top. A heap of four children a node: a lock set
/// now usually ends later than the others, so a push rarely climbs, and a removal sinks half as
/// deep as with two. Each slot repeats its instant, so that sifting does not visit the entries. An
/// entry in the heap knows its place.
class expiry_heap {
public:
    bool empty() const { return _slots.size() == 0; }
    size_t size() const { return _slots.size(); }
    /// The next to end; the heap must not be empty.
    lock_entry& top() const { return *_slots[0].entry; }

    /// After it the next set() of an entry that is not in the heap cannot throw.
    void reserve_one() { _slots.reserve_one(); }
    /// Adds the entry, or moves it.
    void set(lock_entry& entry, instant when);
    /// The entry must be in the heap.
    void remove(lock_entry& entry);

    size_t bytes() const { return _slots.bytes(); }
    std::optional<std::string> verify() const;

private:
    struct slot {
        instant when;
        lock_entry* entry;
    };

    void put(size_t index, slot what);
    void rise(size_t index, slot what);
    void sink(size_t index, slot what);
    void settle(size_t index, slot what);

    chunked_array<slot> _slots;
};

}  // namespace lockkeeper::shards
