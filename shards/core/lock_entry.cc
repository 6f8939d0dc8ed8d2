#include "shards/core/lock_entry.hh"

#include <utility>

#include "shards/core/allocation.hh"

namespace lockkeeper::shards {

// With a key of 16 bytes it fits into one of the allocator's steps, 128 bytes.
static_assert(sizeof(lock_entry) <= 112);

lock_entry::lock_entry(const lock_key& key, payload what)
    : value(std::move(what)),
      _hash(key.hash.value),
      _database(key.database),
      _name_bytes(static_cast<uint32_t>(key.name.size())) {}

lock_entry::owner lock_entry::make(const lock_key& key, payload value) {
    return make_named(key.name, key, std::move(value));
}

field_map* lock_entry::fields() {
    auto* const held = std::get_if<std::unique_ptr<field_map>>(&value);
    return held ? held->get() : nullptr;
}

signal_list* lock_entry::list() {
    auto* const held = std::get_if<std::unique_ptr<signal_list>>(&value);
    return held ? held->get() : nullptr;
}

holder_list* lock_entry::holders() {
    auto* const held = std::get_if<std::unique_ptr<holder_list>>(&value);
    return held ? held->get() : nullptr;
}

size_t lock_entry::footprint() const {
    const size_t self = allocation_bytes(sizeof(lock_entry) + _name_bytes);
    switch (kind()) {
        case entry_kind::string:
            return self + string_heap_bytes(std::get<std::string>(value));
        case entry_kind::hash:
            return self + allocation_bytes(sizeof(field_map)) +
                   std::get<std::unique_ptr<field_map>>(value)->heap_bytes();
        case entry_kind::list:
            return self + allocation_bytes(sizeof(signal_list)) +
                   std::get<std::unique_ptr<signal_list>>(value)->heap_bytes();
        case entry_kind::holders:
            return self + allocation_bytes(sizeof(holder_list)) +
                   std::get<std::unique_ptr<holder_list>>(value)->heap_bytes();
    }
    return self;
}

}  // namespace lockkeeper::shards
