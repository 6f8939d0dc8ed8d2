#include "shards/core/lock_policy.hh"

#include <algorithm>

#include "shards/core/glob.hh"

namespace lockkeeper::shards {

policy_book::policy_book(std::vector<rule> rules) : _rules(std::move(rules)) {
    using std::chrono::milliseconds;
    for (const rule& each : _rules) {
        _any_renews |= each.policy.renew;
        _has_renewed |= each.policy.renew;
        _any_delays |= each.policy.lock_delay > milliseconds::zero();
        _any_parks |= each.policy.pollers == poller_rule::park;
        _any_tokens |= each.policy.store == store_rule::token;
        _longest_grace = std::max(_longest_grace, each.policy.grace);
    }
}

void policy_book::replace(policy_book next) noexcept {
    next._edition = _edition + 1;
    next._longest_grace = std::max(next._longest_grace, _longest_grace);
    next._has_renewed |= _has_renewed;
    *this = std::move(next);
}

const lock_policy& policy_book::of(std::string_view key) const {
    for (const rule& each : _rules) {
        if (glob_match(each.pattern, key)) {
            return each.policy;
        }
    }
    return _default;
}

}  // namespace lockkeeper::shards
