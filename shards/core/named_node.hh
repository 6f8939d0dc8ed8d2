#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace lockkeeper::shards {

/// Base of nodes whose name lies behind them, in the same allocation: whoever has found a node has
/// its name in the cache, and short names cost no allocation of their own.
///
/// The last members of a node are nearest to the name. Those that a look-up reads belong there.
template <typename Node>
class named_node {
public:
    struct deleter {
        void operator()(Node* node) const {
            node->~Node();
            ::operator delete(node);
        }
    };
    using owner = std::unique_ptr<Node, deleter>;

protected:
    /// Node has a constructor for these arguments.
    template <typename... Arguments>
    static owner make_named(std::string_view name, Arguments&&... arguments) {
        struct memory_deleter {
            void operator()(void* memory) const { ::operator delete(memory); }
        };
        std::unique_ptr<void, memory_deleter> memory(::operator new(sizeof(Node) + name.size()));
        owner node(new (memory.get()) Node(std::forward<Arguments>(arguments)...));
        memory.release();
        if (!name.empty()) {
            std::memcpy(static_cast<void*>(node.get() + 1), name.data(), name.size());
        }
        return node;
    }

    static std::string_view name_behind(const Node& node, size_t bytes) {
        return {reinterpret_cast<const char*>(&node + 1), bytes};
    }
};

}  // namespace lockkeeper::shards
