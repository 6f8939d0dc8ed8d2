#include "shards/lock_service.hh"

/// Single waits, for the deadlock watch.
namespace lockkeeper::shards {

waiting_client* lock_service::find_wait(uint64_t client, instant since) {
    const auto [first, last] = _waiting.equal_range(client);
    for (auto each = first; each != last; ++each) {
        if (each->since == since && each->how == waiter::state::waiting) {
            return &*each;
        }
    }
    return nullptr;
}

bool lock_service::refuse_wait(uint64_t client, instant since, lock_error why) {
    waiting_client* const who = find_wait(client, since);
    if (who == nullptr) {
        return false;
    }
    const auto now = read_clock();
    _table.refuse_waiting(*who, why, now);
    settle(now);
    if (!turn_is_free()) {
        tell_ended();  // that much is not for the turn to decide
    }
    return true;
}

void lock_service::mark_deadlock(uint64_t client, instant since, bool is_in_one) {
    if (waiting_client* const who = find_wait(client, since)) {
        who->in_deadlock = is_in_one;
    }
}

}  // namespace lockkeeper::shards
