#include "shards/lock_service.hh"

#include <seastar/core/smp.hh>
#include <utility>

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

// An expired entry is absent to everyone at once; removing it only frees its memory, so there is no
// hurry, but no turn of the reactor may pay for all of a large crowd either: 500 removals take
// about 100 us.
constexpr auto expiry_interval = 100ms;
constexpr size_t removals_at_once = 500;

}  // namespace

lock_service::lock_service(hash_seed seed, lock_table_options options)
    : _hasher(seed),
      _table(options),
      _waiting_pops(_hasher),
      _expiry_timer([this] { remove_expired(); }) {}

ss::future<> lock_service::start() {
    _expiry_timer.arm(expiry_interval);
    return ss::make_ready_future<>();
}

ss::future<> lock_service::stop() {
    _expiry_timer.cancel();
    _waiting_pops.cancel_all();
    return ss::make_ready_future<>();
}

ss::shard_id lock_service::core_of(std::string_view key) const {
    return owner_of(_hasher.place(key).route, ss::smp::count);
}

void lock_service::give_turn() {
    const auto now = read_clock();
    for (const auto& [database, key] : std::exchange(_pushed, {})) {
        _waiting_pops.serve(_table, database, key, now);
    }
    _turn.signal();
}

void lock_service::pushed(uint32_t database, std::string_view key, instant now) {
    if (turn_is_free()) {
        _waiting_pops.serve(_table, database, key, now);
    } else {
        _pushed.emplace_back(database, key);
    }
}

void lock_service::remove_expired() {
    const auto progress = _table.expire_due(read_clock(), removals_at_once);
    // With a backlog: a slice, then whatever else is to be done, then the next slice.
    _expiry_timer.arm(progress.more ? 0ms : expiry_interval);
}

}  // namespace lockkeeper::shards
