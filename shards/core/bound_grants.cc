#include "shards/core/bound_grants.hh"

namespace lockkeeper::shards {

void bound_grants::add(uint64_t client, lock_entry& entry, std::chrono::milliseconds after) {
    _by_client.insert_or_assign({client, &entry}, after);
    entry.set(lock_entry::bound);
}

bool bound_grants::remove(uint64_t client, lock_entry& entry) {
    return _by_client.erase({client, &entry}) > 0;
}

void bound_grants::remove_database(uint32_t database) {
    std::erase_if(_by_client, [database](const auto& each) {
        return each.first.second->database() == database;
    });
}

std::vector<bound_grants::item> bound_grants::take(uint64_t client) {
    const auto begin = _by_client.lower_bound({client, nullptr});
    auto end = begin;
    std::vector<item> all;
    for (; end != _by_client.end() && end->first.first == client; ++end) {
        all.push_back({end->first.second, end->second});
    }
    _by_client.erase(begin, end);
    return all;
}

}  // namespace lockkeeper::shards
