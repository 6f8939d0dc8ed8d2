#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "shards/core/chunked_array.hh"
#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// `heap_index` of a node that is in no heap.
inline constexpr uint32_t not_in_heap = std::numeric_limits<uint32_t>::max();

/// Things that are due some day, the next one on top. A heap of four children a node: a lock set
/// now usually ends later than the others, so a push rarely climbs, and a removal sinks half as
/// deep as with two. Each slot repeats its instant, so that sifting does not visit the nodes. A
/// node in the heap knows its place: `heap_index`, and `expiry` when it is due, belong to the heap.
template <typename Node>
class due_heap {
public:
    bool empty() const { return _slots.size() == 0; }
    size_t size() const { return _slots.size(); }
    /// The next one; the heap must not be empty.
    Node& top() const { return *_slots[0].node; }
    /// When one of them is due, by a number below size(): for a look at some of them.
    instant when(size_t number) const { return _slots[number].when; }

    /// After it the next set() of a node that is not in the heap cannot throw.
    void reserve_one() { _slots.reserve_one(); }
    /// After it the heap takes so many nodes without throwing, until a smaller number is reserved.
    void reserve(size_t nodes) { _slots.reserve(nodes); }
    /// Adds the node, or moves it.
    void set(Node& node, instant when);
    /// The node must be in the heap.
    void remove(Node& node);

    size_t bytes() const { return _slots.bytes(); }
    std::optional<std::string> verify() const;

private:
    struct slot {
        instant when;
        Node* node;
    };

    void put(size_t index, slot what);
    void rise(size_t index, slot what);
    void sink(size_t index, slot what);
    void settle(size_t index, slot what);

    chunked_array<slot> _slots;
};

class holder_list;
class lock_entry;
using expiry_heap = due_heap<lock_entry>;

}  // namespace lockkeeper::shards
