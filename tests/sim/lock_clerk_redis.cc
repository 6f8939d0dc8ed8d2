#include "lock_clerk.hh"
#include "violation.hh"

/// What clients of Redis and administrators do at the counter. P5: each answer is the one that a
/// simple model of Redis gives.
namespace lockkeeper::sim {
namespace {

using answer = expected::answer;
using shards::compare_outcome;
using shards::expiry_change;

expiry_change ending(std::optional<milliseconds> ttl, instant now) {
    return ttl ? expiry_change::at(now + *ttl) : expiry_change::never();
}

}  // namespace

bool lock_clerk::set_nx(size_t key, std::string_view token, uint32_t actor, uint64_t connection,
                        std::optional<milliseconds> ttl) {
    begin(act::set_nx, key, token);
    const bool was_there = _oracle.present(key);
    const expected due = _oracle.expect_set_nx(key, token, actor, connection, has_fences());
    const auto got = table().set({.key = key_of(key),
                                  .value = token,
                                  .condition = shards::set_condition::if_absent,
                                  .expiry = ending(ttl, _now),
                                  .client = connection},
                                 _now);
    if (!got) {
        demand(
            (due.what == answer::failed || due.what == answer::either) && due.error == got.error(),
            "P5", "SET NX failed without a reason");
        note(act::set_nx, key, 2, token);
        finish();
        return false;
    }
    demand(due.what == answer::either || got->stored == (due.what == answer::granted), "P5",
           got->stored ? "SET NX was answered as won and should not be"
                       : "SET NX was refused and should not be");
    note(act::set_nx, key, got->stored ? 1 : 0, token);
    if (got->stored) {
        _counted.saw(was_there ? feature::resent : feature::plain_grants);
        const uint64_t fence = fence_of(key);
        _oracle.set_nx(key, token, actor, connection, ttl, fence);
        const shards::lock_policy& policy = _plan.keys[key].policy;
        const bool renewed = ttl && policy.renew;
        const bool without_bound = !ttl || (renewed && policy.max_hold == milliseconds::zero());
        _beliefs.granted(
            key,
            {.owner = token,
             .connection = connection,
             .fence = fence,
             .until = without_bound ? shards::end_of_time
                                    : _now + (renewed ? std::max(policy.max_hold, *ttl) : *ttl),
             .is_fresh = !was_there,
             .after = renewed ? ttl : std::nullopt,
             .is_renewed = renewed},
            _now);
    } else {
        _oracle.refused(key, actor, connection, token, lock_oracle::asks::regularly);
    }
    finish();
    look(key);
    return got->stored;
}

bool lock_clerk::unset(size_t key, std::string_view token) {
    begin(act::unset, key, token);
    const bool due = _oracle.removed_if(key, token);
    const auto got = table().remove_if({.key = key_of(key), .comparand = token}, _now);
    demand((got.value_or(compare_outcome::absent) == compare_outcome::done) == due, "P5",
           "compare and delete was not as it should be");
    if (due) {
        _counted.saw(feature::releases);
        _beliefs.released(key, token, 0);
    }
    note(act::unset, key, due ? 1 : 0, token);
    finish();
    return due;
}

bool lock_clerk::renew(size_t key, std::string_view token, milliseconds ttl) {
    begin(act::renew, key, token);
    const bool due = _oracle.expire_if(key, token, _now + ttl);
    const auto got =
        table().expire_if_equal({.key = key_of(key),
                                 .comparand = token,
                                 .what = shards::expire_if_equal_request::change::until,
                                 .when = _now + ttl},
                                _now);
    demand((got.value_or(compare_outcome::absent) == compare_outcome::done) == due, "P5",
           "compare and expire was not as it should be");
    if (due) {
        _counted.saw(feature::renewals);
        _beliefs.extended(key, token, _now + ttl);
    }
    note(act::renew, key, due ? 1 : 0, token);
    finish();
    return due;
}

/// GET, TYPE, PTTL.
void lock_clerk::look(size_t key) {
    begin(act::look, key);
    const std::string* const text = _oracle.text(key);
    const bool present = _oracle.present(key);
    const auto got = table().get(key_of(key), _now);
    if (text != nullptr || !present) {
        demand(got && got->has_value() == present && (!present || **got == *text), "P5",
               "GET answers with something else");
    } else {
        demand(!got, "P5", "GET of something else than a string succeeds");
    }
    const auto lifetime = table().lifetime_of(key_of(key), _now);
    demand(lifetime.present == present, "P5", "EXISTS and the model differ");
    demand(!present || lifetime.until == _oracle.until(key), "P5", "PTTL and the model differ");
    note(act::look, key, present ? 1 : 0);
    finish();
}

// ---- hash locks ---------------------------------------------------------------------------------

bool lock_clerk::hash_acquire(size_t key, std::string_view owner, uint32_t actor,
                              uint64_t connection, milliseconds ttl) {
    begin(act::hash_acquire, key, owner);
    const expected due = _oracle.expect_hash(key, owner, actor, has_fences());
    const bool was_free = !table().exists(key_of(key), _now);
    if (was_free && !table().may_take(key_of(key), connection, owner, _now)) {
        demand(due.what != answer::granted && due.what != answer::failed, "P5",
               "a hash lock was refused and should not be");
        table().was_refused(key_of(key), connection, owner, _now);
        _oracle.refused(key, actor, connection, owner, lock_oracle::asks::perhaps);
        note(act::hash_acquire, key, 0, owner);
        finish();
        return false;
    }
    const auto got = table().acquire(
        {.key = key_of(key), .owner = owner, .expiry = expiry_change::at(_now + ttl)}, _now);
    if (!got) {
        demand(
            (due.what == answer::failed || due.what == answer::either) && due.error == got.error(),
            "P5", "a hash lock failed without a reason");
    } else {
        demand(due.what == answer::either || got->won == (due.what == answer::granted), "P5",
               "a hash lock was answered in another way than it should be");
        if (got->won) {
            _counted.saw(feature::hash_grants);
            _oracle.hash_took(key, owner, actor, ttl);
            _beliefs.granted(key,
                             {.owner = owner,
                              .connection = connection,
                              .fence = fence_of(key),
                              .until = _now + ttl,
                              .holds = got->holds,
                              .is_fresh = got->holds == 1},
                             _now);
        } else {
            table().was_refused(key_of(key), connection, owner, _now);
            _oracle.refused(key, actor, connection, owner, lock_oracle::asks::perhaps);
        }
    }
    note(act::hash_acquire, key, got ? (got->won ? 1 : 0) : 2, owner);
    finish();
    return got && got->won;
}

void lock_clerk::hash_release(size_t key, std::string_view owner) {
    using result = shards::release_outcome::result;
    begin(act::hash_release, key, owner);
    const bool due = _oracle.is_hash_owner(key, owner);
    const auto got = table().release({.key = key_of(key), .owner = owner}, _now);
    const bool done = got && (got->what == result::freed || got->what == result::still_held);
    demand(done == due, "P5", "the release of a hash lock was not as it should be");
    if (done) {
        _oracle.hash_released(key, owner);
        _beliefs.released(key, owner, got->holds);
    }
    note(act::hash_release, key, done ? 1 : 0, owner);
    finish();
}

// ---- administrators -----------------------------------------------------------------------------

void lock_clerk::remove(size_t key) {
    begin(act::remove, key);
    const bool due = _oracle.removed(key);
    demand(table().remove(key_of(key), _now) == due, "P5", "DEL was not as it should be");
    _beliefs.forced_to_end(key);
    _counted.saw(feature::deletions, due ? 1 : 0);
    note(act::remove, key, due ? 1 : 0);
    finish();
}

void lock_clerk::set(size_t key, std::string_view token, std::optional<milliseconds> ttl) {
    begin(act::set, key, token);
    const bool was_there = _oracle.present(key);
    const bool could_fail = !has_fences() || _now < _plan.options.grants_from;
    const auto got =
        table().set({.key = key_of(key), .value = token, .expiry = ending(ttl, _now)}, _now);
    demand(got.has_value() || could_fail, "P5", "SET failed without a reason");
    if (got) {
        demand(got->stored, "P5", "SET stored nothing");
        _oracle.set(key, token, ttl, fence_of(key));
        _beliefs.forced_to_end(key);
    }
    _counted.saw(feature::overwritten, got && was_there ? 1 : 0);
    note(act::set, key, got ? 1 : 0, token);
    finish();
}

void lock_clerk::expire(size_t key, nanoseconds after) {
    begin(act::expire, key);
    const instant when = _now + after;
    const bool due = _oracle.expire(key, when);
    demand(table().expire({.key = key_of(key), .when = when}, _now) == due, "P5",
           "EXPIRE was not as it should be");
    if (due) {
        _beliefs.forced_to_end(key, when);
    }
    _counted.saw(feature::expire_commands, due ? 1 : 0);
    note(act::expire, key, due ? 1 : 0);
    finish();
}

void lock_clerk::persist(size_t key) {
    begin(act::persist, key);
    const bool due = _oracle.persist(key);
    demand(table().persist(key_of(key), _now) == due, "P5", "PERSIST was not as it should be");
    _counted.saw(feature::expire_commands, due ? 1 : 0);
    note(act::persist, key, due ? 1 : 0);
    finish();
}

void lock_clerk::break_lock(size_t key) {
    begin(act::break_lock, key);
    const bool due = _oracle.broken(key);
    demand(table().break_lock(key_of(key), _now) == due, "P5", "LK.BREAK was not as it should be");
    _beliefs.forced_to_end(key);
    _counted.saw(feature::breaks, due ? 1 : 0);
    note(act::break_lock, key, due ? 1 : 0);
    finish();
}

void lock_clerk::flush(uint32_t database) {
    begin(act::flush);
    table().flush(database);
    _oracle.flush(database);
    for (size_t key = 0; key < _plan.keys.size(); ++key) {
        if (_plan.keys[key].database == database) {
            _beliefs.forced_to_end(key);
        }
    }
    _counted.saw(feature::flushes);
    note(act::flush, 0, database);
    finish();
}

}  // namespace lockkeeper::sim
