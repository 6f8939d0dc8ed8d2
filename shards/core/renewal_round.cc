#include "shards/core/renewal_round.hh"

#include <algorithm>
#include <cassert>

namespace lockkeeper::shards {

renewal_round::renewal_round(const renewal_terms& terms, voter_set asked, instant began)
    : _terms(terms),
      _start(began),
      _fences(terms.masters, terms.block),
      _outstanding(asked),
      _block_done(terms.block == 0) {
    assert((asked - voter_set::first(terms.masters)).empty());
}

renewal_step renewal_round::on_answer(master_index from, const renewal_answer& answer, instant now,
                                      instant valid_until) {
    if (_finished || !_outstanding.contains(from)) {
        return {.finished = _finished};
    }
    // Answers after the end count for nothing, see quorum_round.
    if (now < _start + _terms.patience) {
        _outstanding.remove(from);
        if (answer.what == renewal_answer::answer::extended) {
            _confirmed.add(from);
            _fences.vote(from, answer.counter);
        } else if (answer.what == renewal_answer::answer::not_ours) {
            _not_ours.add(from);
        }
    }
    return decide(now, valid_until);
}

renewal_step renewal_round::on_raised(master_index from, uint64_t to, bool confirmed, instant now,
                                      instant valid_until) {
    if (_finished) {
        return {.finished = true};
    }
    if (now < _start + _terms.patience) {
        if (confirmed) {
            _fences.raised(from, to);
        } else {
            // It confirmed the lease before; that it does not own the key now does not change when
            // the lease ends, only who carries the fences.
            _fences.drop(from);
        }
    }
    return decide(now, valid_until);
}

renewal_step renewal_round::on_link_lost(master_index from, instant now, instant valid_until) {
    if (_finished) {
        return {.finished = true};
    }
    _outstanding.remove(from);
    if (!planted(fault::votes_of_lost_links)) {
        _confirmed.remove(from);
        _fences.drop(from);
    }
    return decide(now, valid_until);
}

renewal_step renewal_round::on_time(instant now, instant valid_until) {
    return _finished ? renewal_step{.finished = true} : decide(now, valid_until);
}

renewal_step renewal_round::decide(instant now, instant valid_until) {
    renewal_step step;
    const size_t quorum = planted(fault::renewal_by_minority) ? 1 : quorum_of(_terms.masters);
    const bool in_time = now < _start + _terms.patience;
    if (now >= valid_until && !planted(fault::renewal_resurrects)) {
        step.finished = _finished = true;
        return step;
    }
    if (in_time && !_extended && _confirmed.size() >= quorum) {
        _extended = true;
        step.valid_until = shards::valid_until(_start, _terms.lease);
    }
    if (in_time && _extended && !_block_done) {
        decide_block(step, now);
    }
    const bool hopeless = (_confirmed | _outstanding).size() < quorum;
    const bool no_block = _extended && !_block_done &&
                          (_fences.voters() | _outstanding).size() < quorum_of(_terms.masters);
    _finished = !in_time || (_extended && _block_done) || (!_extended && hopeless) || no_block;
    step.finished = _finished;
    return step;
}

void renewal_round::decide_block(renewal_step& step, instant now) {
    if (planted(fault::block_of_one_voter) && !_fences.voters().empty()) {
        fence_choice alone(1, _terms.block);
        alone.vote(0, _fences.any_level());
        step.block = alone.settled();
        _block_done = true;
        return;
    }
    if (!_fences.has_quorum()) {
        // One of the quorum that the wait was for has gone: there is nothing to wake up for.
        if (!planted(fault::wait_outlives_quorum)) {
            _hedge_until.reset();
        }
        return;
    }
    if (const auto block = _fences.settled()) {
        step.block = block;
        _block_done = true;
        return;
    }
    if (!_outstanding.empty()) {
        if (!_hedge_until) {
            _hedge_until = now + _terms.hedge;
        }
        if (now < *_hedge_until) {
            return;
        }
    }
    _hedge_until = start_of_time;
    const auto plan = _fences.plan_raise();
    step.raise = plan.who;
    step.raise_to = plan.to;
}

instant renewal_round::wake_at() const {
    if (_finished) {
        return end_of_time;
    }
    const instant end = _start + _terms.patience;
    const bool waits = _hedge_until && *_hedge_until != start_of_time;
    return waits ? std::min(end, *_hedge_until) : end;
}

}  // namespace lockkeeper::shards
