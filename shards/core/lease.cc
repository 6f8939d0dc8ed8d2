#include "shards/core/lease.hh"

#include <algorithm>
#include <cassert>

#include "shards/core/planted.hh"
#include "shards/core/retry_pace.hh"

namespace lockkeeper::shards {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// Before an incomplete lease is completed, at least.
constexpr nanoseconds between_repairs = milliseconds(50);
/// Before a failed renewal is tried again: when a majority is gone, all leases fail at once, and a
/// core has many. The less is left of one, the sooner.
constexpr nanoseconds renewal_pause_min = milliseconds(25);
constexpr int renewal_pauses_per_lease = 20;
constexpr int renewal_pauses_in_rest = 4;
/// A renewal that does not ask for more time than the last one is not sent more often than this.
constexpr int renewals_per_lease_max = 8;
constexpr uint8_t block_bits_step = 3;

}  // namespace

static_assert(lease_rules::first_block == 1U << 6);
static_assert(sizeof(lease) <= 80, "there may be a million of them on a core");

// ---- Small things

lease::work& lease::working() {
    if (!_work) {
        _work = std::make_unique<work>();
    }
    return *_work;
}

void lease::done_working() {
    if (_phase == phase::held && _work && !_work->round && !_work->renewal &&
        _work->repair_at == end_of_time && _work->not_before == start_of_time) {
        _work.reset();
    }
}

bool lease::is_current(attempt_id attempt) const {
    return attempt == _attempt || planted(fault::votes_of_old_attempts);
}

bool lease::may_try(instant now) const {
    switch (_phase) {
        case phase::absent:
        case phase::lost:
            return true;
        case phase::elsewhere:
        case phase::unreachable:
            return now >= _work->retry_at;
        case phase::acquiring:
        case phase::held:
            return false;
    }
    return false;
}

instant lease::wake_at(const lease_rules& rules) const {
    switch (_phase) {
        case phase::acquiring:
            return _work->round->wake_at();
        case phase::elsewhere:
        case phase::unreachable:
            return _work->retry_at;
        case phase::absent:
        case phase::lost:
            return end_of_time;
        case phase::held:
            break;
    }
    instant next = _valid_until;
    if (!_work || !_work->renewal) {
        next = std::min(next, renewal_due(rules));
    } else {
        next = std::min(next, _work->renewal->wake_at());
    }
    return _work ? std::min(next, _work->repair_at) : next;
}

// ---- What the masters hold

namespace {

/// Of the tokens that a master which missed an exchange may hold. One that has missed more of them
/// is no holder any more, and its key ends by itself.
constexpr size_t earlier_tokens_max = 2;

}  // namespace

bool lease::is_stored(std::string_view token) const {
    return _tokens ? _tokens->current == token : token.empty();
}

std::shared_ptr<const stored_value> lease::stored() const {
    if (!_tokens) {
        return nullptr;
    }
    auto value = std::make_shared<stored_value>();
    value->value = _tokens->next.value_or(_tokens->current);
    if (_tokens->next) {
        value->also.push_back(_tokens->current);
    }
    value->also.insert(value->also.end(), _tokens->earlier.begin(), _tokens->earlier.end());
    return value;
}

void lease::exchange_token(std::string_view token) {
    if (!is_stored(token)) {
        if (!_tokens) {
            _tokens = std::make_unique<tokens>();
        }
        _tokens->next = token;
    }
}

/// With a majority the new one counts; without, it may still be on some of the masters.
void lease::token_exchanged(bool has_majority) {
    if (!_tokens || !_tokens->next) {
        return;
    }
    if (has_majority) {
        std::swap(_tokens->current, *_tokens->next);
    }
    auto& earlier = _tokens->earlier;
    std::erase(earlier, *_tokens->next);
    earlier.insert(earlier.begin(), std::move(*_tokens->next));
    if (earlier.size() > earlier_tokens_max) {
        earlier.pop_back();
    }
    _tokens->next.reset();
}

// ---- Acquiring

