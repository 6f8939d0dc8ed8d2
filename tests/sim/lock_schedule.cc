#include "lock_schedule.hh"

#include <algorithm>

namespace lockkeeper::sim {
namespace {

using namespace std::chrono_literals;
using shards::lock_policy;
using shards::poller_rule;

lock_policy any_policy(draws& random) {
    lock_policy policy;
    policy.pollers = random.chance(60) ? poller_rule::barge : poller_rule::reserve;
    policy.starvation_after = random.whole(20ms, 150ms);
    policy.renew = random.chance(25);
    policy.max_hold = random.chance(20) ? 0ms : random.whole(20ms, 400ms);
    policy.grace = random.chance(30) ? 0ms : random.whole(1ms, 60ms);
    policy.lock_delay = random.chance(70) ? 0ms : random.whole(5ms, 60ms);
    if (random.chance(10)) {
        policy.max_waiters = static_cast<uint32_t>(random.between(1, 5));
    }
    return policy;
}

hostility any_hostility(draws& random) {
    if (random.chance(20)) {
        return {};
    }
    const auto up_to = [&random](int64_t most) {
        return random.chance(40) ? 0U : static_cast<unsigned>(random.between(1, most));
    };
    return {.crash = up_to(10),
            .disconnect = up_to(15),
            .lost_reply = up_to(10),
            .oversleep = up_to(20),
            .mistake = up_to(8),
            .administrators = up_to(60),
            .deferral = up_to(5)};
}

}  // namespace

schedule::schedule(uint64_t number) : seed(number), random(number), bad(any_hostility(random)) {
    const size_t policies = 1 + random.below(2);
    std::vector<lock_policy> drawn;
    for (size_t i = 0; i < policies; ++i) {
        drawn.push_back(any_policy(random));
    }
    const size_t count = 1 + random.below(random.chance(50) ? 2 : 6);
    for (size_t i = 0; i < count; ++i) {
        const size_t policy = random.below(policies);
        key_plan key{
            .name = std::string(1, static_cast<char>('a' + policy)) + ":" + std::to_string(i / 2),
            .database = static_cast<uint32_t>(i % 2),
            .used_as = random.chance(60)   ? usage::lock
                       : random.chance(75) ? usage::semaphore
                                           : usage::hash,
            .policy = drawn[policy]};
        if (key.used_as == usage::semaphore) {
            key.permits = static_cast<uint32_t>(random.between(1, 4));
        }
        keys.push_back(std::move(key));
    }
    options.databases = 2;
    if (random.chance(5)) {
        options.grants_from = start + random.between(1ms, 100ms);
    }
    if (random.chance(10)) {
        options.fence_ceiling = static_cast<uint64_t>(random.between(5, 60));
        restarts = random.chance(50);
    }
    if (random.chance(10)) {
        waiting.waiters_max = static_cast<size_t>(random.between(2, 10));
    }
    const uint32_t crowd = static_cast<uint32_t>(random.between(5, random.chance(30) ? 40 : 12));
    for (uint32_t i = 0; i < crowd; ++i) {
        const size_t kind = random.below(100);
        ++(kind < 45   ? native_clients
           : kind < 55 ? collectors
           : kind < 90 ? pollers
                       : hash_clients);
    }
    administrator = bad.administrators > 0;
    hold = random.whole(1ms, random.chance(50) ? 5ms : 40ms);
    think = random.whole(1ms, random.chance(50) ? 5ms : 40ms);
    ttl = random.whole(5ms, random.chance(30) ? 20ms : 300ms);
    wait = random.whole(5ms, random.chance(50) ? 50ms : 400ms);
    length = random.between(200ms, 900ms);
}

}  // namespace lockkeeper::sim
