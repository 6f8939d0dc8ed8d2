#include "shards/lock_service.hh"

#include <algorithm>
#include <memory>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <utility>

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

// An expired entry is absent to everyone at once; removing it only frees its memory, so there is no
// hurry, but no turn of the reactor may pay for all of a large crowd either: 500 removals take
// about 100 us.
constexpr auto expiry_interval = 100ms;
constexpr size_t removals_at_once = 500;

}  // namespace

lock_service::lock_service(hash_seed seed, lock_table_options options, policy_book policies,
                           waiting_room_options waiting)
    : _hasher(seed),
      _table(options, std::move(policies), waiting),
      _waiting_pops(_hasher),
      _expiry_timer([this] { remove_expired(); }),
      _due_timer([this] {
          _due_at = end_of_time;
          const auto now = read_clock();
          if (!turn_is_free()) {
              return look_at(now + 1ms);
          }
          _looked_at = now;
          _table.advance(now);
          finish(now);
      }) {}

ss::future<> lock_service::start() {
    _expiry_timer.arm(expiry_interval);
    return ss::make_ready_future<>();
}

ss::future<> lock_service::stop() {
    _expiry_timer.cancel();
    _due_timer.cancel();
    _waiting_pops.cancel_all();
    while (!_waiting.empty()) {
        cancel_wait(_waiting.begin()->client);
    }
    if (_fleet) {
        co_await _fleet->stop();
    }
    if (_fences) {
        co_await _fences->stop();
    }
}

void lock_service::change_policies() noexcept {
    if (_next_policies) {
        _table.change_policies(std::move(*_next_policies));
        _next_policies.reset();
    }
}

ss::shard_id lock_service::core_of(std::string_view key) const {
    return owner_of(_hasher.place(key).route, ss::smp::count);
}

void lock_service::give_turn() {
    const auto now = read_clock();
    for (const auto& [database, key] : std::exchange(_pushed, {})) {
        _waiting_pops.serve(_table, database, key, now);
    }
    finish(now);
    _turn.signal();
}

void lock_service::pushed(uint32_t database, std::string_view key, instant now) {
    if (turn_is_free()) {
        _waiting_pops.serve(_table, database, key, now);
    } else {
        _pushed.emplace_back(database, key);
    }
}

ss::future<> lock_service::start_fleet(const config::config& settings, std::string proxy) {
    _fleet.emplace(settings, std::move(proxy), _table, [this](instant now) { settle(now); });
    _leases = &_fleet->leases();
    _table.lease_from(*_leases);
    return _fleet->start();
}

void lock_service::finish(instant now) {
    _table.settle(now);
    if (_leases != nullptr) {
        while (_leases->has_wanted() && _leases->pursue(_leases->take_wanted(), now)) {
            _table.settle(now);
        }
        _leases->finish(now);
    }
    if (_table.has_ended() || _table.has_lost()) [[unlikely]] {
        tell_ended();
    }
    if (const auto due = _table.next_due(); due && *due < _due_at) [[unlikely]] {
        look_soon(*due);
    }
}

void lock_service::tell_ended() {
    using state = waiter::state;
    using end = lock_answer::end;
    while (waiter* const next = _table.take_ended()) {
        const std::unique_ptr<waiting_client> who(static_cast<waiting_client*>(next));
        _waiting.erase(_waiting.iterator_to(*who));
        const end how = who->how == state::granted     ? end::granted
                        : who->how == state::timed_out ? end::refused
                        : who->how == state::cancelled ? end::cancelled
                                                       : end::failed;
        ++_waits_ended;
        if (who->is_parked && how != end::granted) {
            _held_back.note(who->tries_as, who->came, read_clock());
        }
        who->done.set_value(lock_answer{.how = how, .given = who->given, .error = who->error});
    }
    for (lost_grant& each : _table.take_lost()) {
        if (_losses) {
            _losses(std::move(each));
        }
    }
}

/// When many things are due one after the other, as after a crowd that polls, a few of them are
/// seen to at a time: a timer for each would cost more than they do.
void lock_service::look_soon(instant due) {
    constexpr auto pause = 1ms;
    if (const auto when = std::max(due, _looked_at + pause); when < _due_at) {
        look_at(when);
    }
}

