#include "shards/core/lock_policy.hh"

#include "shards/core/glob.hh"

namespace lockkeeper::shards {

policy_book::policy_book(std::vector<rule> rules) : _rules(std::move(rules)) {
    using std::chrono::milliseconds;
    for (const rule& each : _rules) {
        _any_renews |= each.policy.renew;
        _any_delays |= each.policy.lock_delay > milliseconds::zero();
        _any_parks |= each.policy.pollers == poller_rule::park;
    }
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
