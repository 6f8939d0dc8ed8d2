#include "shards/lease_keeper.hh"

#include <sys/random.h>

#include <algorithm>
#include <memory>
#include <seastar/core/coroutine.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/when_all.hh>
#include <seastar/coroutine/maybe_yield.hh>
#include <seastar/util/log.hh>
#include <stdexcept>

#include "shards/background.hh"
#include "shards/masters/lease_value.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

ss::logger log("leases");

/// Of a command, after a round that found no majority.
constexpr auto pause_before_retry = 5ms;
/// How long a key is kept that many want and nobody has.
constexpr auto linger = 10ms;
/// The same if clients of other proxies do: those who sleep until they are woken come here to take
/// it, and here is what libraries keep beside a lock, their queues above all. Nobody is kept
/// waiting: all proxies know the way.
constexpr auto linger_for_peers = 1s;
/// A crowd that polls could keep a key here for ever. Other proxies that are not linked with this
/// one get their chance from time to time.
constexpr auto kept_for_pollers = 1s;
constexpr auto left_to_others = 100ms;
/// A lease that is woken and asks for a moment that has passed could hold up its core for ever. It
/// must not, and this makes sure.
constexpr auto between_ringings = 100us;
/// Many leases may be due at once, as when a majority of the masters has gone: clients get their
/// turn in between.
constexpr size_t due_at_once = 256;

using phase = lease::phase;

}  // namespace

struct lease_keeper::record final : lease_record {
    using lease_record::lease_record;
    std::vector<ss::promise<>> waiting;  ///< commands, for a change of this lease
};

/// A question to the masters of one key, for all who want to know.
struct lease_keeper::search : ss::enable_lw_shared_from_this<search> {
    search(home_search how, uint32_t number, std::string_view key_name, key_hash key_hash,
           attempt_id attempt)
        : state(std::move(how)), database(number), name(key_name), hash(key_hash), id(attempt) {}

    home_search state;
    uint32_t database;
    std::string name;
    key_hash hash;
    attempt_id id;
    ss::shared_promise<> done{};
    ss::timer<ss::lowres_clock> deadline{};
};

lease_keeper::lease_keeper(lock_table& table, stripe_map stripes, std::vector<lease_voters*> groups,
                           std::function<void(instant)> changed)
    : _table(table),
      _stripes(std::move(stripes)),
      _groups(std::move(groups)),
      _changed(std::move(changed)),
      _timer([this] { on_due(); }) {}

lease_keeper::~lease_keeper() = default;

ss::future<> lease_keeper::stop() {
    _stopped = true;
    _timer.cancel();
    for (uint64_t at = 0; at != node_map<lease_record>::end_of_positions;) {
        at = _records.visit_bucket(at, [](lease_record& one) {
            for (auto& waiting : std::exchange(static_cast<record&>(one).waiting, {})) {
                waiting.set_value();
            }
        });
    }
    while (!_searches.empty()) {
        const auto open = _searches.begin()->second;
        open->state.on_time_up();
        conclude(*open);
    }
    return _gate.close();
}

// ---- records ------------------------------------------------------------------------------------

