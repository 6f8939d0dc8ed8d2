#include "shards/core/entry_map.hh"

#include <bit>
#include <utility>

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

entry_map::entry_map() {
    while (_buckets.size() < buckets_min) {
        _buckets.push_back(nullptr);
    }
    resize_mask();
}

entry_map::~entry_map() {
    for (size_t i = 0; i < _buckets.size(); ++i) {
        for (lock_entry* entry = _buckets[i]; entry != nullptr;) {
            lock_entry::owner(std::exchange(entry, entry->next)).reset();
        }
    }
}

size_t entry_map::bucket_of(uint64_t hash) const {
    const size_t bucket = hash & _mask;
    return bucket < _buckets.size() ? bucket : bucket & (_mask >> 1);
}

void entry_map::resize_mask() {
    _mask = std::bit_ceil(_buckets.size()) - 1;
}

lock_entry* entry_map::find(uint64_t hash, std::string_view name) const {
    lock_entry* entry = _buckets[bucket_of(hash)];
    while (entry != nullptr && (entry->hash() != hash || entry->name() != name)) {
        entry = entry->next;
    }
    return entry;
}

lock_entry& entry_map::insert(lock_entry::owner entry) {
    for (size_t i = 0; i < buckets_per_entry_min; ++i) {
        if (_buckets.size() < buckets_per_entry_min * (_size + 1)) {
            add_bucket();
        }
    }
    lock_entry*& head = _buckets[bucket_of(entry->hash())];
    entry->next = head;
    head = entry.release();
    ++_size;
    return *head;
}

lock_entry::owner entry_map::take(lock_entry& entry) {
    lock_entry** link = &_buckets[bucket_of(entry.hash())];
    while (*link != &entry) {
        link = &(*link)->next;
    }
    *link = std::exchange(entry.next, nullptr);
    --_size;
    while (_buckets.size() > buckets_min && _buckets.size() > buckets_per_entry_max * _size) {
        drop_bucket();
    }
    return lock_entry::owner(&entry);
}

lock_entry::owner entry_map::take_any() {
    while (_buckets.size() > 1 && _buckets.back() == nullptr) {
        _buckets.pop_back();
    }
    resize_mask();
    lock_entry*& head = _buckets.back();
    lock_entry* const entry = head;
    head = std::exchange(entry->next, nullptr);
    --_size;
    return lock_entry::owner(entry);
}

void entry_map::add_bucket() {
    _buckets.push_back(nullptr);
    resize_mask();
    const size_t added = _buckets.size() - 1;
    lock_entry** link = &_buckets[added & (_mask >> 1)];
    while (*link != nullptr) {
        lock_entry* const entry = *link;
        if (bucket_of(entry->hash()) != added) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        entry->next = std::exchange(_buckets[added], entry);
    }
}

void entry_map::drop_bucket() {
    lock_entry* moving = _buckets.back();
    _buckets.pop_back();
    resize_mask();
    while (moving != nullptr) {
        lock_entry*& head = _buckets[bucket_of(moving->hash())];
        lock_entry* const rest = std::exchange(moving->next, head);
        head = std::exchange(moving, rest);
    }
}

uint64_t entry_map::visit_bucket(uint64_t position,
                                 const std::function<void(lock_entry&)>& visit) const {
    const size_t bucket = bucket_of(reverse_bits(static_cast<uint32_t>(position)));
    for (lock_entry* entry = _buckets[bucket]; entry != nullptr; entry = entry->next) {
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

std::optional<std::string> entry_map::verify() const {
    size_t found = 0;
    for (size_t i = 0; i < _buckets.size(); ++i) {
        for (const lock_entry* entry = _buckets[i]; entry != nullptr; entry = entry->next) {
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

}  // namespace lockkeeper::shards
