#include "shards/core/signal_list.hh"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shards/core/allocation.hh"

namespace lockkeeper::shards {

void signal_list::push(list_end end, std::span<const std::string_view> values) {
    std::vector<std::string> added(values.begin(), values.end());
    size_t bytes = 0;
    for (const auto& each : added) {
        bytes += string_heap_bytes(each);
    }
    if (end == list_end::front) {
        std::ranges::reverse(added);
    }
    const auto at = end == list_end::front ? _elements.begin() : _elements.end();
    _elements.insert(at, std::make_move_iterator(added.begin()),
                     std::make_move_iterator(added.end()));
    _string_bytes += bytes;
}

std::string signal_list::pop(list_end end) {
    const auto at = end == list_end::front ? _elements.begin() : _elements.end() - 1;
    _string_bytes -= string_heap_bytes(*at);
    std::string value = std::move(*at);
    _elements.erase(at);
    return value;
}

size_t signal_list::heap_bytes() const {
    return allocation_bytes(_elements.capacity() * sizeof(std::string)) + _string_bytes;
}

}  // namespace lockkeeper::shards
