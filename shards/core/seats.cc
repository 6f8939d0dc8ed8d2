#include "shards/core/seats.hh"

#include <algorithm>
#include <utility>

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Beyond this crowd newcomers are not remembered: they are served when the crowd is gone.
constexpr size_t seats_max = 10'000;

/// Of a client that has asked once, how long it may take to ask again. Most libraries pause for
/// 10 to 250 ms.
constexpr nanoseconds first_pause_max = 5s;

/// A lock is kept for somebody who is expected to ask; bounds of that, whatever was measured.
constexpr nanoseconds kept_min = 2ms;
constexpr nanoseconds kept_max = 2s;

nanoseconds kept_for(nanoseconds pause) {
    return std::clamp<nanoseconds>(2 * pause, kept_min, kept_max);
}

}  // namespace

bool seats::seat::has_gone(instant now) const {
    if (pause.count() == 0) {
        return now - last > first_pause_max;
    }
    return now - last > (has_given_up ? 3 : 6) * pause + 50ms;
}

// ---- where they sit -----------------------------------------------------------------------------

auto seats::find(this auto& self, uint64_t token) -> decltype(&self._lone.its) {
    if (!self._crowd) {
        return self._lone.is_taken && self._lone.token == token ? &self._lone.its : nullptr;
    }
    const auto known = self._crowd->by_token.find(token);
    return known != self._crowd->by_token.end() ? &known->second : nullptr;
}

std::optional<uint64_t> seats::token_of(uint64_t client) const {
    if (!_crowd) {
        return _lone.is_taken && _lone.client == client ? std::optional(_lone.token) : std::nullopt;
    }
    const auto last = _crowd->of_client.find(client);
    return last != _crowd->of_client.end() ? std::optional(last->second) : std::nullopt;
}

seats::seat& seats::add(caller who) {
    if (!_crowd && !_lone.is_taken) {
        _lone = {.its = {}, .token = who.token, .client = who.client, .is_taken = true};
        return _lone.its;
    }
    if (!_crowd) {
        auto both = std::make_unique<crowd>();
        both->of_client[_lone.client] = _lone.token;
        both->by_token[_lone.token] = _lone.its;
        _crowd = std::move(both);
        _lone = {};
    }
    _crowd->of_client[who.client] = who.token;
    return _crowd->by_token[who.token];
}

/// The same client with another token.
seats::seat& seats::move(uint64_t from, caller to) {
    if (!_crowd) {
        _lone.token = to.token;
        return _lone.its;
    }
    auto node = _crowd->by_token.extract(from);
    node.key() = to.token;
    _crowd->of_client[to.client] = to.token;
    return _crowd->by_token.insert(std::move(node)).position->second;
}

void seats::remove(uint64_t token) {
    if (!_crowd) {
        _lone = {};
        return;
    }
    const auto its = _crowd->by_token.find(token);
    const auto last = _crowd->of_client.find(its->second.client);
    if (last != _crowd->of_client.end() && last->second == token) {
        _crowd->of_client.erase(last);
    }
    _crowd->by_token.erase(its);
    if (_crowd->by_token.empty()) {
        _crowd.reset();
    }
}

// ---- who they are -------------------------------------------------------------------------------

/// Tokens first. An unknown token from a connection that has a seat is the same client with a new
/// token, unless that seat's token is known to be a lasting one.
std::optional<uint64_t> seats::place_of(caller who) const {
    if (find(who.token) != nullptr) {
        return who.token;
    }
    const auto last = token_of(who.client);
    const seat* const its = last ? find(*last) : nullptr;
    return its == nullptr || its->is_stable ? std::nullopt : last;
}

seats::seat* seats::sit_down(caller who, instant now) {
    if (seat* const known = find(who.token)) {
        known->is_stable = true;
        return known;
    }
    if (const auto last = token_of(who.client)) {
        seat* const its = find(*last);
        if (its != nullptr && !its->is_stable) {
            if (its->previous_token == who.token) {
                // Two tokens in turn over one connection: two clients that share it.
                its->is_stable = true;
            } else {
                its->previous_token = *last;
                return &move(*last, who);
            }
        }
    }
    if (size() >= seats_max) {
        return nullptr;
    }
    seat& fresh = add(who);
    fresh.since = now;
    fresh.last = now;
    return &fresh;
}

