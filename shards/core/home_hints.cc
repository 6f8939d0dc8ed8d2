#include "shards/core/home_hints.hh"

#include "shards/core/planted.hh"

namespace lockkeeper::shards {

namespace {

/// Longer than a request may go to and fro, shorter than anybody minds a look that takes a
/// majority.
constexpr std::chrono::seconds doubts_last{1};

}  // namespace

std::string home_hints::name_of(const lock_key& key) {
    std::string name = std::to_string(key.database);
    name += ' ';
    name += key.name;
    return name;
}

void home_hints::note(const lock_key& key, std::string_view proxy, instant until, instant now) {
    if (until <= now) {
        return drop(key);
    }
    if (_hints.size() >= _most && !_hints.contains(name_of(key))) {
        std::erase_if(_hints, [now](const auto& each) { return each.second.until <= now; });
        if (_hints.size() >= _most) {
            _hints.clear();  // they are learnt again one by one, which costs a look each
        }
    }
    _hints.insert_or_assign(name_of(key), hint{std::string(proxy), until});
}

void home_hints::doubt(const lock_key& key, std::string_view proxy, instant now) {
    note(key, proxy, now + doubts_last, now);
    _hints.at(name_of(key)).is_doubt = !planted(fault::hint_kept_when_wrong);
}

std::optional<std::string> home_hints::doubted(const lock_key& key, instant now) const {
    const auto found = _hints.find(name_of(key));
    const bool is_doubt = found != _hints.end() && found->second.is_doubt;
    return is_doubt && found->second.until > now && !planted(fault::lost_vote_names_home)
               ? std::optional(found->second.proxy)
               : std::nullopt;
}

std::optional<std::string> home_hints::find(const lock_key& key, instant now) {
    const auto found = _hints.find(name_of(key));
    if (found == _hints.end()) {
        return std::nullopt;
    }
    if (found->second.until <= now && !planted(fault::hint_outlives_lease)) {
        _hints.erase(found);
        return std::nullopt;
    }
    return found->second.is_doubt ? std::nullopt : std::optional(found->second.proxy);
}

}  // namespace lockkeeper::shards
