#include "shards/core/expiry_heap.hh"

#include <algorithm>

#include "shards/core/lease_record.hh"
#include "shards/core/lock_entry.hh"
#include "shards/core/lock_line.hh"
#include "shards/core/waiter.hh"

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

template <typename Node>
void due_heap<Node>::put(size_t index, slot what) {
    _slots[index] = what;
    what.node->heap_index = static_cast<uint32_t>(index);
}

template <typename Node>
void due_heap<Node>::rise(size_t index, slot what) {
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

template <typename Node>
void due_heap<Node>::sink(size_t index, slot what) {
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

template <typename Node>
void due_heap<Node>::settle(size_t index, slot what) {
    if (index > 0 && what.when < _slots[parent_of(index)].when) {
        rise(index, what);
    } else {
        sink(index, what);
    }
}

template <typename Node>
void due_heap<Node>::set(Node& node, instant when) {
    if (node.heap_index == not_in_heap) {
        _slots.push_back({when, &node});
        node.expiry = when;
        rise(_slots.size() - 1, {when, &node});
        return;
    }
    node.expiry = when;
    settle(node.heap_index, {when, &node});
}

template <typename Node>
void due_heap<Node>::remove(Node& node) {
    const size_t index = node.heap_index;
    node.heap_index = not_in_heap;
    const slot last = _slots.back();
    _slots.pop_back();
    if (last.node != &node) {
        settle(index, last);
    }
}

template <typename Node>
std::optional<std::string> due_heap<Node>::verify() const {
    for (size_t i = 0; i < _slots.size(); ++i) {
        const slot& here = _slots[i];
        if (here.node->heap_index != i || here.node->expiry != here.when) {
            return "a node disagrees with its heap slot " + std::to_string(i);
        }
        if (i > 0 && here.when < _slots[parent_of(i)].when) {
            return "heap slot " + std::to_string(i) + " ends before its parent";
        }
    }
    return std::nullopt;
}

template class due_heap<holder_list>;
template class due_heap<lease_record>;
template class due_heap<lock_entry>;
template class due_heap<lock_line>;
template class due_heap<waiter>;

}  // namespace lockkeeper::shards
