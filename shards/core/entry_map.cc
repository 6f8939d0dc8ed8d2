#include "shards/core/entry_map.hh"

#include <bit>
#include <utility>

#include "shards/core/lease_record.hh"
#include "shards/core/lock_entry.hh"
#include "shards/core/lock_line.hh"

namespace lockkeeper::shards {
namespace {

constexpr size_t buckets_min = 16;

/// In a large table each step along a chain is a cache miss, so chains are kept short. It shrinks
/// later than it grows: a size that swings must not split and merge all the time.
constexpr size_t buckets_per_entry_min = 2;
constexpr size_t buckets_per_entry_max = 4;

uint32_t reverse_bits(uint32_t x) {
    x = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1);
    x = ((x >> 2) & 0x33333333) | ((x & 0x33333333) << 2);
    x = ((x >> 4) & 0x0f0f0f0f) | ((x & 0x0f0f0f0f) << 4);
    return std::byteswap(x);
}

uint64_t position_of(uint64_t hash) {
    return reverse_bits(static_cast<uint32_t>(hash));
}

}  // namespace

template <typename Node>
node_map<Node>::node_map() {
    while (_buckets.size() < buckets_min) {
        _buckets.push_back(nullptr);
    }
    resize_mask();
}

template <typename Node>
node_map<Node>::~node_map() {
    for (size_t i = 0; i < _buckets.size(); ++i) {
        for (Node* entry = _buckets[i]; entry != nullptr;) {
            typename Node::owner(std::exchange(entry, entry->next)).reset();
        }
    }
}

template <typename Node>
void node_map<Node>::resize_mask() {
    _mask = std::bit_ceil(_buckets.size()) - 1;
}

template <typename Node>
Node* node_map<Node>::find(uint64_t hash, std::string_view name) const {
    Node* entry = _buckets[bucket_of(hash)];
    while (entry != nullptr && (entry->hash() != hash || entry->name() != name)) {
        entry = entry->next;
    }
    return entry;
}

template <typename Node>
Node& node_map<Node>::insert(typename Node::owner entry) {
    for (size_t i = 0; i < buckets_per_entry_min; ++i) {
        if (_buckets.size() < buckets_per_entry_min * (_size + 1)) {
            add_bucket();
        }
    }
    Node*& head = _buckets[bucket_of(entry->hash())];
    entry->next = head;
    head = entry.release();
    ++_size;
    return *head;
}

template <typename Node>
typename Node::owner node_map<Node>::take(Node& entry) {
    Node** link = &_buckets[bucket_of(entry.hash())];
    while (*link != &entry) {
        link = &(*link)->next;
    }
    *link = std::exchange(entry.next, nullptr);
    --_size;
    while (_buckets.size() > buckets_min && _buckets.size() > buckets_per_entry_max * _size) {
        drop_bucket();
    }
    return typename Node::owner(&entry);
}

template <typename Node>
typename Node::owner node_map<Node>::take_any() {
    while (_buckets.size() > 1 && _buckets.back() == nullptr) {
        _buckets.pop_back();
    }
    resize_mask();
    Node*& head = _buckets.back();
    Node* const entry = head;
    head = std::exchange(entry->next, nullptr);
    --_size;
    return typename Node::owner(entry);
}

template <typename Node>
void node_map<Node>::add_bucket() {
    _buckets.push_back(nullptr);
    resize_mask();
    const size_t added = _buckets.size() - 1;
    Node** link = &_buckets[added & (_mask >> 1)];
    while (*link != nullptr) {
        Node* const entry = *link;
        if (bucket_of(entry->hash()) != added) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        entry->next = std::exchange(_buckets[added], entry);
    }
}

template <typename Node>
void node_map<Node>::drop_bucket() {
    Node* moving = _buckets.back();
    _buckets.pop_back();
    resize_mask();
    while (moving != nullptr) {
        Node*& head = _buckets[bucket_of(moving->hash())];
        Node* const rest = std::exchange(moving->next, head);
        head = std::exchange(moving, rest);
    }
}

template <typename Node>
uint64_t node_map<Node>::visit_bucket(uint64_t position,
                                      const std::function<void(Node&)>& visit) const {
    const size_t bucket = bucket_of(reverse_bits(static_cast<uint32_t>(position)));
    for (Node* entry = _buckets[bucket]; entry != nullptr; entry = entry->next) {
        if (position_of(entry->hash()) >= position) {
            visit(*entry);
        }
    }
    // A bucket that has been split, and its other half, are named by one bit more than one still
    // whole.
    const bool split = (bucket | (_mask ^ (_mask >> 1))) < _buckets.size();
    const int bits = std::popcount(_mask) - (split ? 0 : 1);
    const uint64_t range = end_of_positions >> bits;
    return (position & ~(range - 1)) + range;
}

template <typename Node>
std::optional<std::string> node_map<Node>::verify() const {
    size_t found = 0;
    for (size_t i = 0; i < _buckets.size(); ++i) {
        for (const Node* entry = _buckets[i]; entry != nullptr; entry = entry->next) {
            ++found;
            if (bucket_of(entry->hash()) != i) {
                return "an entry is in the wrong bucket " + std::to_string(i);
            }
            if (find(entry->hash(), entry->name()) != entry) {
                return "a name is there twice";
            }
        }
    }
    if (found != _size) {
        return "counted " + std::to_string(_size) + " entries, found " + std::to_string(found);
    }
    if (_mask != std::bit_ceil(_buckets.size()) - 1) {
        return "the mask does not fit the number of buckets";
    }
    return std::nullopt;
}

template class node_map<lease_record>;
template class node_map<lock_entry>;
template class node_map<lock_line>;

}  // namespace lockkeeper::shards