/// The timer's clock stands still in a suspended machine and ours does not: then it is late, and
/// what is due is judged by ours.
void lock_service::look_at(instant when) {
    _due_at = when;
    const auto from_now = std::max(when - read_clock(), std::chrono::nanoseconds(0));
    // A moment later, so that what is due has really passed; never for longer than a timer can
    // tell.
    _due_timer.rearm(ss::timer<>::clock::now() +
                     std::min<std::chrono::nanoseconds>(from_now + 50us, 24h));
}

ss::future<lock_answer> lock_service::acquire(lock_order order) {
    if (_leases == nullptr || !_leases->finds_homes() || order.route == order_route::here) {
        return acquire_here(std::move(order));
    }
    switch (
        next_step(order.route, _leases->place_of(key(order.database, order.key), read_clock()))) {
        case forward_step::do_here:
            return acquire_here(std::move(order));
        case forward_step::wait:
        case forward_step::say_not_home:
            return acquire_as_home(std::move(order));
        case forward_step::send:
        case forward_step::find_out:
            break;
    }
    return acquire_or_send_home(std::move(order));
}

/// Another proxy has sent it here, because we have had the lease.
ss::future<lock_answer> lock_service::acquire_as_home(lock_order order) {
    _before_turn.insert(order.client);
    const bool is_here = co_await _leases->comes_to_be_here(order.database, order.key,
                                                            key(order.database, order.key).hash);
    if (_before_turn.erase(order.client) == 0) {
        co_return lock_answer{.how = lock_answer::end::cancelled};
    }
    if (!is_here) {
        co_return lock_answer{.how = lock_answer::end::elsewhere};
    }
    co_return co_await acquire_here(std::move(order));
}

/// The first attempt tells whose it is. Who comes while it is under way waits for it, too, and all
/// of them go on in their order.
ss::future<lock_answer> lock_service::acquire_or_send_home(lock_order order) {
    using end = lock_answer::end;
    const key_hash hash = key(order.database, order.key).hash;
    const auto now = read_clock();
    if (auto home = _leases->known_home({order.database, order.key, hash}, now)) {
        co_return lock_answer{.how = end::elsewhere, .home = std::move(*home)};
    }
    lease_keeper::kept keep(*_leases);
    _before_turn.insert(order.client);
    const std::vector<wanted_lease> wanted{{.database = order.database,
                                            .name = order.key,
                                            .hash = hash,
                                            .until = order.ttl ? now + *order.ttl : end_of_time}};
    std::optional<std::string> home;
    // Twice: whoever had it may have just given it back.
    for (int i = 0; i < 2 && !home; ++i) {
        if (co_await _leases->see_to(wanted, keep) != lease_outcome::elsewhere) {
            break;
        }
        home = co_await _leases->find_home(order.database, order.key, hash);
    }
    if (_before_turn.erase(order.client) == 0) {
        co_return lock_answer{.how = end::cancelled};
    }
    if (home) {
        co_return lock_answer{.how = end::elsewhere, .home = std::move(*home)};
    }
    co_return co_await acquire_here(std::move(order));
}

ss::future<lock_answer> lock_service::acquire_here(lock_order order) {
    if (turn_is_free()) {
        return acquire_now(turn::wait_for_it, std::move(order));
    }
    const uint64_t client = order.client;
    _before_turn.insert(client);
    return take_turn().then([this, client, order = std::move(order)]() mutable {
        // cancel_wait() may have been here.
        auto answer = _before_turn.erase(client) > 0
                          ? acquire_now(turn::wait_for_it, std::move(order))
                          : ss::make_ready_future<lock_answer>(
                                lock_answer{.how = lock_answer::end::cancelled});
        give_turn();
        return answer;
    });
}

ss::future<lock_answer> lock_service::acquire_in_turn(lock_order order) {
    order.wait.reset();
    return acquire_now(turn::have_it, std::move(order));
}

grant_request lock_service::request_of(const lock_order& order) const {
    return {.key = key(order.database, order.key),
            .owner = order.owner,
            .client = order.client,
            .mode = order.mode,
            .permits = order.permits,
            .of = order.of,
            .ttl = order.ttl,
            .is_parked = order.is_parked,
            .repeats = order.repeats,
            .is_collected = order.is_collected};
}