nanoseconds seats::asked(caller who, instant now) {
    if (who.client == 0) {
        return {};
    }
    seat* const its = sit_down(who, now);
    if (its == nullptr) {
        return {};
    }
    its->client = who.client;
    its->always_gives_up |= std::exchange(its->has_given_up, false);
    const nanoseconds pause = now - its->last;
    if (pause.count() > 0) {
        // Jitter is normal; a moving mean of the pauses follows it.
        its->pause = its->pause.count() == 0 ? pause : (3 * its->pause + pause) / 4;
    }
    its->last = now;
    return its->pause;
}

void seats::took(caller who) {
    if (const auto place = place_of(who)) {
        remove(*place);
    }
}

std::optional<instant> seats::stand_up(caller who) {
    const auto place = place_of(who);
    if (!place) {
        return std::nullopt;
    }
    const instant since = find(*place)->since;
    remove(*place);
    return since;
}

bool seats::gave_up(uint64_t token) {
    seat* const known = find(token);
    if (known == nullptr || known->always_gives_up) {
        return false;
    }
    known->has_given_up = true;
    return true;
}

void seats::sweep(instant now) {
    if (!_crowd) {
        if (_lone.is_taken && _lone.its.has_gone(now)) {
            _lone = {};
        }
        return;
    }
    auto& sitting = _crowd->by_token;
    std::erase_if(sitting, [now](const auto& each) { return each.second.has_gone(now); });
    std::erase_if(_crowd->of_client,
                  [&](const auto& each) { return !sitting.contains(each.second); });
    if (sitting.empty()) {
        _crowd.reset();
    }
}

std::optional<seats::reservation> seats::reserve(const lock_policy& policy, instant now) const {
    return policy.pollers == poller_rule::reserve ? reserve_for_first(now)
                                                  : reserve_for_starving(policy, now);
}

std::optional<seats::reservation> seats::reserve_for_first(instant now) const {
    const seat* first = nullptr;
    uint64_t whose = 0;
    each_seat([&](uint64_t token, const seat& each) {
        if (each.is_expected(now) && (first == nullptr || each.since < first->since)) {
            first = &each;
            whose = token;
        }
    });
    if (first == nullptr) {
        return std::nullopt;
    }
    return reservation{.until = now + kept_for(first->pause), .token = whose};
}

/// For those who came first, and about at the same time: each of them wins once and then begins
/// anew, so that also the slowest of them gets its turn.
std::optional<seats::reservation> seats::reserve_for_starving(const lock_policy& policy,
                                                              instant now) const {
    instant first = end_of_time;
    each_seat([&](uint64_t, const seat& each) {
        if (each.is_expected(now) && each.starves(policy, now)) {
            first = std::min(first, each.since);
        }
    });
    if (first == end_of_time) {
        return std::nullopt;
    }
    const instant came_by = first + policy.starvation_after;
    nanoseconds shortest = kept_max;
    each_seat([&](uint64_t, const seat& each) {
        if (each.is_expected(now) && each.starves(policy, now) && each.since <= came_by) {
            shortest = std::min(shortest, each.pause);
        }
    });
    return reservation{.until = now + kept_for(shortest), .came_by = came_by};
}

bool seats::is_for(const reservation& kept, const lock_policy& policy, caller who,
                   instant now) const {
    const auto place = place_of(who);
    return place && is_for(kept, policy, *place, *find(*place), now);
}

bool seats::is_for(const reservation& kept, const lock_policy& policy, uint64_t place,
                   const seat& its, instant now) const {
    return kept.token ? *kept.token == place
                      : its.starves(policy, now) && its.since <= kept.came_by;
}

void seats::missed(const reservation& kept, const lock_policy& policy, instant now) {
    each_seat([&](uint64_t token, seat& each) {
        if (is_for(kept, policy, token, each, now) && now - each.last >= kept_for(each.pause)) {
            each.since = now;
        }
    });
}

bool seats::knows(uint64_t token) const {
    return find(token) != nullptr;
}

instant seats::oldest() const {
    instant first = end_of_time;
    each_seat([&](uint64_t, const seat& each) { first = std::min(first, each.since); });
    return first;
}

}  // namespace lockkeeper::shards
