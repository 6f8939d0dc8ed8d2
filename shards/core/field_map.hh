#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// The fields of one hash, in the order in which they came. A lock has one field per owner, so a
/// search from front to back is the fastest; lock_table_options::members_max bounds it.
class field_map {
public:
    size_t size() const { return _fields.size(); }
    /// Null if there is no such field.
    const std::string* find(std::string_view name) const;
    /// True if the field is new.
    bool set(std::string_view name, std::string_view value);
    bool erase(std::string_view name);
    /// Views into this map.
    std::vector<hash_field> all() const;

    /// What it takes beside itself, about.
    size_t heap_bytes() const;

private:
    struct field {
        std::string name;
        std::string value;
    };

    std::vector<field> _fields;
    size_t _string_bytes = 0;
};

}  // namespace lockkeeper::shards
