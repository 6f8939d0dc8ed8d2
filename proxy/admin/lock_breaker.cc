#include "proxy/admin/lock_breaker.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <seastar/core/coroutine.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/log.hh>

#include "protocol/text.hh"
#include "proxy/admin/basic_credentials.hh"
#include "proxy/at_home.hh"
#include "proxy/audit.hh"
#include "proxy/errand.hh"
#include "proxy/lock_views.hh"
#include "proxy/peers.hh"
#include "proxy/permission.hh"

namespace lockkeeper::proxy::admin {

namespace {

using namespace std::chrono_literals;

ss::logger log("break");

/// Wrong passwords at this door; an admin who is kept out by somebody's guesses has LK.BREAK.
constexpr uint32_t failures_max = 10;
constexpr auto failures_count_for = 60s;

constexpr std::string_view command = "lk.break";

}  // namespace

bool is_from_own_page(const lock_breaker::wish& asked) {
    if (asked.mark != "break" || (!asked.site.empty() && asked.site != "same-origin")) {
        return false;
    }
    if (asked.origin.empty()) {
        return true;  // no browser: those tell it with every POST
    }
    const size_t scheme = asked.origin.find("://");
    return scheme != std::string::npos && !asked.host.empty() &&
           protocol::equals_ignoring_case(std::string_view(asked.origin).substr(scheme + 3),
                                          asked.host);
}

bool lock_breaker::may_guess_again() {
    const auto now = ss::lowres_clock::now();
    if (now - _failures_since > failures_count_for) {
        _failures_since = now;
        _failures = 0;
    }
    return _failures < failures_max;
}

/// Null if he has not shown that he is somebody. A user without a password shows nothing.
identity_ptr lock_breaker::find_admin(const wish& asked) {
    constexpr size_t shown = 64;
    user_roll& users = _all.users.local();
    const auto said = read_credentials(asked.authorization);
    if (!said) {
        return {};
    }
    auto user = users.authenticate(said->user, said->password);
    if (user && user->rights.needs_password()) {
        return user;
    }
    ++_failures;
    if (const auto meant = users.find(said->user)) {
        ++meant->counted->failed_logins;
    }
    users.note({.why = denial::reason::authentication,
                .object = "http",
                .user = said->user.substr(0, shown),
                .client = fmt::format("addr={}", asked.peer)});
    log.warn("{}: a wrong password for user '{}'", asked.peer,
             protocol::sanitised(said->user, shown));
    return {};
}

ss::future<lock_breaker::outcome> lock_breaker::break_lock(wish asked) {
    if (!is_from_own_page(asked)) {
        co_return outcome{403, "only the page itself may ask for that"};
    }
    if (!may_guess_again()) {
        co_return outcome{429, "too many wrong passwords; try again in a minute, or use LK.BREAK"};
    }
    const auto admin = find_admin(asked);
    if (!admin) {
        co_return outcome{401, "no such user, not its password, or one that needs none"};
    }
    const auto& rights = admin->rights;
    const auto number = command_catalogue().find(command);
    const auto need = command_catalogue()[*number].keys;
    const auto runs = [&](const access::selector& one) { return one.allows(*number); };
    const auto breaks = [&](const access::selector& one) {
        return runs(one) && one.allows_key(asked.key, need);
    };
    if (!std::ranges::any_of(rights.selectors(), breaks)) {
        const bool may_run = std::ranges::any_of(rights.selectors(), runs);
        ++admin->counted->denied;
        _all.users.local().note({.why = may_run ? denial::reason::key : denial::reason::command,
                                 .object = may_run ? asked.key : std::string(command),
                                 .user = rights.name(),
                                 .client = fmt::format("addr={}", asked.peer)});
        co_return outcome{403, may_run ? "this user may not do that to this lock"
                                       : "this user may not break locks"};
    }
    ++admin->counted->commands;
    // Before it is done: nothing is broken without a line that says by whom.
    audit({.user = rights.name(), .client = 0, .address = asked.peer}, command,
          {asked.key, fmt::format("fence={}", asked.fence),
           fmt::format("database={}", asked.database)});
    const auto core = _all.locks.local().core_of(asked.key);
    // What is given to invoke_on() is gone.
    std::string key = asked.key;
    switch (co_await _all.locks.invoke_on(core, &break_here, asked.database, std::move(key),
                                          asked.fence)) {
        case end::broken:
            co_return outcome{200, "broken"};
        case end::absent:
            co_return co_await break_elsewhere(std::move(asked));
        case end::changed:
            co_return outcome{409, "somebody else has it by now"};
    }
    std::unreachable();
}

/// The home of the lock may be another proxy.
ss::future<lock_breaker::outcome> lock_breaker::break_elsewhere(wish asked) {
    const outcome absent{404, "nobody has it any more"};
    if (!_all.links.local().enabled()) {
        co_return absent;
    }
    errand order(_all, asked.peer);
    order.database = asked.database;
    const std::string fence = fmt::to_string(asked.fence);
    const auto ask = [&](const std::string& home) {
        const std::array<std::string_view, 4> words{command, asked.key, "FENCE", fence};
        return order.homes().call(home, protocol::request{words});
    };
    auto done = co_await ss::coroutine::as_future(ask_home(
        order, {asked.key}, shards::forward_journey::if_unknown::tell, home_question(ask)));
    co_await order.close();
    const auto answer = done.get();
    if (!answer) {
        co_return absent;
    }
    if (!*answer || (*answer)->is_error()) {
        co_return outcome{502,
                          "the proxy that has it has gone; whether it was broken is not known"};
    }
    const auto number = (*answer)->as_integer();
    if (!number) {
        co_return outcome{409, "somebody else has it by now"};
    }
    co_return *number == 1 ? outcome{200, "broken"} : absent;
}

/// On the core of the lock. The references stay: who calls waits.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
ss::future<lock_breaker::end> lock_breaker::break_here(shards::lock_service& locks,
                                                       uint32_t database, std::string key,
                                                       uint64_t fence) {
    const bool takes_turn = !locks.turn_is_free();
    if (takes_turn) {
        co_await locks.take_turn();
    }
    const auto now = shards::read_clock();
    const auto seen = look_at(locks, database, key, now);
    end how = seen.holders == 0 ? end::absent : end::changed;
    if (seen.holders > 0 && seen.fence == fence &&
        locks.table().break_lock(locks.key(database, key), now)) {
        how = end::broken;
    }
    if (takes_turn) {
        locks.give_turn();
    } else {
        locks.settle(now);
    }
    co_return how;
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace lockkeeper::proxy::admin
