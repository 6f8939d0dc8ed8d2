#include <array>
#include <map>

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/when_all.hh>
#include <seastar/coroutine/as_future.hh>

#include "protocol/text.hh"
#include "proxy/at_home.hh"
#include "proxy/forwarder.hh"
#include "proxy/leased_run.hh"
#include "proxy/services.hh"
#include "proxy/session.hh"
#include "proxy/upstream.hh"

/// What a session cannot do at once: commands for other cores, for the upstream, for the homes of
/// their keys, and those that take their time.
namespace lockkeeper::proxy {

/// Behind those of the cores.
size_t session::upstream_slot() {
    return ss::smp::count;
}

/// What could not be done at once: first the commands for others, then the one that waits for them.
ss::future<> session::finish_pending() {
    while (!_gaps.empty() || _slow) {
        if (!_gaps.empty()) {
            co_await gather();
        }
        if (!_slow) {
            continue;
        }
        if (_slow->spec &&
            (_slow->spec->flags & flag_blocking || _slow->spec->may_wait != nullptr)) {
            co_await write_replies();  // it may take long: what came before it is due
        }
        co_await finish_slow();
    }
}

ss::future<> session::finish_slow() {
    auto command = std::move(*_slow);
    _slow.reset();
    _batch_time.reset();
    if (command.how == slow_command::way::in_turn) {
        const auto views = command.request.views();
        const size_t mark = output.size();
        run(command.spec, protocol::request{views});
        if (!_slow) {
            mute(mark);
        }
        co_return;
    }
    const size_t mark = output.size();
    in_reply = true;
    if (command.how == slow_command::way::in_time && co_await finish_at_home(command)) {
        mute(mark);
        end_reply();
        co_return;
    }
    auto done = co_await ss::coroutine::as_future(
        command.how == slow_command::way::both
            ? run_in_both(*command.spec, std::move(command.request))
            : command.spec->in_time(*this, std::move(command.request)));
    if (output.size() >= mark) {
        mute(mark);
    }
    end_reply();
    done.get();
}

/// A command on keys that another proxy has the lease of. Some find their way themselves, above all
/// those that wait.
ss::future<bool> session::finish_at_home(const slow_command& command) {
    const command_spec* const spec = command.spec;
    const bool has_keys = spec && (spec->keys.first != 0 || spec->find_keys);
    const auto where = route();
    if (!has_keys || spec->flags & (flag_blocking | flag_not_queued) ||
        where == shards::order_route::here ||
        (where == shards::order_route::to_home && spec->flags & flag_finds_homes)) {
        co_return false;
    }
    const auto views = command.request.views();
    const protocol::request args{views};
    auto keys = spec->find_keys ? spec->find_keys(*this, args) : keys_of(*spec, args);
    if (spec->flags & flag_adds_up && keys.size() > 1 && where == shards::order_route::to_home &&
        !holds_turns) {
        std::vector<key_name> names;
        names.reserve(keys.size());
        for (const std::string_view key : keys) {
            names.push_back({database, std::string(home_key(key))});
        }
        const auto places = co_await places_of(*this, std::move(names), false);
        // All may seem to have one home: each is looked for at its own, for some may have moved.
        if (!places.homes.empty()) {
            co_await add_up_at_homes(command);
            co_return true;
        }
    }
    co_return co_await done_at_home(*this, command.request, std::move(keys));
}

/// DEL, EXISTS and their like on keys of several proxies: each key at its own, one after the other.
/// An error ends it, and is the answer.
ss::future<> session::add_up_at_homes(const slow_command& command) {
    const auto views = command.request.views();
    const protocol::request args{views};
    const size_t mark = output.size();
    int64_t sum = 0;
    for (const std::string_view key : keys_of(*command.spec, args)) {
        const std::array words{args.name(), key};
        owned_request one(protocol::request{words});
        if (!co_await done_at_home(*this, one, {key})) {
            co_await command.spec->in_time(*this, std::move(one));
        }
        const std::string_view answer = output.view().substr(mark);
        if (!answer.starts_with(':')) {
            co_return;
        }
        // ":<number>\r\n"
        sum += protocol::parse_integer(answer.substr(1, answer.size() - 3)).value();
        output.truncate(mark);
    }
    reply.integer(sum);
}

/// Subscriptions hear of locks here and of data upstream; scripts are loaded here and there.
ss::future<> session::run_in_both(const command_spec& spec, owned_request request) {
    const auto views = request.views();
    if (!spec.on_client) {
        auto copy = request;
        co_await spec.in_time(*this, std::move(copy));
        std::vector<owned_request> commands;
        commands.push_back(std::move(request));
        co_await ask_upstream(std::move(commands));
        co_return;
    }
    const size_t subscribed = subscriptions();
    const size_t confirmations =
        views.size() > 1 ? views.size() - 1 : std::max<size_t>(1, subscribed);
    const size_t mark = output.size();
    spec.on_client(*this, protocol::request{views});
    if (output.view()[mark] == '-') {
        co_return;  // refused
    }
    open_upstream();
    co_await data->subscribe(std::move(request), confirmations);
}

ss::future<std::vector<protocol::reply>> session::ask_upstream(
    std::vector<owned_request> commands) {
    open_upstream();
    // A call there may block for as long as the client likes, but not longer than it is there.
    auto hung_up = gone.subscribe([this]() noexcept { data->cut(); });
    co_return co_await data->call(std::move(commands));
}

/// Sends the commands for others, waits for all of their replies, and puts each where it belongs.
ss::future<> session::gather() {
    in_reply = true;
    std::vector<core_replies> answers(ss::smp::count + 1);
    std::vector<ss::future<>> under_way;
    for (ss::shard_id core = 0; core < _for_cores.size(); ++core) {
        if (!_for_cores[core].items.empty()) {
            under_way.push_back(
                run_on(all, core, std::exchange(_for_cores[core], {}))
                    .then([&answers, core](core_replies got) { answers[core] = std::move(got); }));
        }
    }
    auto cores_done =
        co_await ss::coroutine::as_future(ss::when_all_succeed(under_way.begin(), under_way.end()));
    if (!_for_upstream.empty()) {
        const auto got = co_await ask_upstream(std::exchange(_for_upstream, {}));
        core_replies& written = answers[upstream_slot()];
        protocol::reply_writer writer(written.bytes, reply.spoken());
        for (const protocol::reply& one : got) {
            writer.value(one);
            written.ends.push_back(written.bytes.size());
        }
    }
    cores_done.get();
    for (const core_replies& each : answers) {
        for (const shards::polled_try& refused : each.polled) {
            all.locks.local().pollers().note(refused, shards::read_clock());
        }
    }
    std::map<std::pair<size_t, size_t>, std::string> from_homes;
    std::vector<ss::future<>> at_home;
    bool is_followed = has_more;
    for (size_t core = 0; core < ss::smp::count; ++core) {
        for (auto& each : answers[core].homes) {
            const std::pair place{core, each.index};
            is_followed = is_followed || each.item.is_followed;
            at_home.push_back(
                run_at_home(std::move(each)).then([&from_homes, place](std::string bytes) {
                    from_homes.emplace(place, std::move(bytes));
                }));
        }
    }
    if (!at_home.empty()) {
        tell_homes_of_more(is_followed);
        co_await ss::when_all_succeed(at_home.begin(), at_home.end());
        when_heard(nullptr);
    }

    protocol::output whole;
    size_t copied = 0;
    for (const gap& hole : _gaps) {
        whole.append(output.view().substr(copied, hole.at - copied));
        copied = hole.at;
        if (const auto home = from_homes.find({hole.from, hole.index});
            !hole.muted && home != from_homes.end()) {
            whole.append(home->second);
        } else if (!hole.muted) {
            whole.append(answers[hole.from][hole.index]);
        }
    }
    whole.append(output.view().substr(copied));
    output = std::move(whole);
    _gaps.clear();
    end_reply();
}

/// What was sent to other proxies may be held back there until the client says something else.
void session::tell_homes_of_more(bool is_followed) {
    is_followed ? at_homes->say_that_there_is_more()
                : when_heard([this] { at_homes->say_that_there_is_more(); });
}

/// Has another proxy do it; or does it here after all, if that one cannot or is not the home any
/// more. The reply, as the client reads it.
ss::future<std::string> session::run_at_home(core_replies::sent_home what) {
    using journey = shards::forward_journey;
    journey way(rule_if_unknown(what.item.request));
    for (bool is_first = true;; is_first = false) {
        const auto views = what.item.request.views();
        auto hung_up = gone.subscribe([this]() noexcept { at_homes->cut(); });
        auto answer = homes().call(what.home, protocol::request{views},
                                   {.as_of = client_choices{what.item.database, what.item.spoken}});
        if (!is_first) {
            tell_homes_of_more(has_more || what.item.is_followed);
        }
        auto result = co_await std::move(answer);
        if (result) {
            protocol::output bytes;
            protocol::reply_writer writer(bytes, what.item.spoken);
            writer.value(*result);
            co_return std::string(bytes.view());
        }
        const ss::shard_id core = all.locks.local().core_of(what.item.keys.front());
        for (const std::string& key : what.item.keys) {
            co_await forget_home(*this, what.item.database, key, what.home, result.error());
        }
        if (way.on_trouble(result.error()) == journey::next::tell_unknown) {
            protocol::output bytes;
            protocol::reply_writer(bytes, what.item.spoken).error(home_lost);
            co_return std::string(bytes.view());
        }
        what.item.route = way.route();
        core_batch batch;
        batch.items.push_back(std::move(what.item));
        auto replies = co_await run_on(all, core, std::move(batch));
        if (replies.homes.empty()) {
            co_return std::string(replies.bytes.view());
        }
        what = std::move(replies.homes.front());
    }
}

}  // namespace lockkeeper::proxy
