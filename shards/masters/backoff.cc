#include "shards/masters/backoff.hh"

#include <algorithm>

namespace lockkeeper::shards {

backoff::backoff(milliseconds first, milliseconds longest)
    : _first(std::min(first, longest)), _longest(longest), _pause(_first) {}

backoff::milliseconds backoff::next(double chance) {
    const milliseconds whole = _pause;
    _pause = std::min(2 * _pause, _longest);
    const auto taken_off =
        std::chrono::duration_cast<milliseconds>(whole / 2 * std::clamp(chance, 0.0, 1.0));
    return whole - taken_off;
}

}  // namespace lockkeeper::shards
