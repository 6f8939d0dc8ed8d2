#include "shards/core/admission.hh"

#include <algorithm>
#include <utility>

#include "shards/core/fence_slots.hh"
#include "shards/core/lease_terms.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::shards {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// How soon a refused master is looked at again.
constexpr nanoseconds between_handshakes = milliseconds(1'000);
/// How soon masters that did not answer are asked again.
constexpr nanoseconds between_reads = milliseconds(250);

/// The clock floor counts seconds: this much later it is above all that was counted from it.
constexpr nanoseconds clock_floor_step = std::chrono::seconds(1);

constexpr std::string_view always = "always";

bool writes_before_it_answers(const handshake_facts& facts) {
    return facts.appendonly == "yes" && facts.appendfsync == always;
}

size_t count(std::span<const other_master> others, other_master::standing what) {
    return static_cast<size_t>(std::ranges::count(others, what, &other_master::what));
}

}  // namespace

std::optional<std::string> admission::objection(const handshake_facts& facts) {
    if (facts.run_id.empty()) {
        return "it does not tell its run_id";
    }
    if (facts.role != "master") {
        return "it is a " + (facts.role == "slave" ? std::string("replica") : facts.role) +
               ", not a master";
    }
    if (facts.cluster) {
        return "it is in cluster mode, where keys move between servers";
    }
    if (facts.same_as_another) {
        return "it is the same server as another master of this group";
    }
    if (facts.loading) {
        return "it is loading its data";
    }
    if (!facts.refuses_writes.empty()) {
        return "it refuses writes: " + facts.refuses_writes;
    }
    if (facts.maxmemory.value_or(0) > 0 && facts.maxmemory_policy.value_or("") != "noeviction") {
        return "it may evict locks: maxmemory-policy is " +
               facts.maxmemory_policy.value_or("not known") + ", not noeviction";
    }
    return std::nullopt;
}

size_t admission::others_needed() const {
    return _options.masters - quorum_of(_options.masters) + 1;
}

instant admission::full_quarantine() const {
    return _seen + surely_passed(_options.max_ttl);
}

std::optional<instant> admission::until() const {
    if (_state != state::pending) {
        return std::nullopt;
    }
    return _stage == stage::quarantine ? _until : full_quarantine();
}

void admission::refuse(std::string why, instant now) {
    _state = state::refused;
    _stage = stage::handshake;
    _reason = std::move(why);
    _not_before = now + between_handshakes;
}

void admission::on_connection_lost() {
    _state = state::disconnected;
    _stage = stage::handshake;
    _not_before = start_of_time;
    _reason = "no connection";
}

void admission::on_vote_refused() {
    if (_state == state::admitted) {
        _state = state::pending;
        _stage = stage::handshake;
        _not_before = start_of_time;
        _reason = "it has forgotten its admission";
    }
}

void admission::on_handshake(const handshake_facts& facts, instant now) {
    if (auto why = objection(facts)) {
        return refuse(std::move(*why), now);
    }
    _run_id = facts.run_id;
    _unverified = !facts.maxmemory || !facts.appendonly;
    _durability = writes_before_it_answers(facts) ? always : "";
    const bool marked = facts.incarnation == facts.run_id || planted(fault::no_incarnation_check);
    if (marked && facts.fingerprint && facts.fingerprint != _options.fingerprint) {
        return refuse("it belongs to a fleet that is configured otherwise (" + *facts.fingerprint +
                          ", here " + _options.fingerprint + ")",
                      now);
    }
    if (marked) {
        _was_admitted = true;
        if (!_distrusted) {
            _state = state::admitted;
            _reason = _unverified ? "unverified: CONFIG GET is not allowed" : "";
        } else if (_state != state::pending || _stage == stage::handshake) {
            // Its clock stepped before the connection broke or a step failed; the wait goes on.
            _state = state::pending;
            _stage = stage::rounds;
            _not_before = start_of_time;
        }
        return;
    }
    // After a step of its clock, what it kept may have ended too early.
    const bool kept_in_time = !std::exchange(_distrusted, false);
    _earlier = facts.incarnation;
    _first_contact = !facts.incarnation && !_was_admitted &&
                     _options.first == admission_options::first_contact::quick;
    _kept_everything = facts.incarnation && facts.durability == always &&
                       writes_before_it_answers(facts) && kept_in_time &&
                       (!facts.promoted || planted(fault::promotion_trusted));
    _state = state::pending;
    _stage = stage::pend;
    _not_before = start_of_time;
    _reason = !facts.incarnation ? "it remembers no admission"
              : facts.promoted   ? "it was a replica of what was admitted"
                                 : "it restarted";
}

