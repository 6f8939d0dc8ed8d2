#include "bench/load/plan.hh"

#include <cstdio>
#include <random>
#include <utility>

#include "protocol/wire.hh"

namespace lockkeeper::bench {

namespace {

constexpr retry_strategy polling{retry_strategy::kind::fixed, std::chrono::milliseconds(10),
                                 std::chrono::milliseconds(10)};
constexpr retry_strategy redlock_retry{retry_strategy::kind::random, std::chrono::milliseconds(0),
                                       std::chrono::milliseconds(100)};

std::uint64_t fresh_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
}

std::uint32_t count_keys(const load_options& options) {
    switch (options.mode) {
        case load_mode::hot:
        case load_mode::once:
            return 1;
        case load_mode::zipf:
        case load_mode::spread:
            return options.keys;
        case load_mode::uncontended:
        case load_mode::renew:
            break;
    }
    return options.clients * options.depth;
}

}  // namespace

load_plan::load_plan(load_options chosen)
    : options(std::move(chosen)),
      seed(options.seed ? *options.seed : fresh_seed()),
      retry(options.retry.value_or(options.protocol == protocol_kind::redlock ? redlock_retry
                                                                              : polling)),
      lease(options.protocol == protocol_kind::blpop ? std::chrono::hours(24) : options.ttl),
      masters(options.protocol == protocol_kind::redlock
                  ? static_cast<std::uint32_t>(options.servers.size())
                  : 1),
      votes_needed(masters / 2 + 1),
      lanes(options.clients * options.depth),
      keys(count_keys(options)) {
    char run[8];
    std::snprintf(run, sizeof(run), "%04x:", static_cast<unsigned>(seed & 0xffff));
    key_start = options.key_prefix + run;
    if (options.protocol == protocol_kind::redlock) {
        drift = options.ttl / 100 + std::chrono::milliseconds(2);
    }
    if (options.mode == load_mode::zipf) {
        popularity = std::make_unique<zipf>(keys, options.zipf_exponent);
    }
}

char* load_plan::write_key(char* at, std::uint32_t key) const {
    at = protocol::wire::put_bytes(at, key_start);
    for (std::size_t i = key_digits; i-- != 0; key /= 10) {
        at[i] = static_cast<char>('0' + key % 10);
    }
    return at + key_digits;
}

}  // namespace lockkeeper::bench