/// Databases are separate, but share one map.
uint64_t lease_keeper::hash_of(const lock_key& key) {
    return key.hash.value ^ (key.database * 0x9E37'79B9'7F4A'7C15U);
}

lease_keeper::record* lease_keeper::find(const lock_key& key) {
    return static_cast<record*>(_records.find(hash_of(key), key.name));
}

lease_keeper::record& lease_keeper::open(const lock_key& key) {
    if (record* const known = find(key)) {
        return *known;
    }
    _due.reserve_one();
    const auto stripe = static_cast<uint32_t>(_stripes.stripe_of(key.name));
    return static_cast<record&>(
        _records.insert(std::make_unique<record>(key, hash_of(key), stripe)));
}

void lease_keeper::close(record& one) {
    if (one.heap_index != not_in_heap) {
        _due.remove(one);
    }
    std::erase(_idle, &one);
    for (auto& waiting : std::exchange(one.waiting, {})) {
        waiting.set_value();
    }
    _records.take(one).reset();
}

/// Random bits from the kernel, for ids that nobody may guess.
uint64_t lease_keeper::random_number() {
    if (_random_left == 0) {
        if (getrandom(_random.data(), sizeof(_random), 0) != sizeof(_random)) {
            throw std::runtime_error("the kernel has no random numbers");
        }
        _random_left = _random.size();
    }
    return _random[--_random_left];
}

/// Lets a lease decide something, and sends what it asks for.
template <typename Work>
void lease_keeper::with(record& one, instant now, Work work) {
    lease_voters& group = *_groups[one.stripe];
    std::vector<lease_action> out = std::exchange(_out, {});
    out.clear();
    work(one.held, lease_turn{.rules = group.rules(),
                              .admitted = group.admitted(),
                              .now = now,
                              .random = random_number(),
                              .out = out});
    for (const lease_action& each : out) {
        group.carry_out(each, one.key());
    }
    _out = std::move(out);
    const instant due = std::min(one.held.wake_at(group.rules()), one.lingers_until);
    if (due != end_of_time) {
        _due.set(one, std::max(due, _next_ringing));
    } else if (one.heap_index != not_in_heap) {
        _due.remove(one);
    }
    schedule(now);
}

void lease_keeper::schedule(instant now) {
    if (_stopped || _due.empty() || _due.top().expiry >= _timer_at) {
        return;
    }
    _timer_at = _due.top().expiry;
    const auto wait = std::max<std::chrono::nanoseconds>(_timer_at - now, 0ns) + 50us;
    _timer.rearm(ss::timer<>::clock::now() + std::min<std::chrono::nanoseconds>(wait, 24h));
}

// ---- answers and time ---------------------------------------------------------------------------

/// Something happened to a lease: who waits for it looks again, and what it can serve is served.
void lease_keeper::after(record& one, instant now) {
    const lock_key key = one.key();
    const phase state = one.held.state();
    const bool is_settled = state != phase::acquiring && !one.held.is_extending();
    if (is_settled) {
        for (auto& waiting : std::exchange(one.waiting, {})) {
            waiting.set_value();
        }
    }
    if (state != phase::unreachable) {
        one.unreachable_since = end_of_time;
    }
    if (state == phase::unreachable) {
        _table.refuse_line(key, lock_error::no_lease, now);
    }
    if (state == phase::held && one.pins == 0 && !is_awaited(key)) {
        look_at(one);  // whoever it was for may have left
    }
    if (state == phase::lost) {
        _table.exists(key, now);  // finds its entry void
    }
    if (state == phase::elsewhere && finds_homes() && !_stopped && is_awaited(key)) {
        background(_gate, log, "sending a line to its home",
                   [this, database = key.database, name = std::string(key.name), hash = key.hash] {
                       return send_line_home(database, name, hash);
                   });
    }
    _table.lease_changed(key);
}

bool lease_keeper::is_awaited(const lock_key& key) const {
    const lock_line* const line = _table.line_of(key);
    return line != nullptr && !line->queue.empty();
}

/// A round for those in line that could not even begin, for too few masters are there: nobody will
/// answer. They are told when that has been so for as long as a command is patient; connections
/// that break together are back sooner. True if they were.
bool lease_keeper::give_up_line(record& one, instant now) {
    if (one.held.state() != phase::unreachable) {
        return false;
    }
    one.unreachable_since = std::min(one.unreachable_since, now);
    const instant patient_until = one.unreachable_since + patience();
    if (now < patient_until) {
        _due.set(one, std::min(one.held.wake_at(_groups[one.stripe]->rules()), patient_until));
        schedule(now);
        return false;
    }
    after(one, now);
    return true;
}

void lease_keeper::count_change(const record& one, phase before, instant now) {
    const phase state = one.held.state();
    if (state == before) {
        return;
    }
    if (before == phase::acquiring && state == phase::held) {
        _counted.count_won(now - one.began);
    }
    _counted.elsewhere += before == phase::acquiring && state == phase::elsewhere ? 1 : 0;
    _counted.unreachable += before == phase::acquiring && state == phase::unreachable ? 1 : 0;
    _counted.lost += before == phase::held && state == phase::lost ? 1 : 0;
}

/// An extension was under way and is over.
void lease_keeper::count_renewal(const record& one, instant valid_before, instant now) {
    if (one.held.state() != phase::held) {
        return;  // lost, and counted as that
    }
    const instant valid = one.held.valid_until();
    if (valid <= valid_before) {
        ++_counted.renewals_failed;
        return;
    }
    ++_counted.renewed;
    _counted.renewed_late += 6 * (valid_before - now) < valid - now ? 1 : 0;
}

template <typename Work>
void lease_keeper::on_answer(const lock_key& key, Work work) {
    record* const one = find(key);
    if (one == nullptr || _stopped) {
        return;  // given back meanwhile
    }
    const auto now = read_clock();
    const auto before = one->held.state();
    const auto valid = one->held.valid_until();
    const bool extending = one->held.is_extending();
    with(*one, now, work);
    count_change(*one, before, now);
    if (extending && !one->held.is_extending()) {
        count_renewal(*one, valid, now);
    }
    if (one->held.state() != before || one->held.valid_until() != valid ||
        one->held.is_extending() != extending) {
        after(*one, now);
        _changed(now);
    }
}

void lease_keeper::voted(const lock_key& key, attempt_id attempt, master_index from,
                         const vote& answer) {
    on_answer(key, [&](lease& held, const lease_turn& turn) {
        held.on_vote(attempt, from, answer, turn);
    });
}

void lease_keeper::raised(const lock_key& key, attempt_id attempt, master_index from, uint64_t to,
                          bool confirmed) {
    on_answer(key, [&](lease& held, const lease_turn& turn) {
        held.on_raised(attempt, from, to, confirmed, turn);
    });
}

void lease_keeper::renewed(const lock_key& key, attempt_id attempt, master_index from,
                           const renewal_answer& answer) {
    on_answer(key, [&](lease& held, const lease_turn& turn) {
        held.on_renewed(attempt, from, answer, turn);
    });
}

void lease_keeper::looked(const lock_key& key, attempt_id attempt,
                          std::optional<std::string_view> holder,
                          std::optional<std::chrono::nanoseconds> remaining) {
    if (const auto found = _searches.find(attempt); found != _searches.end()) {
        const auto open = found->second;
        const auto value = holder ? parse_lease_value(*holder) : std::nullopt;
        holder && !value
            ? open->state.on_token(remaining)
            : open->state.on_answer(value ? std::optional(value->proxy) : std::nullopt, remaining);
        if (open->state.state() != home_search::verdict::open) {
            conclude(*open);
        }
        return;
    }
    on_answer(key, [&](lease& held, const lease_turn& turn) {
        held.on_looked(attempt, holder, remaining, turn);
    });
}

void lease_keeper::link_lost(uint32_t stripe, master_index from) {
    std::vector<std::pair<lock_key, std::string>> keys;
    for (uint64_t at = 0; at != node_map<lease_record>::end_of_positions;) {
        at = _records.visit_bucket(at, [&](lease_record& one) {
            if (one.stripe == stripe &&
                (one.held.state() == phase::acquiring || one.held.is_extending())) {
                keys.emplace_back(one.key(), std::string(one.name()));
            }
        });
    }
    for (auto& [key, name] : keys) {
        key.name = name;
        on_answer(key, [&](lease& held, const lease_turn& turn) { held.on_link_lost(from, turn); });
    }
}

void lease_keeper::on_due() {
    _timer_at = end_of_time;
    const auto now = read_clock();
    _next_ringing = now + between_ringings;
    bool any = false;
    for (size_t seen_to = 0; seen_to < due_at_once && !_due.empty() && _due.top().expiry <= now;
         ++seen_to) {
        auto& one = static_cast<record&>(_due.top());
        _due.remove(one);
        const phase before = one.held.state();
        if (std::exchange(one.lingers_until, std::max(one.lingers_until, now)) <= now) {
            one.was_awaited = false;
            one.has_peers = false;
            one.lingers_until = end_of_time;
            look_at(one);
        }
        const bool extending = one.held.is_extending();
        const instant valid = one.held.valid_until();
        with(one, now, [](lease& held, const lease_turn& turn) { held.on_time(turn); });
        count_change(one, before, now);
        if (extending && !one.held.is_extending()) {
            count_renewal(one, valid, now);
        }
        const phase state = one.held.state();
        if ((state == phase::elsewhere || state == phase::unreachable || state == phase::lost) &&
            state == before) {
            try_again(one, now);
        } else {
            after(one, now);
        }
        any = true;
    }
    if (any) {
        _changed(now);
    }
    schedule(read_clock());
}

/// A key that we do not have: if somebody is in line for it, once more; otherwise it is forgotten.
void lease_keeper::try_again(record& one, instant now) {
    const bool is_wanted = is_awaited(one.key());
    if (!is_wanted && one.waiting.empty() && one.pins == 0) {
        close(one);
        return;
    }
    if (!is_wanted) {
        if (one.heap_index != not_in_heap) {
            _due.remove(one);  // until whoever has asked for it is answered
        }
        return;
    }
    if (one.unreachable_since != end_of_time && give_up_line(one, now)) {
        return;
    }
    if (!one.held.may_try(now)) {
        return;
    }
    const waiter& first = _table.line_of(one.key())->queue.front();
    const std::string_view token =
        first.mode == lock_mode::exclusive ? std::string_view(first.owner) : std::string_view();
    begin(one, first.ttl ? now + *first.ttl : end_of_time, stored_for(one.key(), token), now);
    give_up_line(one, now);
}

// ---- what the table asks ------------------------------------------------------------------------

/// The first in line is the one that is served now; if there are more, the lock is handed on soon.
void lease_keeper::expect_next(const lock_key& key, lease& held, const lease_rules& rules) {
    const lock_line* const line = _table.line_of(key);
    find(key)->was_awaited = line != nullptr && !line->queue.empty();
    if (line == nullptr || line->queue.size() < 2) {
        return held.expect(0ns, rules);
    }
    const auto ttl = std::next(line->queue.begin())->ttl;
    held.expect(ttl ? std::chrono::nanoseconds(*ttl) : rules.untimed / 2, rules);
}

bool lease_keeper::stores_tokens(const lock_key& key) const {
    const policy_book& policies = _table.policies();
    return policies.any_tokens() && policies.of(key.name).store == store_rule::token;
}

/// What the masters are to hold while a client with this token has the key.
std::string_view lease_keeper::stored_for(const lock_key& key, std::string_view token) const {
    return stores_tokens(key) ? token : std::string_view();
}

std::optional<uint64_t> lease_keeper::fence(const lock_key& key, instant until,
                                            std::string_view token, instant now) {
    record* const one = find(key);
    const std::string_view stored = stored_for(key, token);
    std::optional<uint64_t> number;
    if (one != nullptr && one->held.state() == phase::held) {
        with(*one, now, [&](lease& held, const lease_turn& turn) {
            const auto given = until == end_of_time ? held.grant_untimed(turn, stored)
                                                    : held.grant(until - now, turn, stored);
            if (given) {
                number = given->fence;
                held.needed_until(until);
                expect_next(key, held, turn.rules);
            }
        });
    }
    if (!number) {
        _wanted.push_back({.database = key.database,
                           .name = std::string(key.name),
                           .hash = key.hash,
                           .until = until,
                           .token = std::string(stored)});
    } else {
        one->is_idle = false;
        one->is_spare = false;
        one->lingers_until = end_of_time;
    }
    return number;
}

bool lease_keeper::is_valid(const lock_key& key, instant now) {
    const record* const one = find(key);
    return one != nullptr && one->held.state() == phase::held && now < one->held.valid_until();
}

bool lease_keeper::covers(const lock_key& key, instant until) {
    const record* const one = find(key);
    return until == end_of_time || one == nullptr || until <= one->held.valid_until();
}

bool lease_keeper::is_elsewhere(const lock_key& key, instant now) {
    const record* const one = find(key);
    return one != nullptr && one->held.state() == phase::elsewhere &&
           (!_may_ask || !one->held.may_try(now));
}

std::optional<instant> lease_keeper::elsewhere_until(const lock_key& key) {
    const record* const one = find(key);
    return one != nullptr ? one->held.held_elsewhere_until() : std::nullopt;
}

void lease_keeper::needed_until(const lock_key& key, instant until, instant now) {
    record* const one = find(key);
    if (one == nullptr) {
        return;
    }
    bool is_covered = false;
    with(*one, now, [&](lease& held, const lease_turn& turn) {
        held.needed_until(until);
        is_covered = until == end_of_time || held.cover(until, turn);
    });
    if (!is_covered) {
        _wanted.push_back({.database = key.database,
                           .name = std::string(key.name),
                           .hash = key.hash,
                           .until = until,
                           .is_cover = true});
    }
}

void lease_keeper::gone(const lock_key& key, bool, instant) {
    record* const one = find(key);
    if (one != nullptr) {
        look_at(*one);
    }
}

void lease_keeper::look_at(record& one) {
    one.is_idle = true;
    if (!one.is_listed) {
        _idle.push_back(&one);
        one.is_listed = true;
    }
}

void lease_keeper::pin(const wanted_lease& what, kept& keep) {
    keep._records.reserve(keep._records.size() + 1);
    record& one = open({what.database, what.name, what.hash});
    if (++one.pins == 1) {
        one.is_spare = !what.is_cover;
    }
    keep._records.push_back(&one);
}

/// What nobody has any more is looked at in a moment. That somebody else has a key is remembered
/// for as long as the lease says.
void lease_keeper::unpin(record& one) {
    if (--one.pins > 0 || !one.is_spare) {
        return;
    }
    const auto now = read_clock();
    const phase state = one.held.state();
    if (state == phase::elsewhere || state == phase::unreachable) {
        _due.set(one, one.held.wake_at(_groups[one.stripe]->rules()));
    } else {
        one.lingers_until = now;
        _due.set(one, now);
    }
    schedule(now);
}

lease_keeper::kept::~kept() {
    for (record* const one : _records) {
        _by.unpin(*one);
    }
}

void lease_keeper::give_back_idle(instant now) {
    for (record* const one : std::exchange(_idle, {})) {
        const lock_key key = one->key();
        one->is_listed = false;
        const bool was_taken = !std::exchange(one->is_idle, false);
        const lock_line* const line = _table.line_of(key);
        one->is_spare |= !was_taken && one->pins > 0;
        if (was_taken || one->pins > 0 || _table.exists(key, now) ||
            (line != nullptr && !line->queue.empty())) {
            continue;
        }
        const bool is_polled = line != nullptr && stays_for_pollers(*line, now);
        if (one->held.state() == phase::held && (one->was_awaited || one->has_peers || is_polled) &&
            !_stopped) {
            // Who was served from a line will often stand in it again, and one of a crowd that
            // polls will soon ask: the key is kept for a moment.
            one->lingers_until = now + (one->has_peers ? linger_for_peers : linger);
            _due.set(*one, std::min(one->lingers_until,
                                    one->held.wake_at(_groups[one->stripe]->rules())));
            schedule(now);
            continue;
        }
        if (one->held.state() == phase::held) {
            with(*one, now, [](lease& held, const lease_turn& turn) { held.release(turn); });
        }
        // Who has it instead is remembered for as long as the lease says.
        const phase state = one->held.state();
        const bool is_remembered = (state == phase::elsewhere || state == phase::unreachable) &&
                                   one->heap_index != not_in_heap;
        if (one->waiting.empty() && state != phase::acquiring && !is_remembered) {
            close(*one);
        }
    }
}

bool lease_keeper::stays_for_pollers(const lock_line& line, instant now) const {
    if (line.polling.empty()) {
        return false;
    }
    const auto turn = (now - line.since) % (kept_for_pollers + left_to_others);
    return finds_homes() || turn < kept_for_pollers;
}

ss::future<lease_survey> lease_keeper::survey() const {
    lease_survey seen;
    const auto now = read_clock();
    for (uint64_t at = 0; at != node_map<lease_record>::end_of_positions;) {
        at = _records.visit_bucket(at, [&](const lease_record& one) {
            if (one.held.state() != phase::held) {
                return;
            }
            const unsigned masters = _groups[one.stripe]->rules().masters;
            const bool is_bare = masters > 1 && one.held.holders().size() <= quorum_of(masters);
            seen +=
                {.held = 1, .bare = is_bare ? 1U : 0U, .shortest = one.held.valid_until() - now};
        });
        co_await ss::coroutine::maybe_yield();
    }
    co_return seen;
}

void lease_keeper::release_all(instant now) {
    std::vector<record*> all;
    for (uint64_t at = 0; at != node_map<lease_record>::end_of_positions;) {
        at = _records.visit_bucket(at, [&](lease_record& one) {
            if (!_table.exists(one.key(), now)) {
                all.push_back(static_cast<record*>(&one));
            }
        });
    }
    for (record* const one : all) {
        with(*one, now, [](lease& held, const lease_turn& turn) { held.release(turn); });
        after(*one, now);
    }
}

// ---- other proxies ------------------------------------------------------------------------------

void lease_keeper::find_homes_with(const home_directory& ways, std::string own_id) {
    _ways = &ways;
    _own_id = std::move(own_id);
}

lease_place lease_keeper::place_of(const lock_key& key, instant now) {
    if (is_here(key, now)) {
        return {.is_here = true};
    }
    const record* const one = find(key);
    return {.is_coming = one != nullptr && one->held.state() == phase::acquiring,
            .has_home = finds_homes() && known_home(key, now).has_value()};
}

bool lease_keeper::is_here(const lock_key& key, instant now) {
    return is_valid(key, now) || _table.exists(key, now);
}

ss::future<bool> lease_keeper::comes_to_be_here(uint32_t database, std::string name,
                                                key_hash hash) {
    const lock_key key{database, name, hash};
    const auto step = [&] { return next_step(order_route::as_home, place_of(key, read_clock())); };
    while (step() == forward_step::wait && !_stopped) {
        co_await change_of(*find(key));
    }
    const bool found = step() == forward_step::do_here;
    if (record* const one = find(key); found && one != nullptr) {
        one->has_peers = true;
    }
    co_return found;
}

std::optional<std::string> lease_keeper::known_home(const lock_key& key, instant now) {
    auto home = _hints.find(key, now);
    return home && _ways->is_reachable(*home) ? home : std::nullopt;
}

void lease_keeper::forget_home(const lock_key& key, std::string_view home, forward_trouble why) {
    _hints.drop(key);
    if (why == forward_trouble::not_home) {
        _hints.doubt(key, home, read_clock());
    }
}

void lease_keeper::conclude(search& one) {
    one.deadline.cancel();
    if (one.state.state() == home_search::verdict::proxy) {
        const auto now = read_clock();
        // Without an end it is no lease of ours; a look now and then does no harm.
        const auto lasts = one.state.remaining().value_or(std::chrono::nanoseconds(1s));
        _hints.note({one.database, one.name, one.hash}, one.state.home(), now + lasts, now);
    }
    if (one.state.state() == home_search::verdict::no_home && !one.state.is_held_by_token()) {
        // That somebody had it a moment ago is no reason to wait any more. Who stands in line for
        // it tries again by himself.
        record* const lost = find({one.database, one.name, one.hash});
        const lock_line* const line = lost ? _table.line_of(lost->key()) : nullptr;
        if (lost != nullptr && lost->held.state() == phase::elsewhere && lost->pins > 0 &&
            (line == nullptr || line->queue.empty())) {
            lost->held = lease();
        }
    }
    const auto keep = one.shared_from_this();
    _searches.erase(one.id);
    _searched_keys.erase({one.database, one.name});
    one.done.set_value();
}

ss::future<std::optional<std::string>> lease_keeper::find_home(uint32_t database, std::string name,
                                                               key_hash hash) {
    const lock_key key{database, name, hash};
    if (!finds_homes() || _stopped) {
        co_return std::nullopt;
    }
    if (auto known = known_home(key, read_clock())) {
        co_return known;
    }
    // Who joins a search that was under way hears of a home, but that there is none may have been
    // so only before he came.
    const auto under_way = _searched_keys.find({database, name});
    if (under_way != _searched_keys.end()) {
        co_await under_way->second->done.get_shared_future();
        if (_ways == nullptr || _stopped) {
            co_return std::nullopt;
        }
        if (auto known = known_home(key, read_clock())) {
            co_return known;
        }
    }
    const auto looked = search_home(key);
    co_await looked->done.get_shared_future();
    if (_ways == nullptr || _stopped) {
        co_return std::nullopt;
    }
    auto known = known_home(key, read_clock());
    if (known || !looked->state.is_by_token() || !stores_tokens(key)) {
        co_return known;
    }
    // The masters hold the client's token, which does not tell through which proxy it came.
    const auto home = co_await _ways->ask_who_has(database, name);
    const auto now = read_clock();
    if (home) {
        _hints.note(key, *home, now + looked->state.remaining().value_or(1s), now);
    }
    co_return _ways == nullptr ? std::nullopt : known_home(key, now);
}

/// The search that is under way, or a new one.
ss::lw_shared_ptr<lease_keeper::search> lease_keeper::search_home(const lock_key& key) {
    auto& mine = _searched_keys[{key.database, std::string(key.name)}];
    if (mine) {
        return mine;
    }
    lease_voters& group = *_groups[_stripes.stripe_of(key.name)];
    const voter_set asked = group.admitted();
    const auto open = ss::make_lw_shared<search>(
        home_search(group.rules().masters, asked.size(), _own_id,
                    _hints.doubted(key, read_clock())),
        key.database, key.name, key.hash, attempt_id{random_number(), random_number()});
    mine = open;
    _searches.emplace(open->id, open);
    open->deadline.set_callback([this, waiting = open.get()] {
        waiting->state.on_time_up();
        conclude(*waiting);
    });
    open->deadline.arm(ss::lowres_clock::now() +
                       std::chrono::ceil<std::chrono::milliseconds>(group.rules().timeout));
    group.carry_out({.what = lease_action::kind::look, .to = asked, .attempt = open->id}, key);
    return open;
}

ss::future<lease_keeper::place> lease_keeper::locate(uint32_t database, std::string name,
                                                     key_hash hash, bool anew) {
    const lock_key key{database, name, hash};
    if (is_here(key, read_clock())) {
        co_return place{.is_here = true};
    }
    if (anew && _hints.find(key, read_clock())) {
        _hints.drop(key);  // a doubt stays
    }
    co_return place{.home = co_await find_home(database, std::move(name), hash)};
}

/// Those who stand in line here for a key that another proxy has are better off in the line there.
ss::future<> lease_keeper::send_line_home(uint32_t database, std::string name, key_hash hash) {
    const auto home = co_await find_home(database, name, hash);
    const lock_key key{database, name, hash};
    const auto now = read_clock();
    if (home && !_stopped && !is_here(key, now)) {
        _table.refuse_line(key, lock_error::moved, now);
        _changed(now);
    }
}

// ---- what commands wait for ---------------------------------------------------------------------

ss::future<> lease_keeper::change_of(record& one) {
    one.waiting.emplace_back();
    return one.waiting.back().get_future();
}

ss::future<lease_outcome> lease_keeper::see_to_one(wanted_lease wanted) {
    const lock_key key{wanted.database, wanted.name, wanted.hash};
    const auto give_up = read_clock() + patience();
    for (auto now = read_clock(); !_stopped; now = read_clock()) {
        record& one = open(key);
        switch (one.held.state()) {
            case phase::held: {
                // A grant that was refused may lack fences, too, or the masters hold another token.
                bool is_ready = false;
                with(one, now, [&](lease& held, const lease_turn& turn) {
                    is_ready = wanted.until == end_of_time || held.cover(wanted.until, turn);
                    is_ready &= wanted.is_cover || held.fetch_fences(turn);
                });
                if (is_ready && (wanted.is_cover || !one.held.is_extending())) {
                    if (!wanted.is_cover && !one.held.is_stored(wanted.token)) {
                        // Whoever may have it asks for the exchange; if that could not begin for
                        // lack of a majority, asking at once would be of no use.
                        co_await ss::sleep(pause_before_retry);
                    }
                    co_return lease_outcome::ready;
                }
                break;
            }
            case phase::acquiring:
                break;
            case phase::elsewhere:
                if (!one.held.may_try(now)) {
                    co_return lease_outcome::elsewhere;
                }
                [[fallthrough]];
            case phase::unreachable:
            case phase::absent:
            case phase::lost:
                if (wanted.is_cover) {
                    co_return lease_outcome::unreachable;  // lost meanwhile
                }
                if (one.held.may_try(now)) {
                    begin(one, wanted.until, wanted.token, now);
                }
                break;
        }
        if (one.held.state() == phase::acquiring || one.held.is_extending()) {
            co_await change_of(one);
        } else if (now < give_up) {
            co_await ss::sleep(pause_before_retry);
        } else {
            co_return lease_outcome::unreachable;
        }
        if (const record* const then = find(key)) {
            const phase state = then->held.state();
            if (state == phase::elsewhere) {
                co_return lease_outcome::elsewhere;
            }
            if (state == phase::unreachable && read_clock() >= give_up) {
                co_return lease_outcome::unreachable;
            }
        }
    }
    co_return lease_outcome::unreachable;
}

/// A round for somebody who wants the key until then.
void lease_keeper::begin(record& one, instant until, std::string_view token, instant now) {
    const auto& rules = _groups[one.stripe]->rules();
    one.began = now;
    with(one, now, [&](lease& held, const lease_turn& turn) {
        // With room for as long again, the lease is as long as the rules say.
        held.acquire(until == end_of_time ? rules.untimed / 2 : until - now,
                     {random_number(), random_number()}, turn, token);
    });
    count_change(one, phase::acquiring, now);
}

bool lease_keeper::pursue(std::vector<wanted_lease> wanted, instant now) {
    bool any_given_up = false;
    for (const wanted_lease& each : wanted) {
        record& one = open({each.database, each.name, each.hash});
        const phase state = one.held.state();
        if (state == phase::held || state == phase::acquiring || !one.held.may_try(now)) {
            continue;  // what is held is being extended already
        }
        begin(one, each.until, each.token, now);
        any_given_up |= give_up_line(one, now);
    }
    return any_given_up;
}

ss::future<lease_outcome> lease_keeper::see_to(std::vector<wanted_lease> wanted, kept& keep) {
    for (const wanted_lease& each : wanted) {
        pin(each, keep);
    }
    if (wanted.size() == 1) {
        co_return co_await see_to_one(std::move(wanted.front()));
    }
    std::vector<ss::future<lease_outcome>> all;
    for (wanted_lease& each : wanted) {
        all.push_back(see_to_one(std::move(each)));
    }
    auto worst = lease_outcome::ready;
    for (auto& each : all) {
        worst = std::max(worst, co_await std::move(each));
    }
    co_return worst;
}

}  // namespace lockkeeper::shards
