#include "lock_beliefs.hh"

#include <algorithm>

#include "violation.hh"

namespace lockkeeper::sim {

lock_beliefs::belief* lock_beliefs::find(state& of, std::string_view owner) {
    const auto found = std::ranges::find(of.all, owner, &belief::owner);
    return found == of.all.end() ? nullptr : &*found;
}

void lock_beliefs::check_exclusion(const state& of, const told& what, instant now) {
    uint64_t permits = what.permits * static_cast<uint64_t>(what.holds);
    for (const belief& each : of.all) {
        if (each.owner == what.owner || each.until <= now) {
            continue;
        }
        demand(what.mode != lock_mode::exclusive && each.mode == what.mode, "P1",
               "two clients believe that they hold a lock that is not for two");
        permits += each.permits * static_cast<uint64_t>(each.holds);
    }
    demand(what.mode != lock_mode::permits || permits <= what.of, "P1",
           "clients believe in more permits than there are");
}

void lock_beliefs::granted(size_t key, const told& what, instant now) {
    state& of = _keys[key];
    std::erase_if(of.all, [now](const belief& each) { return each.until <= now; });
    check_exclusion(of, what, now);
    belief* known = find(of, what.owner);
    if (what.is_fresh) {
        demand(what.fence > of.last_fence, "P2", "a fence is not greater than those before it");
        of.last_fence = what.fence;
    }
    belief next{.owner = std::string(what.owner),
                .connection = what.connection,
                .mode = what.mode,
                .permits = what.permits,
                .fence = what.fence,
                .until = what.until,
                .holds = what.holds,
                .after = what.after,
                .is_renewed = what.is_renewed};
    if (known == nullptr) {
        known = &of.all.emplace_back();
    } else if (!what.after && known->after && !known->is_renewed) {
        // Another hold of a lock that ends with its connection.
        next.connection = known->connection;
        next.after = known->after;
        next.until = std::max(known->until, what.until);
        next.not_before = what.until;
    } else if (what.after && !what.is_renewed) {
        next.not_before = known->is_renewed ? std::min(known->until, now + *known->after)
                          : known->after    ? known->not_before
                                            : known->until;
    }
    *known = std::move(next);
}

void lock_beliefs::withdrawn(size_t key, uint64_t fence) {
    state& of = _keys[key];
    of.last_fence = std::max(of.last_fence, fence);
}

void lock_beliefs::released(size_t key, std::string_view owner, int64_t left) {
    state& of = _keys[key];
    if (left == 0) {
        std::erase_if(of.all, [owner](const belief& each) { return each.owner == owner; });
    } else if (belief* const known = find(of, owner)) {
        known->holds = left;
    }
}

void lock_beliefs::extended(size_t key, std::string_view owner, instant until) {
    if (belief* const known = find(_keys[key], owner)) {
        known->until = until;
        known->after.reset();
    }
}

void lock_beliefs::lost(size_t key, std::string_view owner, uint64_t fence) {
    std::erase_if(_keys[key].all,
                  [&](const belief& each) { return each.owner == owner && each.fence == fence; });
}

void lock_beliefs::disconnected(uint64_t connection, instant now) {
    for (state& of : _keys) {
        for (belief& each : of.all) {
            if (each.connection == connection && each.after) {
                each.until = std::min(each.until, std::max(now + *each.after, each.not_before));
                each.after.reset();
            }
        }
    }
}

void lock_beliefs::forced_to_end(size_t key, instant when) {
    for (belief& each : _keys[key].all) {
        each.until = std::min(each.until, when);
        each.not_before = std::min(each.not_before, when);
    }
}

}  // namespace lockkeeper::sim
