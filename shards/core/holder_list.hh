#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/expiry_heap.hh"
#include "shards/core/grant_types.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::shards {

class lock_entry;

/// The owners of a lock that several may hold: shared, or with permits. Each ends by itself.
class holder_list {
public:
    struct holder {
        std::string owner;
        uint64_t fence = 0;
        uint64_t client = 0;
        instant until = end_of_time;
        instant not_before = start_of_time;  ///< if bound: see bound_grants
        instant since{};
        int64_t holds = 1;
        uint32_t permits = 1;  ///< of each hold
        bool bound = false;
    };

    holder_list(lock_mode mode, uint32_t of) : _mode(mode), _of(of) {}

    lock_mode mode() const { return _mode; }
    uint32_t of() const { return _of; }
    bool empty() const { return _holders.empty(); }
    size_t size() const { return _holders.size(); }
    uint64_t permits_free() const {
        return _of - _permits_taken + (planted(fault::one_permit_too_many) ? 1 : 0);
    }

    holder* find(std::string_view owner);
    /// After it the next add() cannot throw.
    void reserve_one();
    void add(holder one);
    void add_hold(holder& one);
    /// Takes one hold back; true if that was the owner's last one, which is gone then.
    bool drop_hold(holder& one);
    void remove(holder& one);

    /// When the first, and when the last of them ends.
    instant first_end() const;
    instant last_end() const;

    std::vector<holder>& all() { return _holders; }
    const std::vector<holder>& all() const { return _holders; }

    /// What it takes beside itself, about.
    size_t heap_bytes() const;

    // When somebody ends before the others; belongs to the grant_book.
    lock_entry* entry = nullptr;
    instant expiry{};
    uint32_t heap_index = not_in_heap;

private:
    lock_mode _mode;
    uint32_t _of;
    uint64_t _permits_taken = 0;
    std::vector<holder> _holders;
};

}  // namespace lockkeeper::shards
