#include "proxy/login_failures.hh"

#include <limits>

namespace lockkeeper::proxy {

uint32_t login_failures::note(std::string_view address, clock::time_point now) {
    const auto is_over = [now](const auto& one) { return now - one.second.since > window; };
    auto found = _by_address.find(address);
    if (found == _by_address.end()) {
        if (_by_address.size() >= addresses_max) {
            std::erase_if(_by_address, is_over);
        }
        if (_by_address.size() >= addresses_max) {
            return std::numeric_limits<uint32_t>::max();
        }
        found = _by_address.emplace(std::string(address), counted{.since = now}).first;
    } else if (is_over(*found)) {
        found->second = {.since = now};
    }
    return ++found->second.failures;
}

bool login_failures::are_too_many(std::string_view address, uint32_t most,
                                  clock::time_point now) const {
    if (most == 0) {
        return false;
    }
    const auto found = _by_address.find(address);
    if (found == _by_address.end()) {
        return _by_address.size() >= addresses_max;
    }
    return now - found->second.since <= window && found->second.failures >= most;
}

}  // namespace lockkeeper::proxy