void lease::acquire(nanoseconds ttl, attempt_id fresh, const lease_turn& turn,
                    std::string_view token) {
    assert(may_try(turn.now));
    _tokens.reset();
    if (!token.empty()) {
        _tokens = std::make_unique<tokens>();
        _tokens->current = token;
    }
    const lease_rules& rules = turn.rules;
    const bool reuse = planted(fault::attempt_reused) && _attempt != attempt_id{};
    _attempt = reuse ? _attempt : fresh;
    _length_ms = static_cast<uint32_t>(rules.length_for(ttl).count());
    const uint32_t block = rules.fences ? lease_rules::first_block : 0;
    const round_terms terms{
        .masters = rules.masters,
        .lease = milliseconds(_length_ms),
        .block = block,
        .patience = rules.patience_for(ttl),
        .min_grant = std::min(rules.min_grant, ttl),
    };
    work& mine = working();
    mine.round.emplace(terms, turn.admitted, turn.now);
    _phase = phase::acquiring;
    _may_hold = {};
    if (mine.round->state() == round_state::lost) {
        return on_lost_round(turn);
    }
    _may_hold = turn.admitted;
    turn.out.push_back({.what = lease_action::kind::vote,
                        .to = turn.admitted,
                        .attempt = _attempt,
                        .length = milliseconds(_length_ms),
                        .block = block,
                        .stored = stored()});
}

void lease::on_vote(attempt_id attempt, master_index from, const vote& answer,
                    const lease_turn& turn) {
    if (!is_current(attempt)) {
        return;
    }
    if (_phase == phase::acquiring) {
        apply(_work->round->on_vote(from, answer, turn.now), turn);
    } else if (_phase == phase::held) {
        on_late_vote(from, answer, turn);
    }
}

void lease::on_late_vote(master_index from, const vote& answer, const lease_turn& turn) {
    _in_flight.remove(from);
    // What it said no to may be a key of our own, left by a connection that broke: it stays on the
    // list of those to be released.
    if (answer.what == vote::answer::granted) {
        _holders.add(from);
        _may_hold.add(from);
        if (turn.rules.fences && _fences_left > 0 && answer.counter < last_fence()) {
            turn.out.push_back({.what = lease_action::kind::raise,
                                .to = voter_set::of(from),
                                .attempt = _attempt,
                                .raise_to = last_fence(),
                                .stored = stored()});
        }
    }
    plan_repair(turn);
}

void lease::on_raised(attempt_id attempt, master_index from, uint64_t to, bool confirmed,
                      const lease_turn& turn) {
    if (!is_current(attempt)) {
        return;
    }
    if (_phase == phase::acquiring) {
        apply(_work->round->on_raised(from, to, confirmed, turn.now), turn);
    } else if (is_extending()) {
        apply(_work->renewal->on_raised(from, to, confirmed, turn.now, _valid_until), turn);
    }
}

void lease::apply(const round_step& step, const lease_turn& turn) {
    if (!step.raise.empty()) {
        turn.out.push_back({.what = lease_action::kind::raise,
                            .to = step.raise,
                            .attempt = _attempt,
                            .raise_to = step.raise_to,
                            .stored = stored()});
    }
    if (step.state == round_state::won) {
        on_won(turn);
    } else if (step.state == round_state::lost) {
        on_lost_round(turn);
    }
}

void lease::on_won(const lease_turn& turn) {
    const quorum_round& round = *_work->round;
    _phase = phase::held;
    _valid_until = round.valid_until();
    _next_fence = round.block().first;
    _fences_left =
        turn.rules.fences ? static_cast<uint32_t>(round.block().last - round.block().first + 1) : 0;
    _needed_until = start_of_time;
    _holders = round.holders();
    _may_hold = round.may_hold();
    _in_flight = round.outstanding();
    if (const voter_set lagging = round.lagging(); !lagging.empty()) {
        turn.out.push_back({.what = lease_action::kind::raise,
                            .to = lagging,
                            .attempt = _attempt,
                            .raise_to = round.block().last,
                            .stored = stored()});
    }
    _work->round.reset();
    _work->losses = 0;
    _work->holder.clear();
    plan_repair(turn);
    done_working();
}

void lease::on_lost_round(const lease_turn& turn) {
    const quorum_round round = *_work->round;
    _work->round.reset();
    if (!_may_hold.empty()) {
        _may_hold = round.may_hold();
        send_release(turn);
    }
    _may_hold = {};
    _work->loss = round.loss();
    const auto free_in = round.free_in();
    const bool held = round.busy().size() > turn.rules.masters - quorum_of(turn.rules.masters);
    _work->retry_at = turn.now + retry_pace::after(_work->losses, turn.random, held, free_in);
    _work->until = free_in ? std::optional(turn.now + *free_in) : std::nullopt;
    if (round.loss() != round_loss::busy) {
        _phase = phase::unreachable;
        ++_work->losses;
        return;
    }
    _phase = phase::elsewhere;
    // One look is enough to know whom to ask or how long to wait; a different master each time, as
    // one of them may have a key that nobody else has.
    size_t skip = _work->losses++ % round.busy().size();
    for (const master_index master : round.busy()) {
        if (skip-- == 0) {
            turn.out.push_back({.what = lease_action::kind::look,
                                .to = voter_set::of(master),
                                .attempt = _attempt,
                                .stored = stored()});
        }
    }
}

