#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// The elements of one list. Releases push a signal, waiters pop it, so it rarely holds more than
/// one.
class signal_list {
public:
    size_t size() const { return _elements.size(); }
    /// One after the other: pushed to the front, the last value ends up first.
    void push(list_end end, std::span<const std::string_view> values);
    /// The list must not be empty.
    std::string pop(list_end end);

    /// What it takes beside itself, about.
    size_t heap_bytes() const;

private:
    std::vector<std::string> _elements;
    size_t _string_bytes = 0;
};

}  // namespace lockkeeper::shards
