#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace lockkeeper::shards {

/// A master's place in the list of its group.
using master_index = uint8_t;

/// Every lock asks all masters of its group; more would only make it slower.
inline constexpr size_t masters_max = 9;

/// Some of the masters of one group, by their places in it. Walked in ascending order.
class voter_set {
public:
    class iterator {
    public:
        explicit constexpr iterator(uint16_t left) : _left(left) {}
        constexpr master_index operator*() const {
            return static_cast<master_index>(std::countr_zero(_left));
        }
        constexpr iterator& operator++() {
            _left = static_cast<uint16_t>(_left & (_left - 1));
            return *this;
        }
        friend constexpr bool operator==(iterator, iterator) = default;

    private:
        uint16_t _left;
    };

    constexpr voter_set() = default;
    static constexpr voter_set of(master_index master) {
        assert(master < masters_max);
        return voter_set(static_cast<uint16_t>(1U << master));
    }
    /// The whole group.
    static constexpr voter_set first(size_t count) {
        assert(count <= masters_max);
        return voter_set(static_cast<uint16_t>((1U << count) - 1));
    }

    constexpr bool contains(master_index master) const { return (_bits >> master & 1) != 0; }
    constexpr bool empty() const { return _bits == 0; }
    constexpr size_t size() const { return static_cast<size_t>(std::popcount(_bits)); }
    constexpr uint16_t bits() const { return _bits; }
    constexpr void add(master_index master) { *this = *this | of(master); }
    constexpr void remove(master_index master) { *this = *this - of(master); }

    constexpr iterator begin() const { return iterator(_bits); }
    constexpr iterator end() const { return iterator(0); }

    friend constexpr voter_set operator|(voter_set one, voter_set other) {
        return voter_set(static_cast<uint16_t>(one._bits | other._bits));
    }
    friend constexpr voter_set operator&(voter_set one, voter_set other) {
        return voter_set(static_cast<uint16_t>(one._bits & other._bits));
    }
    friend constexpr voter_set operator-(voter_set one, voter_set other) {
        return voter_set(static_cast<uint16_t>(one._bits & ~other._bits));
    }
    friend constexpr bool operator==(voter_set, voter_set) = default;

private:
    explicit constexpr voter_set(uint16_t bits) : _bits(bits) {}

    uint16_t _bits = 0;
};

}  // namespace lockkeeper::shards
