#include "lock_clerk.hh"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "violation.hh"

namespace lockkeeper::sim {
namespace {

using namespace std::chrono_literals;
using answer = expected::answer;
using shards::lock_result;
using shards::lock_table;
using state = shards::waiter::state;

shards::policy_book policies_of(const schedule& plan) {
    std::vector<shards::policy_book::rule> rules;
    for (const key_plan& each : plan.keys) {
        rules.push_back({each.name, each.policy});
    }
    return shards::policy_book(std::move(rules));
}

/// Whether an answer is the one that was foretold.
template <typename T>
void compare(const expected& due, const lock_result<T>& got, bool granted, const char* promise) {
    if (!got) {
        const bool may_fail = due.what == answer::failed || due.what == answer::either;
        return demand(may_fail && due.error == got.error(), promise, "an error that was not due");
    }
    demand(due.what != answer::failed, promise, "an error was due and did not come");
    demand(!granted || due.what != answer::refused, promise,
           "somebody got a lock that was not its turn to get");
    demand(granted || due.what != answer::granted, promise,
           "somebody was refused a lock that was free for it");
}

}  // namespace

lock_clerk::lock_clerk(const schedule& plan, tally& counted, audience& listeners)
    : _plan(plan),
      _counted(counted),
      _listeners(listeners),
      _hasher({.low = plan.seed, .high = 1}),
      _oracle(plan),
      _beliefs(plan.keys.size()) {
    _process.emplace(plan.options, policies_of(plan), plan.waiting);
}

shards::lock_key lock_clerk::key_of(size_t key) const {
    const key_plan& plan = _plan.keys[key];
    return {.database = plan.database, .name = plan.name, .hash = _hasher.place(plan.name).bucket};
}

const char* lock_clerk::name_of(act what) {
    static constexpr const char* names[] = {
        "lost",    "wait ended", "handed on", "take",         "stops waiting", "release",
        "extend",  "confirm",    "give back", "disconnected", "SET NX",        "unset",
        "renew",   "look",       "hash",      "hash release", "DEL",           "SET",
        "EXPIRE",  "PERSIST",    "BREAK",     "FLUSH",        "orphaned",      "turn",
        "advance", "clear",      "wait",      "verify",       "restart"};
    return names[static_cast<size_t>(what)];
}

void lock_clerk::begin(act what, size_t key, std::string_view who) {
    _act = what;
    _key = key;
    _who.assign(who);
    _oracle.tick(_now);
}

std::string lock_clerk::doing() const {
    const key_plan& plan = _plan.keys[_key];
    return std::to_string(static_cast<double>((_now - start).count()) / 1e6) + " ms, " +
           name_of(_act) + " " + plan.name + "/" + std::to_string(plan.database) + " " + _who;
}

void lock_clerk::note(act what, size_t key, uint64_t result, std::string_view who) {
    _counted.note(static_cast<uint64_t>(_now.nanoseconds));
    _counted.note((static_cast<uint64_t>(what) << 32) + key);
    _counted.note(result);
    if (_counted.is_traced) [[unlikely]] {
        std::printf("%10.3f ms  %-13s %s/%u %.*s -> %" PRIu64 "\n",
                    static_cast<double>((_now - start).count()) / 1e6, name_of(what),
                    _plan.keys[key].name.c_str(), _plan.keys[key].database,
                    static_cast<int>(who.size()), who.data(), result);
    }
}

uint64_t lock_clerk::fence_of(size_t key) {
    return table().fence_of(key_of(key), _now).value_or(0);
}

lock_beliefs::told lock_clerk::told_of(const wish& what, const grant& given, size_t key) const {
    const shards::lock_policy& policy = _plan.keys[key].policy;
    return {.owner = what.owner,
            .connection = what.connection,
            .mode = what.mode,
            .permits = what.permits,
            .of = what.of,
            .fence = given.fence,
            .until = given.until,
            .holds = given.holds,
            .after = what.ttl ? std::nullopt : std::optional(policy.grace)};
}

// ---- after each operation -----------------------------------------------------------------------

void lock_clerk::finish() {
    if (!_is_deferred) {
        table().settle(_now);
    }
    tell();
    if (!has_fences()) {
        _oracle.has_no_fences();
    }
}

/// Everybody hears of everything that has ended before anybody acts upon it.
void lock_clerk::tell() {
    std::vector<place*> told;
    while (table().has_ended() || table().has_lost()) {
        for (const shards::lost_grant& each : table().take_lost()) {
            const auto plan = std::ranges::find_if(_plan.keys, [&](const key_plan& one) {
                return one.name == each.key && one.database == each.database;
            });
            const auto key = static_cast<size_t>(plan - _plan.keys.begin());
            note(act::lost, key, each.fence, each.owner);
            _oracle.told_lost(key, each.owner, each.fence, each.client);
            _beliefs.lost(key, each.owner, each.fence);
        }
        std::vector<std::pair<place*, std::optional<lock_oracle::grant_kind>>> batch;
        while (shards::waiter* const next = table().take_ended()) {
            place& who = static_cast<place&>(*next);
            ++_ends;
            batch.emplace_back(&who, _oracle.ended(who));
        }
        for (const auto& [who, kind] : batch) {
            tell(*who, kind);
            told.push_back(who);
        }
    }
    for (place* const who : told) {
        _listeners.wait_ended(*who);
    }
}

void lock_clerk::tell(place& who, std::optional<lock_oracle::grant_kind> kind) {
    _counted.saw(who.how == state::granted     ? feature::hand_offs
                 : who.how == state::timed_out ? feature::time_outs
                 : who.how == state::cancelled ? feature::cancelled
                                               : feature::refused_waits);
    note(act::wait_ended, who.key_index, (static_cast<uint64_t>(who.how) << 32) + who.actor,
         who.owner);
    if (who.how == state::granted) {
        const wish wanted = who.wanted();
        saw_grant(wanted, who.given, *kind);
        if (_listeners.is_unreachable(who)) {
            take_back(who);
        } else {
            auto told = told_of(wanted, who.given, who.key_index);
            told.is_fresh = kind == lock_oracle::grant_kind::fresh;
            if (who.is_collected && !told.is_fresh) {
                _beliefs.counted(who.key_index, who.owner, who.given.holds);
            } else {
                _beliefs.granted(who.key_index, told, _now);
            }
        }
        note(act::handed_on, who.key_index, who.given.fence, who.owner);
    }
}

void lock_clerk::take_back(const place& who) {
    _counted.saw(feature::taken_back);
    _beliefs.withdrawn(who.key_index, who.given.fence);
    demand(table().take_back(key_of(who.key_index), who.owner, who.given.fence, _now), "P4",
           "a grant that nobody was told of could not be taken back");
    _oracle.released(who.key_index, who.owner);
    if (!_is_deferred) {
        table().settle(_now);
    }
}

// ---- locks with owners --------------------------------------------------------------------------

lock_clerk::outcome lock_clerk::acquire(size_t key, const wish& what, place* line) {
    begin(act::take, key, what.owner);
    const expected due = _oracle.expect_take(key, what, has_fences());
    lock_result<shards::grant_outcome> got = shards::grant_outcome{};
    if (what.is_parked) {
        // A SET NX, whose answer is then held back.
        const bool won = set_nx(key, what.owner, what.actor, what.connection, what.ttl);
        if (won) {
            return {reply::granted, {.fence = fence_of(key), .until = _now + *what.ttl}};
        }
    } else {
        got = table().take({.key = key_of(key),
                            .owner = what.owner,
                            .client = what.connection,
                            .mode = what.mode,
                            .permits = what.permits,
                            .of = what.of,
                            .ttl = what.ttl,
                            .is_collected = what.is_collected},
                           line != nullptr ? lock_table::if_refused::will_wait
                                           : lock_table::if_refused::may_ask_again,
                           _now);
        compare(due, got, got && got->granted, "P3");
    }
    const bool granted = got && got->granted;
    note(act::take, key,
         got ? got->given.fence * granted : 1'000 + static_cast<uint64_t>(got.error()), what.owner);
    if (granted) {
        auto told = told_of(what, got->given, key);
        const auto kind = _oracle.took(key, what, got->given);
        saw_grant(what, got->given, kind);
        told.is_fresh = kind == lock_oracle::grant_kind::fresh;
        if (what.is_collected && !told.is_fresh) {
            _beliefs.counted(key, what.owner, got->given.holds);
        } else {
            _beliefs.granted(key, told, _now);
        }
        finish();
        return {reply::granted, got->given};
    }
    if (!got) {
        _counted.saw(got.error() == lock_error::no_fence   ? feature::no_fence
                     : got.error() == lock_error::starting ? feature::starting
                                                           : feature::wrong_type);
    } else if (!what.is_parked && !_oracle.present(key)) {
        _counted.saw(feature::kept_from);
    }
    finish();
    const bool may_change =
        got || got.error() == lock_error::starting || got.error() == lock_error::no_fence;
    if (line == nullptr || !may_change) {
        if (got && !what.is_parked) {
            _oracle.refused(key, what.actor, what.connection, what.owner,
                            lock_oracle::asks::perhaps);
        }
        finish();
        return {got ? reply::refused : reply::failed, {}};
    }
    line->owner = what.owner;
    line->client = what.connection;
    line->actor = what.actor;
    line->mode = what.mode;
    line->permits = what.permits;
    line->of = what.of;
    line->ttl = what.ttl;
    line->is_parked = what.is_parked;
    line->is_collected = what.is_collected;
    line->key_index = key;
    const auto refusal = _oracle.expect_entry(*line);
    const auto entered = table().wait(*line, key_of(key), _now);
    note(act::wait, key, entered ? 0 : 1'000 + static_cast<uint64_t>(entered.error()), what.owner);
    demand(entered.has_value() == !refusal && (!refusal || *refusal == entered.error()), "limits",
           "a place in line was given or refused against the rules");
    if (!entered) {
        _counted.saw(feature::no_room);
    } else {
        ++_waits;
        _oracle.entered(*line);
    }
    finish();
    return {entered ? reply::waits : reply::failed, {}};
}

void lock_clerk::stop_waiting(place& who) {
    begin(act::stop_waiting, who.key_index, who.owner);
    who.asked_to_leave = true;
    table().stop_waiting(who, _now);
    demand(who.how != state::waiting, "P4", "a waiter that left is still in line");
    note(act::stop_waiting, who.key_index, who.actor, who.owner);
    finish();
}

std::optional<int64_t> lock_clerk::release(size_t key, std::string_view owner) {
    begin(act::release, key, owner);
    const auto due = _oracle.released(key, owner);
    const auto left = table().release_hold(key_of(key), owner, _now);
    demand(left.has_value() != due.fails && (due.fails || *left == due.left), "I9",
           "a release was answered with another number of holds");
    const auto answered = left.value_or(std::nullopt);
    if (answered) {
        _counted.saw(feature::releases);
        _beliefs.released(key, owner, *answered);
    }
    note(act::release, key, answered ? static_cast<uint64_t>(*answered) : 99, owner);
    finish();
    return answered;
}

bool lock_clerk::extend(size_t key, std::string_view owner, milliseconds ttl) {
    begin(act::extend, key, owner);
    const auto due = _oracle.extended(key, owner, ttl);
    const auto got = table().extend_hold(key_of(key), owner, ttl, _now);
    demand(got.value_or(std::nullopt) == due, "I9", "an extension was not as it should be");
    if (due) {
        _counted.saw(feature::extensions);
        _beliefs.extended(key, owner, *due);
    }
    note(act::extend, key, due ? 1 : 0, owner);
    finish();
    return due.has_value();
}

bool lock_clerk::holds(size_t key, std::string_view owner, uint64_t fence) {
    begin(act::confirm, key, owner);
    const bool due = _oracle.holds(key, owner, fence);
    demand(table().holds(key_of(key), owner, fence, _now) == due, "I9",
           "a grant is said to be there and is not, or the reverse");
    note(act::confirm, key, due ? 1 : 0, owner);
    finish();
    return due;
}

bool lock_clerk::confirm(size_t key, const wish& what, const grant& given) {
    begin(act::confirm, key, what.owner);
    const bool is_fresh = given.holds == 1;
    const auto due = _oracle.confirmed(key, what, given.fence, is_fresh);
    const auto got =
        table()
            .confirm({.key = key_of(key),
                      .owner = what.owner,
                      .client = what.connection,
                      .ttl = what.ttl,
                      .repeats = given.fence},
                     is_fresh ? shards::collected_as::fresh : shards::collected_as::held_before,
                     _now)
            .value();
    demand(got.has_value() == due.has_value() && (!due || got->until == *due), "P1",
           "one of several locks has another end than its owner was told");
    if (due && is_fresh && what.ttl) {
        _beliefs.extended(key, what.owner, *due);
    } else if (due) {
        auto told = told_of(what, *got, key);
        told.is_fresh = false;
        _beliefs.granted(key, told, _now);
    }
    note(act::confirm, key, due ? 2 : 0, what.owner);
    finish();
    return due.has_value();
}

void lock_clerk::give_back(size_t key, std::string_view owner, uint64_t fence) {
    begin(act::give_back, key, owner);
    const bool due = _oracle.holds(key, owner, fence);
    demand(table().take_back(key_of(key), owner, fence, _now) == due, "I9",
           "one of several locks was not given back as it should be");
    if (due) {
        _beliefs.counted(key, owner, _oracle.released(key, owner).left.value_or(0));
    }
    note(act::give_back, key, due ? 1 : 0, owner);
    finish();
}

// ---- connections and time -----------------------------------------------------------------------

void lock_clerk::disconnect(uint64_t connection) {
    begin(act::disconnect);
    _counted.saw(feature::disconnects);
    table().client_left(connection, _now);
    _oracle.disconnected(connection);
    _beliefs.disconnected(connection, _now);
    note(act::disconnect, 0, connection);
    finish();
}

void lock_clerk::orphan(size_t key, uint64_t connection) {
    begin(act::orphan, key);
    table().orphan(key_of(key), connection, _now, _now);
    _oracle.orphan(key, connection);
    note(act::orphan, key, connection);
    finish();
}

void lock_clerk::defer(bool on) {
    _is_deferred = on;
    _counted.saw(feature::turns, on ? 1 : 0);
    note(act::turn, 0, on ? 1 : 0);
    begin(act::turn);
    finish();
}

void lock_clerk::advance() {
    begin(act::advance);
    note(act::advance, 0, 0);
    table().advance(_now);
    finish();
    _oracle.check_served();
}

void lock_clerk::clear_away() {
    begin(act::clear);
    note(act::clear, 0, 0);
    while (table().expire_due(_now, 100).more) {
    }
    finish();
    _oracle.check_told();
}

void lock_clerk::raise_fences(uint64_t by) {
    table().fences().raise_limit(table().fences().last() + by);
}

// ---- the table's own word for it ----------------------------------------------------------------

void lock_clerk::verify() {
    begin(act::verify);
    if (const auto broken = table().verify()) {
        throw violation("verify", *broken);
    }
    if (!_is_deferred) {
        if (const auto broken = table().verify_lines(_now)) {
            throw violation("verify", *broken);
        }
    }
    finish();  // a look may have found that something has expired
    demand(_waits == _ends + _oracle.waiting() && _oracle.waiting() == table().waiters(), "I11",
           "waiters do not add up");
}

void lock_clerk::check_empty() {
    if (_plan.asks_the_table) {
        verify();
    }
    _oracle.check_empty();
    demand(table().stats().keys == 0, "P4", "an entry was left behind");
    size_t lines = 0;
    table().for_each_line([&lines](shards::lock_line&) { ++lines; });
    demand(lines == 0, "P4", "a line was left behind");
    _counted.saw(feature::expiries, _oracle.expired());
    _counted.saw(feature::delayed, _oracle.delayed());
    count();
}

/// What only the table knows of, and what its own counters say.
void lock_clerk::count() {
    const shards::grant_counters& counted = table().counted();
    _counted.saw(feature::reservations, counted.reservations);
    _counted.saw(feature::losses, counted.lost);
    demand(counted.waits == _waits, "I11", "waits are miscounted");
}

void lock_clerk::saw_grant(const wish& what, const grant& given, lock_oracle::grant_kind kind) {
    const bool fresh = kind == lock_oracle::grant_kind::fresh;
    _counted.saw(!fresh                                              ? feature::second_holds
                 : given.holds > 1 && what.mode == lock_mode::shared ? feature::downgrades
                 : what.is_parked                                    ? feature::parked_hand_offs
                 : what.mode == lock_mode::shared                    ? feature::shared_grants
                 : what.mode == lock_mode::permits                   ? feature::permit_grants
                                                                     : feature::native_grants);
    _counted.saw(feature::bound_grants, fresh && !what.ttl ? 1 : 0);
}

void lock_clerk::restart() {
    begin(act::restart);
    _counted.saw(feature::restarts);
    note(act::restart, 0, 0);
    demand(table().waiters() == 0, "P4", "a process ends while somebody waits");
    count();
    _waits = _ends = 0;
    // Nothing above the ceiling was ever granted, and the next process begins there.
    auto options = _plan.options;
    options.fence_floor = table().fences().last() + table().fences().left();
    options.fence_ceiling = options.fence_floor + 50;
    _process.emplace(options, policies_of(_plan), _plan.waiting);
    _oracle.restarted();
    for (size_t key = 0; key < _plan.keys.size(); ++key) {
        _beliefs.forced_to_end(key);
    }
}

}  // namespace lockkeeper::sim
