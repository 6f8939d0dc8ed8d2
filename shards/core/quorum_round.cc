#include "shards/core/quorum_round.hh"

#include <algorithm>
#include <cassert>

namespace lockkeeper::shards {

using std::chrono::nanoseconds;

quorum_round::quorum_round(const round_terms& terms, voter_set asked, instant began)
    : _terms(terms),
      _start(began),
      _fences(terms.masters, terms.block),
      _asked(asked),
      _outstanding(asked) {
    assert((asked - voter_set::first(terms.masters)).empty());
    if (asked.size() < quorum_of(terms.masters)) {
        lose(round_loss::unreachable);
    }
}

round_step quorum_round::on_vote(master_index from, const vote& answer, instant now) {
    if (_state != round_state::open || !_outstanding.contains(from)) {
        return {.state = _state};
    }
    if (is_over(now)) {
        return give_up(now);
    }
    _outstanding.remove(from);
    if (answer.what == vote::answer::granted) {
        _fences.vote(from, answer.counter);
    } else if (answer.what == vote::answer::busy) {
        _busy.add(from);
        _remaining[from] = answer.remaining.value_or(nanoseconds{-1});
    }
    return decide(now);
}

round_step quorum_round::on_raised(master_index from, uint64_t to, bool confirmed, instant now) {
    if (_state != round_state::open || !_fences.voters().contains(from)) {
        return {.state = _state};
    }
    if (confirmed) {
        _fences.raised(from, to);
    } else {
        _fences.drop(from);
    }
    return decide(now);
}

round_step quorum_round::on_link_lost(master_index from, instant now) {
    if (_state != round_state::open) {
        return {.state = _state};
    }
    _outstanding.remove(from);
    if (!planted(fault::votes_of_lost_links)) {
        _fences.drop(from);
    }
    return decide(now);
}

round_step quorum_round::on_time(instant now) {
    return _state == round_state::open ? decide(now) : round_step{.state = _state};
}

bool quorum_round::is_over(instant now) const {
    return now >= _start + _terms.patience && !planted(fault::votes_after_the_deadline);
}

round_step quorum_round::decide(instant now) {
    if ((_fences.voters() | _outstanding).size() < quorum_of(_terms.masters) || is_over(now)) {
        return give_up(now);
    }
    if (!_fences.has_quorum()) {
        // One of the quorum that the wait was for has gone: there is nothing to wake up for.
        if (!planted(fault::wait_outlives_quorum)) {
            _hedge_until.reset();
        }
        return {};
    }
    if (const auto block = _fences.settled()) {
        const bool from_end = planted(fault::validity_from_end_of_round);
        _valid_until = shards::valid_until(from_end ? now : _start, _terms.lease);
        if (now + _terms.min_grant > _valid_until) {
            return lose(round_loss::late);
        }
        _block = *block;
        _state = round_state::won;
        return {.state = _state};
    }
    // The votes differ: attempts have met, or a master came back. A vote that is under way may
    // still make a quorum of equals, and waiting for it is cheaper than asking again.
    if (!_outstanding.empty()) {
        if (!_hedge_until) {
            _hedge_until = now + _terms.hedge;
        }
        if (now < *_hedge_until) {
            return {};
        }
    }
    _hedge_until = start_of_time;
    const auto plan = _fences.plan_raise();
    return {.raise = plan.who, .raise_to = plan.to};
}

round_step quorum_round::give_up(instant now) {
    // Who has not answered yet may well have said yes; who has not at the end does not answer.
    const voter_set silent = is_over(now) ? voter_set{} : _outstanding;
    const bool taken =
        !_busy.empty() && (_fences.voters() | _busy | silent).size() >= quorum_of(_terms.masters);
    return lose(taken ? round_loss::busy : round_loss::unreachable);
}

round_step quorum_round::lose(round_loss why) {
    _state = round_state::lost;
    _loss = why;
    return {.state = _state};
}

instant quorum_round::wake_at() const {
    if (_state != round_state::open) {
        return end_of_time;
    }
    const instant end = _start + _terms.patience;
    const bool waits = _hedge_until && *_hedge_until != start_of_time;
    return waits ? std::min(end, *_hedge_until) : end;
}

std::optional<nanoseconds> quorum_round::free_in() const {
    const size_t free = (_asked - _busy).size();
    const size_t quorum = quorum_of(_terms.masters);
    if (free >= quorum) {
        return nanoseconds{0};
    }
    std::array<nanoseconds, masters_max> ends{};
    size_t known = 0;
    for (const master_index master : _busy) {
        if (_remaining[master] >= nanoseconds{0}) {
            ends[known++] = _remaining[master];
        }
    }
    const size_t needed = quorum - free;
    if (known < needed) {
        return std::nullopt;
    }
    std::ranges::sort(ends.begin(), ends.begin() + known);
    return ends[needed - 1];
}

}  // namespace lockkeeper::shards
