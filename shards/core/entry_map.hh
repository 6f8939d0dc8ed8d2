#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shards/core/chunked_array.hh"

namespace lockkeeper::shards {

/// Entries by name. Owns them. Linear hashing: an insert adds at most two
/// buckets, each by splitting one other, and an erase takes back at most a few, so the map is
/// always about as large as its content and no call ever rehashes it.
///
/// N buckets, 2^L < N <= 2^(L+1). An entry lies in the bucket that the low L+1 bits of its hash
/// name if there is one, else in the one that the low L bits name:
///
///     hash  ...0101 ---- N = 11, L = 3 ----> bucket 0101 =  5
///     hash  ...1101 ---- no bucket 13  ----> bucket  101 =  5, until bucket 13 comes and takes it
///     along
///
/// The 32 low bits of a hash, read backwards, are its *position*. Every bucket holds a contiguous
/// range of positions, whatever N is; a split halves the range and a merge joins two halves. So a
/// position is a cursor that survives both: what lies behind it has been visited, what lies ahead
/// has not.
template <typename Node>
class node_map {
public:
    static constexpr uint64_t end_of_positions = uint64_t{1} << 32;

    node_map();
    ~node_map();
    node_map(const node_map&) = delete;
    node_map& operator=(const node_map&) = delete;

    size_t size() const { return _size; }
    /// Null if absent.
    Node* find(uint64_t hash, std::string_view name) const;
    /// Ask the processor for the memory that find() will read, without waiting for it: first for
    /// the bucket, and when that is likely to be there, for the first node in it.
    void fetch_bucket(uint64_t hash) const { __builtin_prefetch(&_buckets[bucket_of(hash)]); }
    void fetch_node(uint64_t hash) const {
        if (const Node* const first = _buckets[bucket_of(hash)]) {
            // What a look-up reads lies at the end, and the name behind it.
            const auto end = reinterpret_cast<uintptr_t>(first + 1);
            auto line = (end - Node::hot_bytes) & ~uintptr_t{cache_line - 1};
            for (; line < end + usual_name_bytes; line += cache_line) {
                __builtin_prefetch(reinterpret_cast<const char*>(line));
            }
        }
    }
    /// The name must be absent.
    Node& insert(typename Node::owner entry);
    /// The entry must be in this map.
    typename Node::owner take(Node& entry);
    /// Takes any entry, to empty the map bit by bit. The map must not be empty.
    typename Node::owner take_any();

    /// Visits the entries of the bucket at `position`, from that position on; returns the next
    /// bucket's position, or end_of_positions.
    uint64_t visit_bucket(uint64_t position, const std::function<void(Node&)>& visit) const;

    size_t bytes() const { return _buckets.bytes(); }
    std::optional<std::string> verify() const;

private:
    static constexpr size_t cache_line = 64;
    static constexpr size_t usual_name_bytes = 24;

    size_t bucket_of(uint64_t hash) const {
        const size_t bucket = hash & _mask;
        return bucket < _buckets.size() ? bucket : bucket & (_mask >> 1);
    }
    void resize_mask();
    void add_bucket();
    void drop_bucket();

    chunked_array<Node*> _buckets;
    uint64_t _mask = 0;  ///< the low L+1 bits
    size_t _size = 0;
};

class lock_entry;
/// The entries of one database.
using entry_map = node_map<lock_entry>;

}  // namespace lockkeeper::shards
