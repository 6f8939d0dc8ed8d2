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

/// Tokens first. An unknown token from a connection that has a seat is the same client with a new
/// token, unless that seat's token is known to be a lasting one.
std::optional<uint64_t> seats::place_of(caller who) const {
    if (_by_token.contains(who.token)) {
        return who.token;
    }
    const auto last = _of_client.find(who.client);
    if (last == _of_client.end()) {
        return std::nullopt;
    }
    const auto its = _by_token.find(last->second);
    return its == _by_token.end() || its->second.is_stable ? std::nullopt
                                                           : std::optional(last->second);
}

seats::seat* seats::sit_down(caller who, instant now) {
    if (const auto known = _by_token.find(who.token); known != _by_token.end()) {
        known->second.is_stable = true;
        return &known->second;
    }
    const auto last = _of_client.find(who.client);
    if (last != _of_client.end()) {
        const auto its = _by_token.find(last->second);
        if (its != _by_token.end() && !its->second.is_stable) {
            if (its->second.previous_token == who.token) {
                // Two tokens in turn over one connection: two clients that share it.
                its->second.is_stable = true;
            } else {
                auto node = _by_token.extract(its);
                node.mapped().previous_token = node.key();
                node.key() = who.token;
                last->second = who.token;
                return &_by_token.insert(std::move(node)).position->second;
            }
        }
    }
    if (_by_token.size() >= seats_max) {
        return nullptr;
    }
    _of_client[who.client] = who.token;
    seat& fresh = _by_token[who.token];
    fresh.since = now;
    fresh.last = now;
    return &fresh;
}

void seats::asked(caller who, instant now) {
    if (who.client == 0) {
        return;
    }
    seat* const its = sit_down(who, now);
    if (its == nullptr) {
        return;
    }
    its->client = who.client;
    its->always_gives_up |= std::exchange(its->has_given_up, false);
    const nanoseconds pause = now - its->last;
    if (pause.count() > 0) {
        // Jitter is normal; a moving mean of the pauses follows it.
        its->pause = its->pause.count() == 0 ? pause : (3 * its->pause + pause) / 4;
    }
    its->last = now;
}

void seats::took(caller who) {
    const auto place = place_of(who);
    if (!place) {
        return;
    }
    const auto its = _by_token.find(*place);
    const auto last = _of_client.find(its->second.client);
    if (last != _of_client.end() && last->second == *place) {
        _of_client.erase(last);
    }
    _by_token.erase(its);
}

bool seats::gave_up(uint64_t token) {
    const auto known = _by_token.find(token);
    if (known == _by_token.end() || known->second.always_gives_up) {
        return false;
    }
    known->second.has_given_up = true;
    return true;
}

void seats::sweep(instant now) {
    std::erase_if(_by_token, [now](const auto& each) { return each.second.has_gone(now); });
    std::erase_if(_of_client,
                  [this](const auto& each) { return !_by_token.contains(each.second); });
}

std::optional<seats::reservation> seats::reserve(const lock_policy& policy, instant now) const {
    return policy.pollers == poller_rule::reserve ? reserve_for_first(now)
                                                  : reserve_for_starving(policy, now);
}

std::optional<seats::reservation> seats::reserve_for_first(instant now) const {
    const std::pair<const uint64_t, seat>* first = nullptr;
    for (const auto& each : _by_token) {
        if (each.second.is_expected(now) &&
            (first == nullptr || each.second.since < first->second.since)) {
            first = &each;
        }
    }
    if (first == nullptr) {
        return std::nullopt;
    }
    return reservation{.until = now + kept_for(first->second.pause), .token = first->first};
}

/// For those who came first, and about at the same time: each of them wins once and then begins
/// anew, so that also the slowest of them gets its turn.
std::optional<seats::reservation> seats::reserve_for_starving(const lock_policy& policy,
                                                              instant now) const {
    instant first = end_of_time;
    for (const auto& [token, each] : _by_token) {
        if (each.is_expected(now) && each.starves(policy, now)) {
            first = std::min(first, each.since);
        }
    }
    if (first == end_of_time) {
        return std::nullopt;
    }
    const instant came_by = first + policy.starvation_after;
    nanoseconds shortest = kept_max;
    for (const auto& [token, each] : _by_token) {
        if (each.is_expected(now) && each.starves(policy, now) && each.since <= came_by) {
            shortest = std::min(shortest, each.pause);
        }
    }
    return reservation{.until = now + kept_for(shortest), .came_by = came_by};
}

bool seats::is_for(const reservation& kept, const lock_policy& policy, caller who,
                   instant now) const {
    const auto place = place_of(who);
    if (!place) {
        return false;
    }
    const seat& its = _by_token.at(*place);
    return kept.token ? *kept.token == *place
                      : its.starves(policy, now) && its.since <= kept.came_by;
}

instant seats::oldest() const {
    instant first = end_of_time;
    for (const auto& [token, each] : _by_token) {
        first = std::min(first, each.since);
    }
    return first;
}

}  // namespace lockkeeper::shards