/// A lock that its owner takes again, or that somebody joins, may have become longer. It is told of
/// when the masters hold it that long; if they do not, it is given back. Not so what lives by its
/// connection, and on renewals.
ss::future<lock_answer> lock_service::when_covered(uint32_t database, std::string name,
                                                   std::string owner, lock_answer answer) {
    if (answer.how != lock_answer::end::granted ||
        _leases->covers(key(database, name), answer.given.until)) {
        return ss::make_ready_future<lock_answer>(std::move(answer));
    }
    return cover(database, std::move(name), std::move(owner), std::move(answer));
}

ss::future<lock_answer> lock_service::cover(uint32_t database, std::string name, std::string owner,
                                            lock_answer answer) {
    lease_keeper::kept keep(*_leases);
    std::vector<wanted_lease> wanted{{.database = database,
                                      .name = name,
                                      .hash = key(database, name).hash,
                                      .until = answer.given.until,
                                      .is_cover = true}};
    if (co_await _leases->see_to(std::move(wanted), keep) == lease_outcome::ready) {
        co_return answer;
    }
    const auto now = read_clock();
    _table.take_back(key(database, name), owner, answer.given.fence, now);
    settle(now);
    co_return lock_answer{.how = lock_answer::end::failed, .error = lock_error::no_lease};
}

ss::future<lock_answer> lock_service::acquire_now(turn whose, lock_order order) {
    const auto now = read_clock();
    const auto tried = _table.take(
        request_of(order),
        order.wait ? lock_table::if_refused::will_wait : lock_table::if_refused::may_ask_again,
        now);
    if (!order.wait && !tried && tried.error() == lock_error::no_lease) {
        return acquire_with_lease(whose, std::move(order));
    }
    settle(now);
    const bool may_change =
        tried || tried.error() == lock_error::starting || tried.error() == lock_error::no_fence ||
        tried.error() == lock_error::no_lease || tried.error() == lock_error::too_many_holders;
    const bool owns =
        order.may_own && _table.holds(key(order.database, order.key), order.owner, now);
    if (order.wait && may_change && !(tried && tried->granted) && !owns) {
        return wait_for(std::move(order), now);
    }
    lock_answer answer;
    if (!tried) {
        answer = {.how = lock_answer::end::failed, .error = tried.error()};
    } else if (tried->granted) {
        answer = {.how = lock_answer::end::granted, .given = tried->given};
    }
    return _leases == nullptr || !order.ttl
               ? ss::make_ready_future<lock_answer>(answer)
               : when_covered(order.database, std::move(order.key), std::move(order.owner), answer);
}

/// Nobody else has it here; whether anybody has it elsewhere the masters know.
ss::future<lock_answer> lock_service::acquire_with_lease(turn whose, lock_order order) {
    const auto give_up = read_clock() + lease_keeper::patience();
    lease_keeper::kept keep(*_leases);
    auto wanted = _leases->take_wanted();
    while (true) {
        const auto outcome = co_await _leases->see_to(std::move(wanted), keep);
        if (outcome == lease_outcome::elsewhere) {
            co_return lock_answer{};
        }
        bool again = false;
        const auto tried = co_await in_turn(whose, [&] {
            const auto now = read_clock();
            auto got = _table.take(request_of(order), lock_table::if_refused::may_ask_again, now);
            again = !got && got.error() == lock_error::no_lease &&
                    outcome == lease_outcome::ready && now < give_up;
            wanted = _leases->take_wanted();
            if (!again) {
                settle(now);
            }
            return got;
        });
        if (again) {
            continue;
        }
        if (!tried) {
            co_return lock_answer{.how = lock_answer::end::failed, .error = tried.error()};
        }
        if (!tried->granted) {
            co_return lock_answer{};
        }
        if (!order.ttl) {
            co_return lock_answer{.how = lock_answer::end::granted, .given = tried->given};
        }
        co_return co_await when_covered(order.database, std::move(order.key),
                                        std::move(order.owner),
                                        {.how = lock_answer::end::granted, .given = tried->given});
    }
}

std::vector<wanted_lease> lock_service::take_wanted() {
    return _leases != nullptr ? _leases->take_wanted() : std::vector<wanted_lease>();
}

