#include "fleet_master.hh"

#include <algorithm>

#include "shards/core/planted.hh"

namespace lockkeeper::sim {

using shards::fault;
using shards::planted;

void fleet_master::begin(int number, const wall_clock& clock) {
    _number = number;
    wall = clock;
    restart(loss::everything);
}

void fleet_master::restart(loss lost) {
    ++_lives;
    _run_id = "m" + std::to_string(_number) + "life" + std::to_string(_lives);
    if (lost == loss::everything) {
        _data = {};
    } else if (lost == loss::last_second) {
        _data = _disk;
    } else if (lost == loss::old_dump) {
        _data = _old;
    }
    _disk = _data;
    _replica = _promoted = false;
}

void fleet_master::fail_over() {
    restart(loss::last_second);
    _promoted = true;
}

bool fleet_master::follow(const fleet_master& other, true_time now) {
    if (other._data.incarnation == _run_id) {
        return false;
    }
    _data = other._data;
    // Ends are moments of the wall clock, which masters agree on better in life than here.
    const int64_t ahead = clock(now) - other.clock(now);
    for (lock& key : _data.locks) {
        key.ends += key.ends != 0 ? ahead : 0;
    }
    _data.horizon += _data.horizon != 0 ? ahead : 0;
    _replica = true;
    return true;
}

void fleet_master::lead_again() {
    _promoted = _promoted || _replica;
    _replica = false;
}

bool fleet_master::evict(uint8_t key) {
    const bool there = _data.locks[key].ends != 0;
    _data.locks[key] = {};
    return there;
}

void fleet_master::evict_fences() {
    data kept;
    kept.locks = _data.locks;
    kept.horizon = _data.horizon;
    _data = kept;
}

true_time fleet_master::held_until(uint8_t key, const shards::attempt_id& attempt) const {
    const lock& it = _data.locks[key];
    return it.ends != 0 && it.owner == attempt ? wall.when(it.ends) : -1;
}

bool fleet_master::is_admitted(const question& asked) const {
    return (_data.incarnation == _run_id && _data.fingerprint == asked.fingerprint) ||
           planted(fault::no_incarnation_check);
}

answer fleet_master::carry_out(const question& asked, true_time when) {
    const int64_t now = clock(when);
    lock& key = _data.locks[asked.key];
    if (key.ends != 0 && key.ends <= now) {
        key = {};
    }
    const int64_t marked = std::max<int64_t>(0, _data.horizon - now);
    using kind = question::kind;
    if (out_of_order) {
        return {};
    }
    const bool reads = asked.what == kind::head || asked.what == kind::look ||
                       asked.what == kind::horizon || asked.what == kind::counters ||
                       asked.what == kind::time;
    if (_replica && !reads) {
        return {.verdict = -3};
    }
    switch (asked.what) {
        case question::kind::vote:
            return vote(asked, now);
        case question::kind::raise:
            return raise(asked, now);
        case question::kind::renew:
            return renew(asked, now);
        case question::kind::admit:
            return admit(asked);
        case question::kind::release:
            if (key.ends != 0 && (key.owner == asked.attempt || planted(fault::blind_release))) {
                key = {};
                return {.verdict = 1};
            }
            return {.verdict = 0};
        case question::kind::look:
            return {
                .verdict = key.ends != 0 ? 1 : 0, .remaining = key.ends - now, .holder = key.owner};
        case question::kind::mark:
            if (!is_admitted(asked)) {
                return {.verdict = -1};
            }
            if (full && marked == 0) {
                return {};  // one that is there needs no memory to live longer
            }
            _data.horizon = std::max(_data.horizon, now + asked.length);
            return {.verdict = 1};
        case question::kind::head:
            return {.verdict = 1,
                    .counter = durable ? 1U : 0U,
                    .run_id = _run_id,
                    .incarnation = _data.incarnation,
                    .fingerprint = _data.fingerprint,
                    .durability = _data.durability,
                    .replica = _replica,
                    .promoted = _promoted};
        case question::kind::time:
            return {.verdict = 1, .remaining = now};
        case question::kind::beat:
            if (full) {
                return {};
            }
            _data.cards[asked.block] = {static_cast<uint32_t>(asked.number), asked.base};
            return {.verdict = 1, .cards = _data.cards};
        case question::kind::pend:
            if (_data.incarnation == _run_id) {
                return {.verdict = 1};
            }
            if (asked.durability.empty()) {
                _data.durability.clear();
            }
            if (_data.nonce == 0 || _data.nonce_run_id != _run_id) {
                _data.nonce = asked.number;
                _data.nonce_run_id = _run_id;
            }
            return {.verdict = 0, .counter = _data.nonce, .incarnation = _data.incarnation};
        case question::kind::horizon:
        case question::kind::counters:
            if (!is_admitted(asked)) {
                return {.verdict = -1};
            }
            return {.verdict = 1,
                    .counter = _data.base + *std::ranges::max_element(_data.slots),
                    .remaining = marked};
    }
    return {};
}

answer fleet_master::vote(const question& asked, int64_t now) {
    if (full) {
        return {};
    }
    // A transaction cannot refuse: the key is set and the fences are counted, whatever the head of
    // the table says.
    lock& key = _data.locks[asked.key];
    const bool free = key.ends == 0;
    const bool again = planted(fault::attempt_reused) && key.owner == asked.attempt;
    if (free || again) {
        key = {.owner = asked.attempt, .ends = now + asked.length};
    }
    _data.slots[asked.key] += asked.block;
    if (!is_admitted(asked)) {
        return {.verdict = -1};
    }
    if (!free && !again) {
        return {.verdict = 0, .remaining = key.ends - now};
    }
    return {.verdict = 1, .counter = _data.base + _data.slots[asked.key]};
}

answer fleet_master::raise(const question& asked, int64_t) {
    if (!is_admitted(asked)) {
        return {.verdict = -1};
    }
    const lock& key = _data.locks[asked.key];
    const bool ours = key.ends != 0 && key.owner == asked.attempt;
    if (!ours && !planted(fault::raise_without_owner_check)) {
        return {.verdict = 0};
    }
    if (_data.base + _data.slots[asked.key] < asked.number) {
        _data.slots[asked.key] = asked.number - _data.base;
    }
    return {.verdict = 1};
}

answer fleet_master::renew(const question& asked, int64_t now) {
    if (!is_admitted(asked)) {
        return {.verdict = -1};
    }
    lock& key = _data.locks[asked.key];
    if (key.ends == 0 || key.owner != asked.attempt) {
        return {.verdict = 0};
    }
    key.ends = std::max(key.ends, now + asked.length);
    if (asked.block > 0) {
        _data.slots[asked.key] += asked.block;
    }
    return {.verdict = 1, .counter = _data.base + _data.slots[asked.key]};
}

answer fleet_master::admit(const question& asked) {
    if (_data.incarnation == _run_id) {
        return {.verdict = _data.fingerprint == asked.fingerprint ? 1 : 0};
    }
    const bool observed = _data.nonce == asked.number && _data.nonce_run_id == _run_id;
    if (asked.run_id != _run_id || (!observed && !planted(fault::admission_without_nonce))) {
        return {.verdict = 0};
    }
    if (_data.base > 0) {
        _data.base += *std::ranges::max_element(_data.slots);
    }
    _data.slots = {};
    _data.base = std::max(_data.base, asked.base);
    _data.incarnation = _run_id;
    _data.fingerprint = asked.fingerprint;
    _data.durability = asked.durability;
    _data.nonce = 0;
    _data.nonce_run_id.clear();
    return {.verdict = 1};
}

}  // namespace lockkeeper::sim
