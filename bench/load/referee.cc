#include "bench/load/referee.hh"

namespace lockkeeper::bench {

referee::referee(std::size_t keys, strictness how)
    : _how(how), _keys(std::make_unique<key_state[]>(keys)) {}

referee::entry referee::enter(std::uint32_t key, std::uint32_t client, moment now,
                              std::chrono::nanoseconds lease, std::optional<std::uint64_t> fence) {
    key_state& state = _keys[key];
    const std::uint32_t me = client + 1;
    entry seen;
    const std::uint32_t before = state.last_holder.exchange(me, std::memory_order_relaxed);
    seen.from_another_client = before != 0 && before != me;
    seen.turn = state.turns.fetch_add(1, std::memory_order_relaxed) + 1;
    if (_how == strictness::counts_only) {
        return seen;
    }
    const std::int64_t until = (now.time_since_epoch() + lease).count();
    const std::uint32_t inside = state.inside.exchange(me);
    const std::int64_t their_end = state.lease_end.exchange(until);
    if (inside != 0) {
        const bool alive = now.time_since_epoch().count() < their_end;
        seen.intruded = alive;
        seen.after_expiry = !alive;
    }
    if (fence && *fence != 0) {  // 0: a fleet without fences
        // Numbered from 1, so that a first fence of 0 is not taken for one that fell.
        const std::uint64_t last = state.fence.exchange(*fence + 1);
        seen.fence_fell = last >= *fence + 1;
    }
    return seen;
}

void referee::leave(std::uint32_t key, std::uint32_t client) {
    if (_how == strictness::counts_only) {
        return;
    }
    // If another one is inside by now, it was its entry that told.
    std::uint32_t me = client + 1;
    _keys[key].inside.compare_exchange_strong(me, 0);
}

}  // namespace lockkeeper::bench
