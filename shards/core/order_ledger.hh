#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// Locks that were given to clients of another proxy just before the link broke. Whether they heard
/// of it their proxy knows: if not, it asks again, by the same number, and is told of the same
/// grant. Otherwise the lock would have one hold more than its owner counts.
///
/// Written only when a link has broken, for those who were not known to have got their answer.
class order_ledger {
public:
    explicit order_ledger(size_t most = 100'000) : _most(most) {}

    void note(std::string_view order, uint64_t fence, instant until, instant now);
    /// The fence of the grant that this order got; once.
    std::optional<uint64_t> take(std::string_view order, instant now);
    /// That order has been sent again, so many times by now. What was sent before and comes after
    /// it is late: nobody listens there.
    void repeated(std::string_view order, uint32_t times, instant until, instant now);
    /// As far as is known here.
    uint32_t times_repeated(std::string_view order, instant now) const;
    size_t size() const { return _orders.size(); }

private:
    struct record {
        std::optional<uint64_t> fence;  ///< nothing: it was not granted, or has been told of it
        instant until{};
        uint32_t times = 0;  ///< repeated
    };

    void forget_old(instant now);
    record& open(std::string_view order);

    size_t _most;
    std::unordered_map<std::string, record> _orders;
    std::deque<std::string> _by_age;
};

}  // namespace lockkeeper::shards