void admission::on_pend(const pend_answer& answer, instant now) {
    if (_state != state::pending || _stage != stage::pend) {
        return;
    }
    if (answer.already_admitted) {
        _stage = stage::handshake;
        _not_before = start_of_time;
        return;
    }
    if (answer.incarnation != _earlier && !planted(fault::memory_not_checked_again)) {
        // It has forgotten since the handshake, and the nonce is as young as that.
        _kept_everything = false;
    }
    const bool same_nonce =
        answer.nonce == _nonce || (planted(fault::admission_without_nonce) && !_nonce.empty());
    if (!same_nonce || _nonce_run_id != _run_id) {
        _seen = now;
    }
    _nonce = answer.nonce;
    _nonce_run_id = _run_id;
    begin_waiting(now);
}

void admission::begin_waiting(instant now) {
    _until = full_quarantine();
    _not_before = start_of_time;
    _stage = _first_contact || _kept_everything ? stage::witnesses : stage::rounds;
    if (planted(fault::no_quarantine)) {
        _until = now;
        _stage = stage::quarantine;
    }
    if (planted(fault::short_quarantine)) {
        _until = _seen + _options.max_ttl / 4;
        _stage = stage::quarantine;
    }
    if (planted(fault::horizon_read_at_once) && _stage == stage::rounds) {
        _stage = stage::horizon;
    }
}

void admission::on_clock_step(instant now) {
    if (_state == state::pending && _stage != stage::handshake && !_distrusted) {
        // It waits already, unless for nothing: what it kept may have ended too early.
        if (std::exchange(_kept_everything, false) && _stage != stage::pend) {
            begin_waiting(now);
        }
        return;
    }
    _distrusted = true;
    _seen = now;
    _until = full_quarantine();
    if (_state != state::admitted && _stage == stage::handshake) {
        return;  // it waits when it has been greeted again
    }
    _state = state::pending;
    _reason = "its clock stepped";
    _stage = stage::rounds;
    _not_before = start_of_time;
}

void admission::on_others(std::span<const other_master> others, uint64_t unix_seconds,
                          instant now) {
    if (_state != state::pending) {
        return;
    }
    if (_stage == stage::horizon) {
        read_horizon(others, now);
    } else if (_stage == stage::witnesses) {
        count_witnesses(others, now);
    } else if (_stage == stage::counters) {
        read_counters(others, unix_seconds, now);
    }
}

void admission::read_horizon(std::span<const other_master> others, instant now) {
    size_t needed = others_needed();
    if (planted(fault::horizon_of_one_master)) {
        needed = 1;
    }
    if (count(others, other_master::standing::admitted) < needed) {
        // Nothing shorter is known. Perhaps later.
        if (now >= full_quarantine()) {
            _stage = stage::quarantine;
        }
        _not_before = std::min(now + between_reads, full_quarantine());
        return;
    }
    nanoseconds longest{0};
    for (const auto& other : others) {
        if (other.what == other_master::standing::admitted) {
            longest = std::max(longest, other.horizon);
        }
    }
    _until = std::min(now + surely_passed(longest), full_quarantine());
    _stage = stage::quarantine;
    _not_before = start_of_time;
}

void admission::count_witnesses(std::span<const other_master> others, instant now) {
    const size_t told = count(others, other_master::standing::admitted);
    const size_t silent = count(others, other_master::standing::silent);
    const bool leases_exist = std::ranges::any_of(others, [](const other_master& other) {
        return other.what == other_master::standing::admitted && other.horizon > nanoseconds{0};
    });
    if (_first_contact && leases_exist) {
        // The group is in use, so it is this master that has forgotten.
        _first_contact = false;
        return begin_waiting(now);
    }
    _from_clock = false;
    if (told < others_needed() && !_first_contact) {
        // Those who have forgotten their counters will never tell them; the silent ones may.
        const bool hopeless = told + silent < others_needed();
        const instant wait_for_silent = _seen + 2 * surely_passed(_options.max_ttl);
        if (!_kept_everything && !hopeless && now < wait_for_silent) {
            _reason = "too few of the other masters can be asked for their fences";
            _not_before = now + between_reads;
            return;
        }
        if (_kept_everything) {
            // Its own counters are what there is. If they are those of a replica that was promoted
            // and restarted since, then the clock must be ahead of what it has missed.
            const instant floor_moved = _seen + surely_passed(clock_floor_step);
            if (now < floor_moved && !planted(fault::clock_floor_at_once)) {
                _not_before = floor_moved;
                return;
            }
        } else {
            if (_options.recovery == admission_options::counter_recovery::strict) {
                _reason = "a majority lost its fence counters; an operator must admit it";
                _not_before = now + between_reads;
                return;
            }
            if (now < full_quarantine()) {
                _not_before = full_quarantine();
                return;
            }
            _from_clock = true;
        }
    }
    _stage = stage::counters;
    _not_before = start_of_time;
}

