#include "shards/core/held_back_tries.hh"

#include <chrono>
#include <new>

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

/// Most libraries pause for 10 to 250 ms. Who does not come for this long has given up.
constexpr auto pause_max = 5s;

}  // namespace

void held_back_tries::note(uint64_t who, instant came, instant now) {
    if (now - _swept >= pause_max) {
        sweep(now);
    }
    if (_tries.size() >= _most) {
        return;
    }
    try {
        _tries.insert_or_assign(who, record{.came = came, .last = now});
    } catch (const std::bad_alloc&) {
        // A place is a courtesy: it begins anew.
    }
}

std::optional<instant> held_back_tries::take(uint64_t who, instant now) {
    const auto known = _tries.find(who);
    if (known == _tries.end()) {
        return std::nullopt;
    }
    const record its = known->second;
    _tries.erase(known);
    return now - its.last <= pause_max ? std::optional(its.came) : std::nullopt;
}

void held_back_tries::sweep(instant now) {
    _swept = now;
    std::erase_if(_tries, [now](const auto& each) { return now - each.second.last > pause_max; });
}

}  // namespace lockkeeper::shards
