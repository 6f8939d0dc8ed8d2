#pragma once

#include <cstdint>
#include <optional>

namespace lockkeeper::shards {

/// JavaScript and Lua count in doubles; no fence goes beyond what these can tell apart.
inline constexpr uint64_t fence_limit = uint64_t{1} << 53;

/// The fences of one core's grants in the embedded store: each number is given once, and each is
/// greater than all before it. `limit` is how far the shell has made sure that a later start will
/// begin above; nothing beyond it is given.
class fence_counter {
public:
    /// Fences begin above `floor`.
    explicit fence_counter(uint64_t floor = 0, uint64_t limit = fence_limit)
        : _last(floor), _limit(limit) {}

    /// Nothing if the limit is reached.
    std::optional<uint64_t> next() {
        if (_last >= _limit) {
            return std::nullopt;
        }
        return ++_last;
    }

    uint64_t last() const { return _last; }
    uint64_t left() const { return _last < _limit ? _limit - _last : 0; }
    /// Only upwards.
    void raise_limit(uint64_t limit) {
        if (limit > _limit) {
            _limit = limit;
        }
    }

private:
    uint64_t _last;
    uint64_t _limit;
};

}  // namespace lockkeeper::shards
