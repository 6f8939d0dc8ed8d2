#include "shards/core/order_ledger.hh"

#include <algorithm>
#include <utility>

#include "shards/core/planted.hh"

namespace lockkeeper::shards {

void order_ledger::forget_old(instant now) {
    while (!_by_age.empty()) {
        const auto oldest = _orders.find(_by_age.front());
        const bool is_needed = oldest != _orders.end() && oldest->second.until > now;
        if (is_needed && _orders.size() < _most) {
            return;
        }
        if (oldest != _orders.end()) {
            _orders.erase(oldest);
        }
        _by_age.pop_front();
    }
}

order_ledger::record& order_ledger::open(std::string_view order) {
    const auto [known, is_new] = _orders.try_emplace(std::string(order));
    if (is_new) {
        _by_age.emplace_back(order);
    }
    return known->second;
}

void order_ledger::note(std::string_view order, uint64_t fence, instant until, instant now) {
    forget_old(now);
    record& one = open(order);
    one.fence = fence;
    one.until = until;
}

std::optional<uint64_t> order_ledger::take(std::string_view order, instant now) {
    const auto found = _orders.find(std::string(order));
    if (found == _orders.end() || planted(fault::retry_not_known_again)) {
        return std::nullopt;
    }
    const auto fence = std::exchange(found->second.fence, std::nullopt);
    return found->second.until > now ? fence : std::nullopt;
}

void order_ledger::repeated(std::string_view order, uint32_t times, instant until, instant now) {
    forget_old(now);
    record& one = open(order);
    one.times = planted(fault::late_first_order) ? 0 : std::max(one.times, times);
    one.until = until;
}

uint32_t order_ledger::times_repeated(std::string_view order, instant now) const {
    if (_orders.empty()) {
        return 0;
    }
    const auto found = _orders.find(std::string(order));
    return found != _orders.end() && found->second.until > now ? found->second.times : 0;
}

}  // namespace lockkeeper::shards
