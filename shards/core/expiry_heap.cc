#include "shards/core/expiry_heap.hh"

#include <algorithm>

namespace lockkeeper::shards {
namespace {

constexpr size_t children = 4;

constexpr size_t parent_of(size_t index) {
    return (index - 1) / children;
}
constexpr size_t first_child_of(size_t index) {
    return index * children + 1;
}

}  // namespace

void expiry_heap::put(size_t index, slot what) {
    _slots[index] = what;
    what.entry->heap_index = static_cast<uint32_t>(index);
}

void expiry_heap::rise(size_t index, slot what) {
    while (index > 0) {
        const slot above = _slots[parent_of(index)];
        if (above.when <= what.when) {
            break;
        }
        put(index, above);
        index = parent_of(index);
    }
    put(index, what);
}

void expiry_heap::sink(size_t index, slot what) {
    while (first_child_of(index) < _slots.size()) {
        size_t least = first_child_of(index);
        const size_t end = std::min(least + children, _slots.size());
        for (size_t child = least + 1; child < end; ++child) {
            if (_slots[child].when < _slots[least].when) {
                least = child;
            }
        }
        if (what.when <= _slots[least].when) {
            break;
        }
        put(index, _slots[least]);
        index = least;
    }
    put(index, what);
}

void expiry_heap::settle(size_t index, slot what) {
    if (index > 0 && what.when < _slots[parent_of(index)].when) {
        rise(index, what);
    } else {
        sink(index, what);
    }
}

void expiry_heap::set(lock_entry& entry, instant when) {
    if (!entry.has_expiry()) {
        _slots.push_back({when, &entry});
        entry.expiry = when;
        rise(_slots.size() - 1, {when, &entry});
        return;
    }
    entry.expiry = when;
    settle(entry.heap_index, {when, &entry});
}

void expiry_heap::remove(lock_entry& entry) {
    const size_t index = entry.heap_index;
    entry.heap_index = lock_entry::not_in_heap;
    const slot last = _slots.back();
    _slots.pop_back();
    if (last.entry != &entry) {
        settle(index, last);
    }
}

std::optional<std::string> expiry_heap::verify() const {
    for (size_t i = 0; i < _slots.size(); ++i) {
        const slot& here = _slots[i];
        if (here.entry->heap_index != i || here.entry->expiry != here.when) {
            return "an entry disagrees with its heap slot " + std::to_string(i);
        }
        if (i > 0 && here.when < _slots[parent_of(i)].when) {
            return "heap slot " + std::to_string(i) + " ends before its parent";
        }
    }
    return std::nullopt;
}

}  // namespace lockkeeper::shards