void lease::on_looked(attempt_id attempt, std::optional<std::string_view> holder,
                      std::optional<nanoseconds> remaining, const lease_turn& turn) {
    if (attempt != _attempt || _phase != phase::elsewhere || !holder) {
        return;
    }
    _work->holder = *holder;
    if (remaining) {
        _work->until = turn.now + *remaining;
        const uint32_t losses = _work->losses > 0 ? _work->losses - 1 : 0;
        const instant known = turn.now + retry_pace::after(losses, turn.random, true, remaining);
        _work->retry_at = std::min(_work->retry_at, known);
    }
}

// ---- Held: renewals, repairs, the end

void lease::on_renewed(attempt_id attempt, master_index from, const renewal_answer& answer,
                       const lease_turn& turn) {
    if (!is_current(attempt) || _phase != phase::held) {
        return;
    }
    _renewing.remove(from);
    switch (answer.what) {
        case renewal_answer::answer::extended:
            _holders.add(from);
            _may_hold.add(from);
            break;
        case renewal_answer::answer::not_ours:
            if (!_in_flight.contains(from)) {
                _may_hold.remove(from);
            }
            [[fallthrough]];
        case renewal_answer::answer::refused:
            _holders.remove(from);
            break;
        case renewal_answer::answer::no_answer:
            break;
    }
    if (_work && _work->renewal) {
        apply(_work->renewal->on_answer(from, answer, turn.now, _valid_until), turn);
    }
    if (_phase == phase::held) {
        plan_repair(turn);
    }
}

void lease::apply(const renewal_step& step, const lease_turn& turn) {
    if (step.valid_until) {
        _valid_until = std::max(_valid_until, *step.valid_until);
        token_exchanged(true);
    }
    if (step.block) {
        _next_fence = step.block->first;
        _fences_left = static_cast<uint32_t>(step.block->last - step.block->first + 1);
    }
    if (!step.raise.empty()) {
        turn.out.push_back({.what = lease_action::kind::raise,
                            .to = step.raise,
                            .attempt = _attempt,
                            .raise_to = step.raise_to,
                            .stored = stored()});
    }
    if (!step.finished) {
        return;
    }
    const bool complete = _work->renewal->is_complete();
    const bool gone =
        _work->renewal->not_ours().size() > turn.rules.masters - quorum_of(turn.rules.masters);
    _work->renewal.reset();
    token_exchanged(false);
    if (gone) {
        // Whatever deleted it: a majority says that the key is not ours. Sooner is truer.
        return end(phase::lost, turn);
    }
    _work->not_before = complete ? start_of_time : next_attempt(turn.now);
    done_working();
}

void lease::on_link_lost(master_index master, const lease_turn& turn) {
    _in_flight.remove(master);
    _renewing.remove(master);
    if (_phase == phase::acquiring) {
        apply(_work->round->on_link_lost(master, turn.now), turn);
    } else if (is_extending()) {
        apply(_work->renewal->on_link_lost(master, turn.now, _valid_until), turn);
    }
}

void lease::on_time(const lease_turn& turn) {
    if (_phase == phase::acquiring) {
        return apply(_work->round->on_time(turn.now), turn);
    }
    if (_phase != phase::held) {
        return;
    }
    if (turn.now >= _valid_until) {
        return end(phase::lost, turn);
    }
    if (is_extending()) {
        apply(_work->renewal->on_time(turn.now, _valid_until), turn);
        if (_phase != phase::held) {
            return;
        }
    }
    if (_work && turn.now >= _work->repair_at) {
        repair(turn);
    }
    if (wants_renewal(turn)) {
        extend(turn);
    }
}

instant lease::renewal_due(const lease_rules& rules) const {
    const nanoseconds length = milliseconds(_length_ms);
    const instant started = _valid_until + drift_allowance(length) - length;
    instant due = end_of_time;
    if (_needed_until > _valid_until) {
        due = started + length / 3;
    }
    if (_keep_ms > 0) {
        due = std::min(due, std::max(_valid_until - milliseconds(_keep_ms),
                                     started + length / renewals_per_lease_max));
        if (fences_are_low(rules)) {
            due = start_of_time;
        }
    }
    return _work ? std::max(due, _work->not_before) : due;
}

