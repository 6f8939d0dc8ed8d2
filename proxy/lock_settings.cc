#include "proxy/lock_settings.hh"

#include <chrono>
#include <utility>
#include <vector>

namespace lockkeeper::proxy {

namespace {

shards::poller_rule rule_of(config::poller_rule rule) {
    switch (rule) {
        case config::poller_rule::barge:
            return shards::poller_rule::barge;
        case config::poller_rule::reserve:
            return shards::poller_rule::reserve;
        case config::poller_rule::park:
            return shards::poller_rule::park;
        case config::poller_rule::adaptive:
            return shards::poller_rule::adaptive;
    }
    std::unreachable();
}

shards::deadlock_rule rule_of(config::deadlock_rule rule) {
    switch (rule) {
        case config::deadlock_rule::report:
            return shards::deadlock_rule::report;
        case config::deadlock_rule::refuse:
            return shards::deadlock_rule::refuse;
    }
    std::unreachable();
}

shards::store_rule rule_of(config::store_rule rule) {
    switch (rule) {
        case config::store_rule::lease:
            return shards::store_rule::lease;
        case config::store_rule::token:
            return shards::store_rule::token;
    }
    std::unreachable();
}

shards::lock_policy policy_of(const config::policy_options& policy) {
    return {.pollers = rule_of(policy.pollers),
            .park = policy.park,
            .starvation_after = policy.starvation_after,
            .renew = policy.renew,
            .max_hold = policy.max_hold,
            .grace = policy.grace,
            .lock_delay = policy.lock_delay,
            .max_waiters = policy.max_waiters,
            .deadlocks = rule_of(policy.deadlocks),
            .store = rule_of(policy.store)};
}

}  // namespace

shards::lock_table_options table_options(const config::config& settings, shards::instant now) {
    shards::lock_table_options options;
    options.key_bytes_max = settings.limits.key_bytes;
    options.keys_max = settings.limits.locks;
    options.slow = {
        .wait = settings.slow.wait, .hold = settings.slow.hold, .entries = settings.slow.entries};
    // Masters remember what a restart of this process forgets.
    if (settings.stripes.empty() && settings.embedded.start_delay.count() > 0) {
        options.grants_from = now + settings.embedded.start_delay;
    }
    return options;
}

shards::waiting_room_options room_options(const config::config& settings) {
    return {.waiters_max = settings.limits.waiters, .lines_max = settings.limits.queues};
}

shards::policy_book policies(const config::config& settings) {
    std::vector<shards::policy_book::rule> rules;
    for (const config::policy_options& policy : settings.policies) {
        for (const std::string& pattern : policy.keys) {
            rules.push_back({.pattern = pattern, .policy = policy_of(policy)});
        }
    }
    return shards::policy_book(std::move(rules));
}

}  // namespace lockkeeper::proxy