void admission::read_counters(std::span<const other_master> others, uint64_t unix_seconds,
                              instant now) {
    const size_t told = count(others, other_master::standing::admitted);
    if (told < others_needed() && !_first_contact && !_kept_everything && !_from_clock) {
        _stage = stage::witnesses;
        _not_before = now + between_reads;
        return;
    }
    _base = fence_floor(unix_seconds);
    for (const auto& other : others) {
        if (other.what == other_master::standing::admitted) {
            _base = std::max(_base, other.counter);
        }
    }
    if (planted(fault::no_counter_reseed)) {
        _base = 0;
    }
    _stage = stage::admit;
    _not_before = start_of_time;
}

void admission::on_admit(bool admitted, instant now) {
    if (_state != state::pending || _stage != stage::admit) {
        return;
    }
    if (!admitted) {
        // It has forgotten again, or somebody else was faster.
        _stage = stage::handshake;
        _not_before = now;
        return;
    }
    _state = state::admitted;
    _was_admitted = true;
    _nonce.clear();
    _epoch_bumps += _from_clock || _first_contact ? 1 : 0;
    _reason = _unverified ? "unverified: CONFIG GET is not allowed" : "";
}

void admission::on_failed_step(std::string why, instant now) {
    if (_state == state::admitted) {
        return;
    }
    // On its way to be admitted it stays so; of others nothing else is known.
    _state = _state == state::pending ? state::pending : state::refused;
    _stage = stage::handshake;
    _reason = std::move(why);
    _not_before = now + between_reads;
}

void admission::on_refusal(std::string why, instant now) {
    if (_state == state::admitted) {
        refuse(std::move(why), now);
    }
}

void admission::on_another_look(const handshake_facts& facts, instant now) {
    if (_state != state::admitted) {
        return;
    }
    if (auto why = objection(facts)) {
        refuse(std::move(*why), now);
    }
}

admission_step admission::next(instant now) {
    using kind = admission_step::kind;
    if (_state == state::disconnected) {
        return {.what = kind::shake_hands, .at = _not_before};
    }
    if (_state == state::admitted) {
        return {.what = kind::wait, .at = end_of_time};
    }
    if (_stage == stage::handshake) {
        return {.what = kind::shake_hands, .at = _not_before};
    }
    if (_stage == stage::rounds) {
        const instant ended = _seen + surely_passed(_options.round_timeout);
        if (now < ended) {
            return {.what = kind::wait, .at = ended};
        }
        _stage = stage::horizon;
    }
    if (_stage == stage::quarantine) {
        if (now < _until) {
            return {.what = kind::wait, .at = _until};
        }
        if (_distrusted) {
            _distrusted = false;
            _state = state::admitted;
            _reason = "";
            return {.what = kind::wait, .at = end_of_time};
        }
        _stage = stage::witnesses;
    }
    switch (_stage) {
        case stage::pend:
            return {.what = kind::pend,
                    .at = _not_before,
                    .durability = _kept_everything ? std::string(always) : std::string()};
        case stage::horizon:
        case stage::witnesses:
            return {.what = kind::read_horizons, .at = _not_before};
        case stage::counters:
            return {.what = kind::read_counters, .at = _not_before};
        case stage::admit:
            return {.what = kind::admit,
                    .at = _not_before,
                    .nonce = _nonce,
                    .base = _base,
                    .durability = _durability};
        case stage::handshake:
        case stage::rounds:
        case stage::quarantine:
            break;
    }
    return {.what = kind::wait, .at = end_of_time};
}

}  // namespace lockkeeper::shards
