#include "protocol/output.hh"

#include <algorithm>

namespace lockkeeper::protocol {

output::chunk output::take() {
    chunk taken{.bytes = std::move(_block), .size = _size};
    _size = 0;
    _capacity = 0;
    return taken;
}

void output::clear() {
    _size = 0;
    if (_capacity > kept_block_max) {
        _block.reset();
        _capacity = 0;
    }
}

void output::grow(std::size_t bytes) {
    const std::size_t needed = _size + bytes;
    const std::size_t step = std::clamp(_capacity, first_block, doubling_max);
    const std::size_t capacity = std::max(needed, _capacity + step);
    auto block = std::make_unique_for_overwrite<char[]>(capacity);
    if (_size != 0) {
        std::memcpy(block.get(), _block.get(), _size);
    }
    _block = std::move(block);
    _capacity = capacity;
}

}  // namespace lockkeeper::protocol
