#include "shards/core/field_map.hh"

#include <algorithm>
#include <utility>

#include "shards/core/allocation.hh"

namespace lockkeeper::shards {

const std::string* field_map::find(std::string_view name) const {
    const auto found = std::ranges::find(_fields, name, &field::name);
    return found == _fields.end() ? nullptr : &found->value;
}

bool field_map::set(std::string_view name, std::string_view value) {
    const auto found = std::ranges::find(_fields, name, &field::name);
    if (found == _fields.end()) {
        const field& added = _fields.emplace_back(std::string(name), std::string(value));
        _string_bytes += string_heap_bytes(added.name) + string_heap_bytes(added.value);
        return true;
    }
    std::string copy(value);
    _string_bytes += string_heap_bytes(copy) - string_heap_bytes(found->value);
    found->value = std::move(copy);
    return false;
}

bool field_map::erase(std::string_view name) {
    const auto found = std::ranges::find(_fields, name, &field::name);
    if (found == _fields.end()) {
        return false;
    }
    _string_bytes -= string_heap_bytes(found->name) + string_heap_bytes(found->value);
    _fields.erase(found);
    return true;
}

std::vector<hash_field> field_map::all() const {
    std::vector<hash_field> views;
    views.reserve(_fields.size());
    for (const auto& each : _fields) {
        views.push_back({each.name, each.value});
    }
    return views;
}

size_t field_map::heap_bytes() const {
    return allocation_bytes(_fields.capacity() * sizeof(field)) + _string_bytes;
}

}  // namespace lockkeeper::shards