instant lease::next_attempt(instant now) const {
    const nanoseconds pause =
        std::min<nanoseconds>(milliseconds(_length_ms) / renewal_pauses_per_lease,
                              (_valid_until - now) / renewal_pauses_in_rest);
    return now + std::max(pause, renewal_pause_min);
}

bool lease::fences_are_low(const lease_rules& rules) const {
    return rules.fences && _fences_left <= (1U << _block_bits) / 2;
}

bool lease::wants_renewal(const lease_turn& turn) const {
    return _phase == phase::held && !is_extending() && turn.now >= renewal_due(turn.rules);
}

void lease::extend(const lease_turn& turn, std::optional<std::string_view> token) {
    if (is_extending()) {
        return;
    }
    work& mine = working();
    const voter_set late = planted(fault::late_renewals) ? voter_set{} : _renewing;
    const voter_set asked = (turn.admitted & _may_hold) - late;
    if (asked.size() < quorum_of(turn.rules.masters) || turn.now >= _valid_until) {
        mine.not_before = next_attempt(turn.now);
        return;
    }
    uint32_t block = 0;
    if (fences_are_low(turn.rules)) {
        // Half of the last block is gone: the key is handed on often. A larger one lasts longer.
        if ((2U << _block_bits) <= lease_rules::largest_block) {
            _block_bits = std::min<uint8_t>(_block_bits + block_bits_step, 18);
        }
        block = 1U << _block_bits;
    }
    const renewal_terms terms{
        .masters = turn.rules.masters,
        .lease = milliseconds(_length_ms),
        .block = block,
        .patience = turn.rules.timeout,
    };
    mine.renewal.emplace(terms, asked, turn.now);
    _renewing = _renewing | asked;
    if (token) {
        exchange_token(*token);
    }
    turn.out.push_back({.what = lease_action::kind::renew,
                        .to = asked,
                        .attempt = _attempt,
                        .length = milliseconds(_length_ms),
                        .block = block,
                        .stored = stored()});
}

void lease::plan_repair(const lease_turn& turn) {
    const voter_set missing = turn.admitted - _holders - _in_flight;
    if (missing.empty()) {
        if (_work) {
            _work->repair_at = end_of_time;
            done_working();
        }
        return;
    }
    if (working().repair_at == end_of_time) {
        _work->repair_at =
            turn.now + std::max<nanoseconds>(between_repairs, milliseconds(_length_ms) / 20);
    }
}

void lease::repair(const lease_turn& turn) {
    _work->repair_at = end_of_time;
    const voter_set missing = turn.admitted - _holders - _in_flight;
    if (missing.empty()) {
        return done_working();
    }
    // For no longer than the lease is valid: the next renewal takes the newcomers along.
    const auto rest = std::chrono::ceil<milliseconds>(_valid_until - turn.now +
                                                      drift_allowance(milliseconds(_length_ms)));
    _in_flight = _in_flight | missing;
    _may_hold = _may_hold | missing;
    turn.out.push_back({.what = lease_action::kind::vote,
                        .to = missing,
                        .attempt = _attempt,
                        .length = rest,
                        .block = turn.rules.fences ? 1U : 0U,
                        .stored = stored()});
}

void lease::release(const lease_turn& turn) {
    if (_phase == phase::acquiring || _phase == phase::held) {
        if (_phase == phase::acquiring) {
            _may_hold = _work->round->may_hold();
        }
        end(phase::absent, turn);
    }
}

void lease::end(phase next, const lease_turn& turn) {
    send_release(turn);
    _work.reset();
    _phase = next;
    _holders = {};
    _may_hold = {};
    _in_flight = {};
    _renewing = {};
    if (!planted(fault::grant_after_release)) {
        _fences_left = 0;
    }
    _needed_until = start_of_time;
    _block_bits = 6;
}

void lease::send_release(const lease_turn& turn) {
    if (_may_hold.empty()) {
        return;
    }
    turn.out.push_back({.what = lease_action::kind::release,
                        .to = _may_hold,
                        .attempt = _attempt,
                        .until = turn.now + surely_passed(milliseconds(_length_ms)),
                        .stored = stored()});
}

// ---- Grants

