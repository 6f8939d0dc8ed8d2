#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace lockkeeper::shards {

/// A stack with random access that never moves its elements: it grows and shrinks by whole chunks
/// at the end, so no push pays for the size of the array and no allocation is large.
template <typename T>
class chunked_array {
public:
    size_t size() const { return _size; }
    T& operator[](size_t index) { return _chunks[index / chunk][index % chunk]; }
    const T& operator[](size_t index) const { return _chunks[index / chunk][index % chunk]; }
    T& back() { return (*this)[_size - 1]; }

    /// After it the next push_back cannot throw.
    void reserve_one() {
        if (_size == _chunks.size() * chunk) {
            _chunks.push_back(std::make_unique<T[]>(chunk));
        }
    }

    /// After it there is room for so many elements, however often the size swings below; until a
    /// smaller number is reserved.
    void reserve(size_t count) {
        while (_chunks.size() * chunk < count) {
            _chunks.push_back(std::make_unique<T[]>(chunk));
        }
        _reserved = count;
        shrink();
    }

    void push_back(T value) {
        reserve_one();
        (*this)[_size] = value;
        ++_size;
    }

    void pop_back() {
        --_size;
        shrink();
    }

    size_t bytes() const { return _chunks.size() * (chunk * sizeof(T) + sizeof(void*)); }

private:
    static constexpr size_t chunk = 2048;

    /// One empty chunk stays, or a size that swings around its edge would allocate each time.
    void shrink() {
        while (std::max(_size, _reserved) + 2 * chunk <= _chunks.size() * chunk) {
            _chunks.pop_back();
        }
    }

    std::vector<std::unique_ptr<T[]>> _chunks;
    size_t _size = 0;
    size_t _reserved = 0;
};

}  // namespace lockkeeper::shards
