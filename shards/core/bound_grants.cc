#include "shards/core/bound_grants.hh"

namespace lockkeeper::shards {

void bound_grants::add(uint64_t client, lock_entry& entry, terms what) {
    _by_client.insert_or_assign(place_of(client, entry), what);
    entry.set(lock_entry::bound);
}

void bound_grants::promise(uint64_t client, lock_entry& entry, instant until) {
    _by_client.at(place_of(client, entry)).not_before = until;
}

bool bound_grants::remove(uint64_t client, lock_entry& entry) {
    return _by_client.erase(place_of(client, entry)) > 0;
}

void bound_grants::remove_database(uint32_t database) {
    std::erase_if(_by_client,
                  [database](const auto& each) { return each.first.database == database; });
}

std::optional<bound_grants::item> bound_grants::take_one(uint64_t client) {
    const auto first = _by_client.lower_bound({.client = client});
    if (first == _by_client.end() || first->first.client != client) {
        return std::nullopt;
    }
    const item taken{first->first.entry, first->second};
    _by_client.erase(first);
    return taken;
}

}  // namespace lockkeeper::shards
