#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockkeeper::sim {

/// 128 bits that stand for a state. Two of some millions of states share one with a probability of
/// less than 10^-24.
class state_digest {
public:
    void operator()(uint64_t word) {
        _low = mix(_low ^ word);
        _high = mix(_high + word * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019);
    }
    uint64_t low() const { return _low; }
    uint64_t high() const { return _high; }

private:
    static uint64_t mix(uint64_t x) {
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93;
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93;
        x ^= x >> 32;
        return x;
    }

    uint64_t _low = 0x243f6a8885a308d3;
    uint64_t _high = 0x13198a2e03707344;
};

/// Which states a search has been to.
class seen_states {
public:
    seen_states() : _table(1 << 16) {}

    /// True if it is new.
    bool insert(const state_digest& state) {
        if (_count * 2 > _table.size()) {
            grow();
        }
        return place(_table, {state.low() | 1, state.high()}) && ++_count > 0;
    }
    size_t size() const { return _count; }

private:
    struct cell {
        uint64_t low = 0;  ///< 0: empty
        uint64_t high = 0;
    };

    static bool place(std::vector<cell>& table, cell wanted) {
        size_t at = wanted.high & (table.size() - 1);
        while (table[at].low != 0) {
            if (table[at].low == wanted.low && table[at].high == wanted.high) {
                return false;
            }
            at = (at + 1) & (table.size() - 1);
        }
        table[at] = wanted;
        return true;
    }

    void grow() {
        std::vector<cell> larger(_table.size() * 4);
        for (const cell& old : _table) {
            if (old.low != 0) {
                place(larger, old);
            }
        }
        _table = std::move(larger);
    }

    std::vector<cell> _table;
    size_t _count = 0;
};

}  // namespace lockkeeper::sim
