#include "shards/core/away_grants.hh"

#include "shards/core/planted.hh"

namespace lockkeeper::shards {

void away_grants::granted(std::string_view home, uint32_t database, std::string_view key,
                          std::string_view owner, uint64_t fence) {
    _all.insert_or_assign(name{database, std::string(key), std::string(owner)},
                          record{std::string(home), fence});
}

void away_grants::gone(uint32_t database, std::string_view key, std::string_view owner) {
    if (!_all.empty()) {
        _all.erase(name{database, std::string(key), std::string(owner)});
    }
}

void away_grants::lost(std::string_view home, std::string_view key, std::string_view owner,
                       uint64_t fence) {
    std::erase_if(_all, [&](const auto& each) {
        const auto& [whose, what] = each;
        return whose.key == key && whose.owner == owner && what.home == home && what.fence == fence;
    });
}

std::vector<lost_grant> away_grants::conversation_ended(std::string_view home) {
    std::vector<lost_grant> lost;
    for (auto each = _all.begin(); each != _all.end();) {
        if (each->second.home != home) {
            ++each;
            continue;
        }
        if (!planted(fault::lost_link_untold)) {
            lost.push_back({.database = each->first.database,
                            .key = each->first.key,
                            .owner = each->first.owner,
                            .fence = each->second.fence});
        }
        each = _all.erase(each);
    }
    return lost;
}

}  // namespace lockkeeper::shards