/// What has become longer is told of when the masters hold it that long.
ss::future<bool> lock_service::are_covered(std::vector<wanted_lease> wanted) {
    if (wanted.empty()) {
        co_return true;
    }
    lease_keeper::kept keep(*_leases);
    co_return co_await _leases->see_to(std::move(wanted), keep) == lease_outcome::ready;
}

ss::future<lock_result<std::optional<instant>>> lock_service::extend(
    turn whose, uint32_t database, std::string name, std::string owner,
    std::chrono::milliseconds ttl) {
    std::vector<wanted_lease> wanted;
    auto end = co_await in_turn(whose, [&] {
        const auto now = read_clock();
        auto done = _table.extend_hold(key(database, name), owner, ttl, now);
        wanted = take_wanted();
        settle(now);
        return done;
    });
    if (!co_await are_covered(std::move(wanted))) {
        co_return std::unexpected(lock_error::no_lease);
    }
    co_return end;
}

ss::future<lock_result<std::optional<grant>>> lock_service::confirm(turn whose, lock_order order) {
    std::vector<wanted_lease> wanted;
    order.repeats = order.confirms->fence;
    order.is_collected = false;
    auto given = co_await in_turn(whose, [&] {
        const auto now = read_clock();
        auto done = _table.confirm(request_of(order), order.confirms->how, now);
        wanted = take_wanted();
        settle(now);
        return done;
    });
    if (!co_await are_covered(std::move(wanted))) {
        co_return std::unexpected(lock_error::no_lease);
    }
    co_return given;
}

ss::future<> lock_service::take_back(turn whose, uint32_t database, std::string name,
                                     std::string owner, uint64_t fence) {
    co_await in_turn(whose, [&] {
        const auto now = read_clock();
        _table.take_back(key(database, name), owner, fence, now);
        settle(now);
    });
}

ss::future<lock_answer> lock_service::wait_for(lock_order order, instant now) {
    auto who = std::make_unique<waiting_client>();
    who->owner = order.owner;
    who->client = order.client;
    who->mode = order.mode;
    who->permits = order.permits;
    who->of = order.of;
    who->ttl = order.ttl;
    who->priority = order.priority;
    who->is_parked = order.is_parked;
    who->is_collected = order.is_collected;
    if (order.is_parked) {
        const auto name = key(order.database, order.key);
        const auto poller = caller::of(name, order.client, who->owner);
        who->tries_as = poller.token;
        who->came = std::min(_held_back.take(who->tries_as, now).value_or(now),
                             _table.stand_up(name, poller).value_or(now));
    }
    who->deadline = order.wait->count() > 0 ? now + *order.wait : end_of_time;
    auto answer = who->done.get_future();
    const auto entered = _table.wait(*who, key(order.database, order.key), now);
    if (!entered) {
        return ss::make_ready_future<lock_answer>(
            lock_answer{.how = lock_answer::end::failed, .error = entered.error()});
    }
    _waiting.insert(*who.release());
    settle(now);
    if (_leases == nullptr || !order.ttl) {
        return answer;
    }
    return answer.then([this, database = order.database, name = std::move(order.key),
                        owner = std::move(order.owner)](lock_answer given) mutable {
        return when_covered(database, std::move(name), std::move(owner), std::move(given));
    });
}

bool lock_service::cancel_wait(uint64_t client) {
    if (_waiting_pops.cancel(client) || _before_turn.erase(client) > 0) {
        return true;
    }
    const auto found = _waiting.find(client);
    if (found == _waiting.end()) {
        return false;
    }
    if (found->how != waiter::state::waiting) {
        return true;  // it has ended within a turn, and is told at its end
    }
    const auto now = read_clock();
    _table.stop_waiting(*found, now);
    settle(now);
    if (!turn_is_free()) {
        tell_ended();  // that much is not for the turn to decide
    }
    return true;
}

void lock_service::client_left(uint64_t client, std::chrono::milliseconds at_least) {
    const auto now = read_clock();
    _table.client_left(client, now, at_least);
    settle(now);
}

void lock_service::remove_expired() {
    const auto now = read_clock();
    const auto progress = _table.expire_due(now, removals_at_once);
    settle(now);
    if (_fences) {
        _fences->look();
    }
    // With a backlog: a slice, then whatever else is to be done, then the next slice.
    _expiry_timer.arm(progress.more ? 0ms : expiry_interval);
}

}  // namespace lockkeeper::shards
