#include "shards/core/holder_list.hh"

#include <algorithm>
#include <cassert>
#include <utility>

#include "shards/core/allocation.hh"

namespace lockkeeper::shards {

holder_list::holder* holder_list::find(std::string_view owner) {
    const auto found = std::ranges::find(_holders, owner, &holder::owner);
    return found == _holders.end() ? nullptr : &*found;
}

void holder_list::reserve_one() {
    if (_holders.size() == _holders.capacity()) {
        _holders.reserve(std::max<size_t>(4, 2 * _holders.size()));
    }
}

void holder_list::add(holder one) {
    const uint64_t permits = one.permits * static_cast<uint64_t>(one.holds);
    _holders.push_back(std::move(one));
    _permits_taken += permits;
    assert(_mode != lock_mode::permits || _permits_taken <= _of);
}

void holder_list::add_hold(holder& one) {
    ++one.holds;
    _permits_taken += one.permits;
    assert(_mode != lock_mode::permits || _permits_taken <= _of);
}

bool holder_list::drop_hold(holder& one) {
    if (one.holds == 1) {
        remove(one);
        return true;
    }
    --one.holds;
    _permits_taken -= one.permits;
    return false;
}

void holder_list::remove(holder& one) {
    _permits_taken -= one.permits * static_cast<uint64_t>(one.holds);
    _holders.erase(_holders.begin() + (&one - _holders.data()));
}

instant holder_list::first_end() const {
    // Not std::ranges::min, which copies the whole holder.
    const auto first = std::ranges::min_element(_holders, {}, &holder::until);
    return first == _holders.end() ? end_of_time : first->until;
}

instant holder_list::last_end() const {
    const auto last = std::ranges::max_element(_holders, {}, &holder::until);
    return last == _holders.end() ? start_of_time : last->until;
}

size_t holder_list::heap_bytes() const {
    size_t bytes = allocation_bytes(_holders.capacity() * sizeof(holder));
    for (const holder& each : _holders) {
        bytes += string_heap_bytes(each.owner);
    }
    return bytes;
}

}  // namespace lockkeeper::shards