std::expected<lease_grant, grant_obstacle> lease::grant(nanoseconds ttl, const lease_turn& turn,
                                                        std::string_view token) {
    if (ttl > turn.rules.longest_promise()) {
        auto given = grant_untimed(turn, token);
        if (given) {
            _needed_until = std::max(_needed_until, turn.now + ttl);
        }
        return given;
    }
    const auto length = static_cast<uint32_t>(turn.rules.length_for(ttl).count());
    _length_ms = std::max(_length_ms, length);
    if (const auto problem = obstacle(ttl, turn, token)) {
        return std::unexpected(*problem);
    }
    return take(turn.now + ttl, turn);
}

std::expected<lease_grant, grant_obstacle> lease::grant_untimed(const lease_turn& turn,
                                                                std::string_view token) {
    if (const auto problem = obstacle(turn.rules.min_grant, turn, token)) {
        return std::unexpected(*problem);
    }
    auto given = take(_valid_until, turn);
    _needed_until = end_of_time;
    return given;
}

std::optional<grant_obstacle> lease::obstacle(nanoseconds ttl, const lease_turn& turn,
                                              std::string_view token) {
    const bool kept =
        planted(fault::grant_after_release) && _phase == phase::absent && _valid_until > turn.now;
    if ((_phase != phase::held && !kept) || _closing) {
        return grant_obstacle::not_held;
    }
    if (turn.now + std::min(turn.rules.min_grant, ttl) > _valid_until &&
        !planted(fault::grant_without_validity_check)) {
        extend(turn, token);
        return grant_obstacle::nearly_over;
    }
    if (turn.now + ttl > _valid_until && !planted(fault::promise_beyond_lease) &&
        !planted(fault::grant_without_validity_check)) {
        extend(turn, token);
        return grant_obstacle::too_short;
    }
    if (!has_block(turn.rules) && !planted(fault::fences_beyond_block)) {
        extend(turn, token);
        return grant_obstacle::no_fence;
    }
    if (!is_stored(token)) {
        extend(turn, token);
        return grant_obstacle::other_token;
    }
    return std::nullopt;
}

bool lease::fetch_fences(const lease_turn& turn) {
    if (_phase != phase::held) {
        return false;
    }
    if (has_block(turn.rules)) {
        return true;
    }
    extend(turn);
    return false;
}

lease_grant lease::take(instant until, const lease_turn& turn) {
    lease_grant given{.fence = 0, .until = until};
    if (turn.rules.fences) {
        given.fence = _next_fence++;
        _fences_left -= _fences_left > 0 ? 1 : 0;
    }
    _needed_until = std::max(_needed_until, until);
    if (wants_renewal(turn)) {
        extend(turn);
    }
    return given;
}

void lease::expect(nanoseconds ttl, const lease_rules& rules) {
    if (ttl == nanoseconds{0}) {
        _keep_ms = 0;
        return;
    }
    const milliseconds length = rules.length_for(ttl);
    _length_ms = std::max(_length_ms, static_cast<uint32_t>(length.count()));
    const nanoseconds covered = std::min(ttl, rules.longest_promise());
    const nanoseconds keep = covered + std::max(nanoseconds{0}, length - covered) / 2;
    _keep_ms = static_cast<uint32_t>(std::chrono::ceil<milliseconds>(keep).count());
}

bool lease::cover(instant until, const lease_turn& turn) {
    if (_phase != phase::held || turn.now >= _valid_until) {
        return false;
    }
    if (until <= _valid_until) {
        return true;
    }
    const nanoseconds ttl = until - turn.now;
    if (ttl > turn.rules.longest_promise()) {
        _needed_until = std::max(_needed_until, until);
        return true;
    }
    _length_ms = std::max(_length_ms, static_cast<uint32_t>(turn.rules.length_for(ttl).count()));
    extend(turn);
    return false;
}

std::optional<std::string> lease::verify(const lease_rules& rules) const {
    if ((_phase == phase::acquiring) != (_work && _work->round.has_value())) {
        return "a round without acquiring, or the other way round";
    }
    if (_phase != phase::held && _work && _work->renewal) {
        return "a renewal of a lease that is not held";
    }
    if (_phase == phase::held && _holders.size() > rules.masters) {
        return "more holders than masters";
    }
    if (!((_holders | _in_flight) - _may_hold).empty() && _phase == phase::held) {
        return "a release would miss a master";
    }
    if (_phase != phase::held && _fences_left > 0 && _phase != phase::acquiring) {
        return "fences without a lease";
    }
    return std::nullopt;
}

}  // namespace lockkeeper::shards
