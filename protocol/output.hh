#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace lockkeeper::protocol {

/// Bytes on their way out: one contiguous block that grows, written by the reply and command
/// writers and carried off by whoever owns the socket. Nothing here knows a limit: the owner looks
/// at size() and stops producing, for only it can refuse work.
class output {
public:
    /// A block that has left: `size` bytes, owned.
    struct chunk {
        std::unique_ptr<char[]> bytes;
        std::size_t size = 0;
        std::string_view view() const { return {bytes.get(), size}; }
    };

    output() = default;
    output(output&& other) noexcept { swap(other); }
    output& operator=(output&& other) noexcept {
        output(std::move(other)).swap(*this);
        return *this;
    }

    std::size_t size() const { return _size; }
    bool empty() const { return _size == 0; }
    std::string_view view() const { return {_block.get(), _size}; }

    /// Moves everything out; no copy. The next write begins a new block.
    chunk take();

    /// Forgets what was written. Keeps the block for the next replies, unless it is a large one: an
    /// idle connection must not sit on the memory of its busiest moment.
    void clear();

    /// Takes back what was written behind the first `size` bytes.
    void truncate(std::size_t size) { _size = size; }

    /// For writers: room for `bytes` at the end, then `commit` the end of what was really written.
    char* room(std::size_t bytes) {
        if (_capacity - _size < bytes) [[unlikely]] {
            grow(bytes);
        }
        return _block.get() + _size;
    }
    void commit(const char* end) { _size = static_cast<std::size_t>(end - _block.get()); }

    void append(std::string_view bytes) {
        char* at = room(bytes.size());
        if (!bytes.empty()) {
            std::memcpy(at, bytes.data(), bytes.size());
        }
        _size += bytes.size();
    }

private:
    static constexpr std::size_t first_block = 512;
    static constexpr std::size_t kept_block_max = 16 * 1024;
    /// Doubling stops here: larger blocks are hard to find in a long-running allocator.
    static constexpr std::size_t doubling_max = 128 * 1024;

    void grow(std::size_t bytes);
    void swap(output& other) noexcept {
        std::swap(_block, other._block);
        std::swap(_size, other._size);
        std::swap(_capacity, other._capacity);
    }

    std::unique_ptr<char[]> _block;
    std::size_t _size = 0;
    std::size_t _capacity = 0;
};

}  // namespace lockkeeper::protocol
