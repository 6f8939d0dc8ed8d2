#pragma once

#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/semaphore.hh>
#include <seastar/core/timer.hh>

#include "shards/announcement.hh"
#include "shards/blocked_pops.hh"
#include "shards/core/clock.hh"
#include "shards/core/key_hash.hh"
#include "shards/core/lock_table.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Everything one core knows about its locks: the table, time for it, and the turn.
///
/// Commands run on a core without suspension, so each is atomic by itself. A command over keys of
/// several cores takes the turn of each of them, in the order of the cores, and keeps them until it
/// is done; meanwhile other commands for these cores wait. Who finds the turn taken comes back
/// later, in order.
class lock_service {
public:
    lock_service(hash_seed seed, lock_table_options options);

    ss::future<> start();
    ss::future<> stop();

    const key_hasher& hasher() const { return _hasher; }
    /// The core that owns a key.
    ss::shard_id core_of(std::string_view key) const;

    lock_table& table() { return _table; }
    blocked_pops& waiting_pops() { return _waiting_pops; }

    /// Where announcements of this core's locks go, from now on. Without it nobody hears them.
    void announce_to(announcer& who) { _announcer = &who; }
    void announce(announcement what) {
        if (_announcer) {
            _announcer->announce(std::move(what));
        }
    }

    /// False while a command over several cores runs: then take_turn() first.
    bool turn_is_free() const { return _turn.available_units() > 0 && _turn.waiters() == 0; }
    ss::future<> take_turn() { return _turn.wait(); }
    void give_turn();

    /// Elements were pushed to a list: who waits for them gets them, at once or, while a command
    /// over several cores runs, when it is done. What a transaction pushes and takes away again
    /// nobody else sees.
    void pushed(uint32_t database, std::string_view key, instant now);

private:
    void remove_expired();

    key_hasher _hasher;
    lock_table _table;
    blocked_pops _waiting_pops;
    announcer* _announcer = nullptr;
    ss::semaphore _turn{1};
    std::vector<std::pair<uint32_t, std::string>> _pushed;  ///< in this turn
    ss::timer<> _expiry_timer;
};

}  // namespace lockkeeper::shards
