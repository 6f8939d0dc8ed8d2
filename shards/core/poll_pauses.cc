#include "shards/core/poll_pauses.hh"

#include <new>

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

/// A client may be late by a few of its pauses, and by what the machine does meanwhile.
constexpr int pauses_missed = 6;
constexpr auto late_by = 1s;
constexpr auto between_sweeps = 5s;

}  // namespace

std::chrono::nanoseconds held_back_for(std::chrono::nanoseconds longest, uint64_t token,
                                       instant now) {
    // The token is a keyed hash already; this only mixes the time into it.
    uint64_t mixed = token ^ static_cast<uint64_t>((now - start_of_time).count());
    mixed = (mixed ^ (mixed >> 31)) * 0x9e3779b97f4a7c15;
    const auto half = longest.count() / 2;
    return std::chrono::nanoseconds(longest.count() - half +
                                    static_cast<int64_t>((mixed >> 32) % (half + 1)));
}

bool poll_pauses::record::has_gone(instant now) const {
    return now - last > pauses_missed * pause + late_by;
}

void poll_pauses::note(const polled_try& refused, instant now) {
    if (now - _swept >= between_sweeps) {
        sweep(now);
    }
    if (const auto known = _known.find(refused.token); known != _known.end()) {
        if (known->second.has_gone(now)) {
            known->second.since = now - refused.pause;
        }
        known->second.last = now;
        known->second.pause = refused.pause;
        return;
    }
    if (_known.size() >= _most) {
        return;
    }
    try {
        _known.emplace(refused.token, record{now - refused.pause, now, refused.pause});
    } catch (const std::bad_alloc&) {
        // Being held back is a courtesy: it is answered at once.
    }
}

std::optional<instant> poll_pauses::tries(uint64_t token, instant now) {
    const auto known = _known.find(token);
    if (known == _known.end()) {
        return std::nullopt;
    }
    if (known->second.has_gone(now)) {
        _known.erase(known);
        return std::nullopt;
    }
    known->second.last = now;
    return known->second.since;
}

void poll_pauses::sweep(instant now) {
    _swept = now;
    std::erase_if(_known, [now](const auto& each) { return each.second.has_gone(now); });
}

}  // namespace lockkeeper::shards
