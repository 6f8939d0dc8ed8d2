#include "proxy/reload.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/log.hh>

#include "config/difference.hh"
#include "proxy/access/roll.hh"
#include "proxy/credentials_check.hh"
#include "proxy/lock_settings.hh"
#include "proxy/log_lines.hh"
#include "proxy/permission.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("reload");

/// On the first core only.
reloader* present = nullptr;

std::string words_of(const std::exception_ptr& problem) {
    try {
        std::rethrow_exception(problem);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "for a reason unknown";
    }
}

}  // namespace

reloader::reloader(configuration_source source, config::config settings,
                   ss::sharded<shards::lock_service>& locks, ss::sharded<listener>& listeners,
                   ss::sharded<user_roll>& users, user_loads& loads, admin::server& door)
    : _source(std::move(source)),
      _settings(std::move(settings)),
      _locks(locks),
      _listeners(listeners),
      _users(users),
      _loads(loads),
      _door(door) {
    present = this;
}

ss::future<> reloader::stop() {
    present = nullptr;
    co_await _turn.wait();
    _turn.broken();
}

ss::future<std::optional<reloader::outcome>> reloader::ask() {
    return ss::smp::submit_to(0, []() -> ss::future<std::optional<outcome>> {
        if (!present) {
            co_return std::nullopt;
        }
        co_return co_await present->reload();
    });
}

ss::future<reloader::outcome> reloader::reload() {
    auto turn = co_await ss::coroutine::as_future(ss::get_units(_turn, 1));
    if (turn.failed()) {
        turn.ignore_ready_future();
        co_return outcome{false, "nothing has changed: the server stops"};
    }
    const auto until_the_end = turn.get();
    auto tried = co_await ss::coroutine::as_future(reload_in_turn());
    outcome ended =
        tried.failed()
            ? outcome{false, fmt::format("the reload failed: {}", words_of(tried.get_exception()))}
            : tried.get();
    if (ended.applied) {
        log.info("{}", ended.text);
    } else {
        log.warn("{}", ended.text);
    }
    co_return ended;
}

ss::future<reloader::outcome> reloader::reload_in_turn() {
    if (!_source.file) {
        co_return outcome{false, "nothing to read again: there is no --config file"};
    }
    // A small file, read at an operator's word: the reactor may wait for it.
    const auto next = _source.read();
    if (!next) {
        co_return outcome{false,
                          fmt::format("nothing has changed, the configuration has mistakes: {}",
                                      fmt::join(next.error(), "; "))};
    }
    const auto differs = config::compare(_settings, *next);
    if (!differs.after_restart.empty()) {
        co_return outcome{false, fmt::format("nothing has changed, these need a restart: {}",
                                             fmt::join(differs.after_restart, ", "))};
    }
    const bool others_at_masters = config::masters_are_met_otherwise(_settings, *next);
    if (others_at_masters) {
        const auto lost = co_await find_lost_masters(*next, _locks.local());
        if (!lost.empty()) {
            co_return outcome{false,
                              fmt::format("nothing has changed, these masters would be lost: {}",
                                          fmt::join(lost, "; "))};
        }
    }
    auto prepared = co_await ss::coroutine::as_future(prepare(*next));
    if (prepared.failed()) {
        co_return outcome{
            false, fmt::format("nothing has changed: {}", words_of(prepared.get_exception()))};
    }
    co_await apply(*next);
    if (others_at_masters) {
        co_await meet_masters_otherwise();
    }
    co_return outcome{true, differs.now.empty()
                                ? std::string("the configuration is the same")
                                : fmt::format("changed: {}", fmt::join(differs.now, ", "))};
}

ss::future<> reloader::prepare(const config::config& next) {
    co_await _listeners.invoke_on_all([&next](listener& core) { return core.prepare(next); });
    co_await _locks.invoke_on_all(
        [&next](shards::lock_service& core) { core.prepare_policies(policies(next)); });
}

ss::future<> reloader::apply(const config::config& next) {
    const auto roll = make_roll(next);
    const auto loads = _loads.of(roll);
    if (next.log.level != _settings.log.level) {
        set_log_level(next.log.level);
    }
    set_log_format(next.log.format);
    co_await _listeners.invoke_on_all([this, &next, &roll, &loads](listener& core) {
        // Users first: the sessions look theirs up again.
        _users.local().replace(roll, loads);
        _locks.local().change_policies();
        core.change_to(next);
    });
    _settings = next;
    co_await _door.show_users();
}

/// Nothing that clients see depends on it: connections and votes stay.
ss::future<> reloader::meet_masters_otherwise() {
    return _locks.invoke_on_all([this](shards::lock_service& core) {
        if (core.masters() != nullptr) {
            core.masters()->change_credentials(_settings);
        }
    });
}

std::vector<access::user> make_roll(const config::config& settings) {
    std::vector<config::mistake> mistakes;
    return access::make_users(settings, command_catalogue(), "", mistakes);
}

void set_log_level(config::log_level level) {
    constexpr ss::log_level levels[] = {ss::log_level::error, ss::log_level::warn,
                                        ss::log_level::info, ss::log_level::debug,
                                        ss::log_level::trace};
    ss::global_logger_registry().set_all_loggers_level(levels[static_cast<size_t>(level)]);
}

}  // namespace lockkeeper::proxy
