#pragma once

#include <cstddef>
#include <seastar/core/circular_buffer.hh>
#include <string_view>
#include <utility>

#include "protocol/output.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Bytes that wait to be written to a master. They are kept in blocks, because a master that does
/// not read must not make us look for one large piece of memory. One written block is kept for the
/// next bytes, so that a busy connection allocates nothing.
class send_queue {
public:
    bool empty() const { return _blocks.empty(); }

    void append(std::string_view bytes) {
        if (_blocks.empty() || _blocks.back().size() + bytes.size() > block_bytes) {
            _blocks.push_back(std::exchange(_spare, {}));
        }
        _blocks.back().append(bytes);
    }

    protocol::output take() {
        protocol::output block = std::move(_blocks.front());
        _blocks.pop_front();
        return block;
    }

    void give_back(protocol::output block) {
        block.clear();
        _spare = std::move(block);
    }

    void clear() { _blocks.clear(); }

private:
    /// Also the most that one write sends.
    static constexpr std::size_t block_bytes = 64 * 1024;

    ss::circular_buffer<protocol::output> _blocks;
    protocol::output _spare;
};

}  // namespace lockkeeper::shards
