#include "shards/core/fence_slots.hh"

#include "shards/core/key_hash.hh"

namespace lockkeeper::shards {

uint32_t fence_slot(std::string_view key) {
    return static_cast<uint32_t>(siphash<2, 4>(key, hash_seed{}) % fence_slots);
}

}  // namespace lockkeeper::shards
