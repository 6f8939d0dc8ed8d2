#include "proxy/session.hh"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <fmt/format.h>

#include <array>
#include <map>

#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/later.hh>
#include <seastar/util/log.hh>

#include "protocol/look_ahead.hh"
#include "protocol/text.hh"
#include "proxy/at_home.hh"
#include "proxy/audit.hh"
#include "proxy/destination.hh"
#include "proxy/draining.hh"
#include "proxy/forwarder.hh"
#include "proxy/leased_run.hh"
#include "proxy/link.hh"
#include "proxy/link_handshake.hh"
#include "proxy/peers.hh"
#include "proxy/permission.hh"
#include "proxy/services.hh"
#include "proxy/upstream.hh"
#include "shards/background.hh"
#include "shards/core/link_watch.hh"

namespace lockkeeper::proxy {

namespace {

using namespace std::chrono_literals;

ss::logger log("session");

protocol::limits parser_limits(const config::limit_options& limits) {
    protocol::limits bounds;
    bounds.arguments_max = limits.arguments;
    bounds.bulk_bytes_max = limits.argument_bytes;
    return bounds;
}

/// Hands our block of replies to Seastar without a copy.
ss::temporary_buffer<char> to_buffer(protocol::output::chunk chunk) {
    char* bytes = chunk.bytes.get();
    const size_t size = chunk.size;
    return {bytes, size, ss::make_object_deleter(std::move(chunk.bytes))};
}

/// Redis shows 128 bytes of the name and about as many of the arguments.
void unknown_command(const protocol::request& args, protocol::reply_writer& reply) {
    constexpr size_t shown = 128;
    std::string beginning;
    for (size_t i = 1; i < args.size() && beginning.size() < shown; ++i) {
        const size_t room = shown - beginning.size();
        beginning += '\'';
        beginning += args[i].substr(0, room);
        beginning += "' ";
    }
    reply.error({"ERR unknown command '", args.name().substr(0, shown),
                 "', with args beginning with: ", beginning});
}

/// What a command costs until its EXEC: its bytes, and as much again as a short one needs around
/// them.
size_t cost_of_queueing(const protocol::request& request) {
    constexpr size_t around_command = 128;
    constexpr size_t around_argument = 8;
    size_t bytes = around_command + around_argument * request.size();
    for (const std::string_view argument : request) {
        bytes += argument.size();
    }
    return bytes;
}

}  // namespace

session::session(ss::connected_socket socket, ss::socket_address address, uint64_t number,
                 services& shared)
    : client(shared),
      _socket(std::move(socket)),
      _in(std::move(_socket.input()).detach()),
      _out(std::move(_socket.output()).detach()),
      _parser(parser_limits(shared.settings.limits)) {
    id = client_id(number);
    peer = fmt::format("{}", address);
    local = fmt::format("{}", _socket.local_address());
    _socket.set_nodelay(true);
}

session::session(ss::connected_socket channel, link_origin from, std::string_view who,
                 uint64_t number, services& shared)
    : session(std::move(channel), ss::socket_address(), number, shared) {
    const size_t line = std::min(who.find('\n'), who.size());
    peer = protocol::sanitised(who.substr(0, line));
    name = protocol::sanitised(who.substr(std::min(line + 1, who.size())));
    local = fmt::format("proxy {}", from.proxy);
    from_proxy = std::move(from.proxy);
    _link_is_over = std::move(from.link_is_over);
}

ss::future<> session::serve() {
    all.everyone.local().add(*this);
    shards::background(_gate, log, "watching for a hang-up",
                       [this] { return watch_for_hang_up(); });
    try {
        if (become_standard()) {
            co_await serve_commands();
        } else {
            reply.error("ERR max number of clients reached");
            co_await write_replies();
        }
    } catch (const std::exception& problem) {
        // A reset is an ordinary way to leave; the client cannot be told anything any more.
        log.debug("client {} at {}: {}", id, peer, problem.what());
    }
    note_last_order();
    all.everyone.local().remove(*this);
    unsubscribe_all();
    _socket.shutdown_input();
    co_await leave_locks();
    if (data) {
        co_await data->close();
    }
    if (at_homes) {
        co_await at_homes->close();
    }
    co_await _gate.close();
    // A close that fails has nothing left to lose either, but its exception must be looked at.
    co_await _out.close().handle_exception([](const std::exception_ptr&) {});
    co_await _in.close().handle_exception([](const std::exception_ptr&) {});
}

/// While a command waits nobody reads from the socket; this is how its wait ends when the client
/// leaves.
ss::future<> session::watch_for_hang_up() {
    co_await _socket.wait_input_shutdown();
    if (!gone.abort_requested()) {
        gone.request_abort();
    }
}

/// Another proxy that has not got the answer to its last order will ask again.
void session::note_last_order() {
    if (order.fence == 0 || order.at != commands_executed) {
        return;  // it has said something since, so it knew
    }
    const auto now = shards::read_clock();
    all.everyone.local().orders.note(order.number, order.fence, now + orders_are_remembered, now);
}

/// Locks that live by this connection end with it, and who took one with its last words may take it
/// again.
ss::future<> session::leave_locks() {
    _heard = nullptr;
    if (_reading_ahead) {
        co_await std::exchange(_reading_ahead, std::nullopt)
            ->handle_exception([](const std::exception_ptr&) {});
    }
    // Who takes a lock with a TTL does not know whether a policy renews it.
    if (lives_with_locks || all.locks.local().may_renew()) {
        draining::left_with_locks += draining::has_begun ? 1 : 0;
        // If it has not left by itself, it may be there still, beyond a link, and has to hear
        // first.
        const bool was_cut_off = _link_is_over && (*_link_is_over || _ended_here);
        const auto at_least = was_cut_off ? shards::link_rules().grace() : 0ms;
        co_await all.locks.invoke_on_all([who = id, at_least](shards::lock_service& locks) {
            locks.client_left(who, at_least);
        });
    }
    if (_taken_last.empty() && !at_homes) {
        co_return;
    }
    if (!co_await may_not_have_read()) {
        if (at_homes) {
            at_homes->say_that_all_was_heard();
        }
        co_return;
    }
    for (const auto& [number, key, since] : _taken_last) {
        co_await all.locks.invoke_on(all.locks.local().core_of(key),
                                     [who = id, number, key, since](shards::lock_service& locks) {
                                         locks.table().orphan(locks.key(number, key), who, since,
                                                              shards::read_clock());
                                     });
    }
}

/// Who has ended its side only, or said QUIT in the same breath, acknowledges the answer in a
/// moment; who had closed its socket before the answer was there resets the connection then.
ss::future<bool> session::may_not_have_read() {
    constexpr auto longest = 200ms;
    for (auto pause = 1ms; _delivered == delivery::under_way && pause < longest; pause *= 2) {
        co_await ss::sleep(pause);
        _delivered = delivery_on(_socket);
    }
    co_return _delivered != delivery::done;
}

ss::future<ss::temporary_buffer<char>> session::read() {
    if (!_reading_ahead) {
        return _in.get();
    }
    return std::exchange(_reading_ahead, std::nullopt)->then([this] {
        return std::move(_read_ahead);
    });
}

void session::when_heard(std::function<void()> call) {
    _heard = std::move(call);
    if (!_heard) {
        return;
    }
    if (_reading_ahead) {
        if (_reading_ahead->available()) {
            std::exchange(_heard, nullptr)();  // while it waited for something else
        }
        return;
    }
    _reading_ahead = _in.get().then([this](ss::temporary_buffer<char> bytes) {
        _read_ahead = std::move(bytes);
        if (const auto heard = std::exchange(_heard, nullptr)) {
            heard();
        }
    });
}

ss::future<> session::serve_commands() {
    while (!closing) {
        auto heard = co_await ss::coroutine::as_future(read());
        if (heard.failed()) {  // a reset; all that was said before has been written
            _delivered = _delivered.value_or(delivery_on(_socket));
        }
        auto bytes = heard.get();
        if (bytes.empty()) {
            _delivered = _delivered.value_or(delivery_on(_socket));
            co_return;
        }
        last_heard = ss::lowres_clock::now();
        if (commands_executed == 0 && first_heard == ss::lowres_clock::time_point{}) {
            first_heard = last_heard;
        }
        all.counted.bytes_in += bytes.size();
        // The common case: whole commands, executed where the socket put them.
        std::string_view unread(bytes.get(), bytes.size());
        if (!_unread.empty()) {
            unread = _unread.append(unread);
        }
        co_await serve_batch(unread, bytes);
        if (_unread.empty()) {
            _unread = unread;
        } else {
            _unread.erase(0, _unread.size() - unread.size());
        }
        if (is_link) {
            co_return co_await serve_link();
        }
        unexecuted = _unread.size();
        if (unexecuted > all.settings.limits.query_bytes) {
            warn_of("a command beyond limits.query_bytes");
            co_return;
        }
    }
    _delivered = _delivered.value_or(delivery_on(_socket));
}

namespace {

/// The end of a link that was called, on a connection that began as a client's.
class callee_wire final : public link_wire {
public:
    callee_wire(ss::connected_socket& socket, ss::data_source& in, ss::data_sink& out)
        : _socket(socket), _in(in), _out(out) {}
    ss::future<ss::temporary_buffer<char>> read() override { return _in.get(); }
    ss::future<> write(std::string_view bytes) override {
        return _out.put(ss::temporary_buffer<char>(bytes.data(), bytes.size()));
    }
    void cut() noexcept override {
        _socket.shutdown_input();
        _socket.shutdown_output();
    }

private:
    ss::connected_socket& _socket;
    ss::data_source& _in;
    ss::data_sink& _out;
};

}  // namespace

/// The peer at the other end is a proxy, and what it says are the words of its clients.
ss::future<> session::serve_link() {
    callee_wire wire(_socket, _in, _out);
    const std::string from = calling->caller();
    link conversations(
        wire,
        {.welcome =
             [this, from](ss::connected_socket channel, std::string who) {
                 all.links.local().take_in(std::move(channel), {from, _link->end()},
                                           std::move(who));
             },
         .has_place = [this] { return all.links.local().has_place(); },
         .hear = [this](shards::announcement what) { all.links.local().heard(std::move(what)); }});
    auto hung_up = gone.subscribe([&conversations]() noexcept { conversations.cut("hung up"); });
    _link = &conversations;
    const auto why = co_await conversations.serve(std::exchange(_unread, {}));
    _link = nullptr;
    log.debug("the link from proxy {} ended: {}", from, why);
}

/// Nearly always everything is done at once and one write ends it: that takes no coroutine. The
/// write comes after the batches of all other connections that have something to read now: then the
/// clients wake up together and not one by one, which is half of the kernel's work.
ss::future<> session::serve_batch(std::string_view& unread, ss::temporary_buffer<char>& bytes) {
    _taken_last.clear();
    const uint64_t told = all.locks.local().waits_ended();
    const pause why = execute_ready(unread);
    if (why == pause::need_bytes && _gaps.empty() && !_slow) {
        auto given_way = told == all.locks.local().waits_ended() ? ss::yield() : let_the_next_go();
        return std::move(given_way).then([this] { return write_replies(); });
    }
    if (_unread.empty()) {
        // It may wait for long: the buffer is large, and what is left to do of it usually nothing.
        _unread = unread;
        unread = _unread;
        bytes = {};
    }
    return serve_rest(unread, why);
}

/// Somebody waits for the lock that came free, and its answer takes a few steps from here to its
/// socket. Whoever released it is in less of a hurry: a write takes longer than all of them.
ss::future<> session::let_the_next_go() {
    constexpr int steps = 8;
    for (int i = 0; i < steps; ++i) {
        co_await ss::yield();
    }
}

ss::future<> session::serve_rest(std::string_view& unread, pause why) {
    bool has_waited = false;
    for (;; why = execute_ready(unread)) {
        if (!_gaps.empty() || _slow) {
            has_waited = has_waited || _slow;
            co_await finish_pending();
        }
        if (why == pause::need_time && output.size() < all.settings.limits.output_bytes &&
            !closing) {
            continue;
        }
        co_await write_replies();
        if (std::exchange(has_waited, false)) {
            acknowledge_with_replies();
        }
        if (why == pause::need_bytes || closing) {
            co_return;
        }
    }
}

/// While a client waited the kernel has taken it for one that only sends, and would acknowledge its
/// next command with a packet of its own before we may read it. But it will be answered at once.
void session::acknowledge_with_replies() {
    try {
        const int off = 0;
        _socket.set_sockopt(IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
    } catch (const std::system_error&) {
        // It has gone: the next read will tell.
    }
}

/// A deep pipeline over a large table: the memory of its keys is asked for before the first command
/// is executed. Tells for how many commands.
size_t session::fetch_keys(std::string_view unread) const {
    constexpr size_t pipeline_max = 32;
    constexpr size_t short_pipeline_bytes = 128;
    auto& locks = all.locks.local();
    // Keys of other cores are looked for there: see router.cc.
    if (unread.size() < short_pipeline_bytes || ss::smp::count > 1 ||
        !locks.table().is_worth_fetching(database)) {
        return 0;
    }
    std::array<std::string_view, pipeline_max> names;
    const size_t count = protocol::look_ahead(unread, names);
    std::array<shards::lock_key, pipeline_max> keys;
    for (size_t i = 0; i < count; ++i) {
        keys[i] = {database, names[i], locks.hasher().place(names[i]).bucket};
    }
    locks.table().fetch({keys.data(), count});
    return count;
}

session::pause session::execute_ready(std::string_view& unread) {
    constexpr size_t commands_a_look = 32;
    size_t fetched = 0;
    for (size_t executed = 0;; ++executed, fetched -= fetched > 0 ? 1 : 0) {
        if (fetched == 0) {
            fetched = fetch_keys(unread);
        }
        if (executed % commands_a_look == 0) {
            _batch_time.reset();
        }
        const auto [outcome, taken] = _parser.parse(unread);
        if (outcome == protocol::request_outcome::request) {
            // The request points into these bytes: they are dropped only now that it has been
            // executed.
            has_more = unread.size() > taken;
            execute(_parser.request());
        }
        unread.remove_prefix(taken);
        switch (outcome) {
            case protocol::request_outcome::need_more:
                return pause::need_bytes;
            case protocol::request_outcome::broken:
                reply.error({"ERR ", _parser.error()});
                closing = true;
                return pause::closing;
            case protocol::request_outcome::request:
                break;
        }
        if (closing) {
            return pause::closing;
        }
        if (_slow) {
            return pause::need_time;
        }
        if (output.size() > all.settings.limits.output_bytes / 2 ||
            _gaps.size() >= all.settings.limits.pipelined_commands) {
            return pause::need_room;
        }
    }
}

void session::execute(const protocol::request& request) {
    if (protocol::is_http(request)) {
        warn_of("speaks HTTP");
        closing = true;
        return;
    }
    ++all.counted.commands;
    ++user->counted->commands;
    ++commands_executed;
    if (replies == reply_mode::skip_next) {
        replies = reply_mode::skipping;
    }
    const size_t mark = output.size();
    const command_spec* spec = find_command(request.name());
    if (order.at + 1 == commands_executed && spec && spec->flags & flag_readonly) [[unlikely]] {
        order.at = commands_executed;  // who only looks may still ask for its answer again
    }
    if (!spec && (!all.settings.data || !from_proxy.empty())) {
        if (multi) {
            multi->broken = true;
        }
        unknown_command(request, reply);
    } else if (spec ? !refuse(*spec, request) : free_hand || is_allowed(spec, request)) {
        last_command = spec ? spec->name : std::string_view("upstream");
        run_or_refuse(spec, request);
    }
    if (output.size() > mark && output.view()[mark] == '-') {
        ++all.counted.error_replies;
        ++user->counted->error_replies;
    }
    if (!_slow) {
        mute(mark);
    }
}

/// CLIENT REPLY OFF and SKIP: takes back what the command has written. The mode counts as it is
/// after the command, for CLIENT REPLY ON is the one that is answered.
void session::mute(size_t mark) {
    if (replies == reply_mode::off || replies == reply_mode::skipping) {
        output.truncate(mark);
    }
    if (replies == reply_mode::skipping) {
        replies = reply_mode::on;
    }
}

/// What the user's rights forbid; a refusal has been said, and spoils a transaction.
bool session::is_allowed(const command_spec* spec, const protocol::request& request) {
    const bool permitted = is_permitted(*this, spec, request);
    if (!permitted && multi) {
        multi->broken = true;
    }
    return permitted;
}

/// What the state of the connection forbids. True if the refusal has been said.
bool session::refuse(const command_spec& spec, const protocol::request& request) {
    if (!takes(spec, request.size())) {
        if (multi) {
            multi->broken = true;
        }
        reply_wrong_arity(reply, spec.name);
        return true;
    }
    if (!free_hand && !is_allowed(&spec, request)) {
        return true;
    }
    if (only_listens() && !(spec.flags & flag_when_listening)) {
        reply.error({"ERR Can't execute '", spec.name,
                     "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                     "in this context"});
        return true;
    }
    if (multi && (spec.flags & flag_no_multi)) {
        multi->broken = true;
        reply.error("ERR Command not allowed inside a transaction");
        return true;
    }
    return false;
}

/// Without memory a command is refused and nothing else happens: it changes something only after it
/// has all the memory for it.
void session::run_or_refuse(const command_spec* spec, const protocol::request& request) {
    const size_t mark = output.size();
    const auto gaps = static_cast<ptrdiff_t>(_gaps.size());
    try {
        run(spec, request);
    } catch (const std::bad_alloc&) {
        output.truncate(mark);
        _gaps.erase(_gaps.begin() + gaps, _gaps.end());
        _slow.reset();
        if (multi) {
            multi->broken = true;
        }
        reply_out_of_memory(reply);
    }
}

void session::run(const command_spec* spec, const protocol::request& request) {
    if (multi && !(spec && spec->flags & flag_not_queued)) {
        return queue(spec, request);
    }
    // What is not queued inside a transaction is about the transaction.
    switch (multi ? destination::here : destination_of(*this, spec, request)) {
        case destination::here:
            // A pipeline that writes data and then gives up its lock must not do it the other way
            // round.
            return _for_upstream.empty() ? run_here(*spec, request)
                                         : run_slowly(spec, request, slow_command::way::in_turn);
        case destination::upstream:
            watches_upstream = watches_upstream || (spec && spec->name == "watch");
            return _gaps.size() == _for_upstream.size()
                       ? run_upstream(request)
                       : run_slowly(spec, request, slow_command::way::in_turn);
        case destination::both:
            return run_slowly(spec, request, slow_command::way::both);
        case destination::mixed:
            return reply.error("ERR keys of locks and of data cannot be mixed in one command");
    }
}

void session::queue(const command_spec* spec, const protocol::request& request) {
    const destination where = destination_of(*this, spec, request);
    if (where == destination::mixed) {
        multi->broken = true;
        return reply.error("ERR keys of locks and of data cannot be mixed in one command");
    }
    multi->bytes += cost_of_queueing(request);
    if (multi->bytes > all.settings.limits.query_bytes) {
        warn_of("a transaction beyond limits.query_bytes");
        closing = true;
        return;
    }
    multi->commands.push_back({spec, owned_request(request), where == destination::upstream});
    reply.simple("QUEUED");
}

void session::run_here(const command_spec& spec, const protocol::request& request) {
    if (spec.flags & flag_admin) [[unlikely]] {
        audit(*this, spec, request);
    }
    if (spec.may_wait && spec.may_wait(*this, request)) {
        run_slowly(&spec, request, slow_command::way::in_time);
    } else if (spec.on_client) {
        _batch_time.reset();  // it may look at the clock itself
        spec.on_client(*this, request);
    } else if (spec.on_keys) {
        run_keys(spec, request);
    } else {
        run_slowly(&spec, request, slow_command::way::in_time);
    }
}

void session::run_upstream(const protocol::request& request) {
    _gaps.push_back(
        {output.size(), upstream_slot(), _for_upstream.size(), replies != reply_mode::on});
    _for_upstream.emplace_back(request);
}

/// One look at the clock for the commands that are executed without a pause: all of them had come
/// before it, so each may be carried out as of that moment. Not where leases of masters end by
/// themselves: there every command looks.
shards::instant session::batch_time() {
    if (!_batch_time) {
        _batch_time = shards::read_clock();
    }
    return *_batch_time;
}

void session::run_keys(const command_spec& spec, const protocol::request& request) {
    auto& locks = all.locks.local();
    ss::shard_id core = 0;
    if (ss::smp::count > 1) {
        const auto keys = spec.find_keys ? spec.find_keys(*this, request) : keys_of(spec, request);
        const auto one = one_core_of(all, keys);
        if (!one) {
            return run_slowly(&spec, request, slow_command::way::in_time);
        }
        core = *one;
    }
    // Deep pipelines are no resends.
    constexpr size_t remembered = 4;
    if (spec.flags & flag_takes_lock && _taken_last.size() < remembered) {
        _taken_last.push_back({database, std::string(request[1]), batch_time()});
    }
    std::vector<std::string> keys;
    auto where = locks.leases() == nullptr ? shards::order_route::here : route();
    if (where != shards::order_route::here) {
        auto names = spec.find_keys ? spec.find_keys(*this, request) : keys_of(spec, request);
        std::ranges::transform(names, names.begin(), home_key);
        const auto now = shards::read_clock();
        const bool may_be_of_several =
            where == shards::order_route::to_home && spec.flags & flag_adds_up && names.size() > 1;
        if (may_be_of_several &&
            (core != ss::this_shard_id() || !std::ranges::all_of(names, [&](std::string_view key) {
                 return locks.leases()->is_here(locks.key(database, key), now);
             }))) {
            return run_slowly(&spec, request, slow_command::way::in_time);
        }
        const bool is_here =
            core == ss::this_shard_id() && std::ranges::any_of(names, [&](std::string_view key) {
                const auto found = locks.key(database, key);
                if (!locks.leases()->is_here(found, now)) {
                    return false;
                }
                if (where == shards::order_route::as_home) {
                    // Ready at once; the key stays for a moment where others have come for it.
                    shards::abandon(locks.leases()
                                        ->comes_to_be_here(database, std::string(key), found.hash)
                                        .discard_result());
                }
                return true;
            });
        if (is_here || names.empty()) {
            where = shards::order_route::here;
        } else {
            keys.assign(names.begin(), names.end());
        }
    }
    const bool can_run =
        core == ss::this_shard_id() && locks.turn_is_free() && where == shards::order_route::here;
    if (can_run && locks.leases() == nullptr) {
        if (spec.flags & flag_grows && memory_is_short()) {
            return reply_out_of_memory(reply);
        }
        const auto now = batch_time();
        spec.on_keys({request, database, locks, now, reply, id});
        locks.settle(now);
        if (const auto refused = locks.table().take_polled()) [[unlikely]] {
            locks.pollers().note(*refused, now);
        }
        return;
    }
    // What is sent earlier is carried out earlier.
    leased_attempt tried{.how = leased_attempt::end::not_run};
    const size_t mark = output.size();
    if (can_run && _gaps.empty()) {
        tried =
            try_leased(spec, {request, database, locks, shards::read_clock(), reply, id}, output);
        if (tried.polled) {
            locks.pollers().note(*tried.polled, shards::read_clock());
        }
        if (tried.how == leased_attempt::end::answered) {
            return;
        }
    }
    std::optional<std::string> answer;
    if (tried.how == leased_attempt::end::uncovered) {
        answer.emplace(output.view().substr(mark));
        output.truncate(mark);
    }
    if (_for_cores.empty()) {
        _for_cores.resize(ss::smp::count);
    }
    auto& items = _for_cores[core].items;
    _gaps.push_back({output.size(), core, items.size(), replies != reply_mode::on});
    items.push_back({&spec, database, reply.spoken(), owned_request(request), id,
                     std::move(tried.wanted), std::move(answer), where, std::move(keys), has_more});
}

void session::run_slowly(const command_spec* spec, const protocol::request& request,
                         slow_command::way how) {
    _slow.emplace(spec, owned_request(request), how);
}

/// One write at a time. The socket usually takes it at once; then there is nothing to wait for.
ss::future<> session::write_replies() {
    if (!_writing.try_wait()) {
        return _writing.wait().then([this] { return write_in_turn(); });
    }
    return write_in_turn();
}

ss::future<> session::write_in_turn() {
    if (in_reply) {
        // Only the writer of messages comes at such a moment. There may be gaps in the output,
        // known by their places.
        messages_due = true;
    }
    if (in_reply || output.empty()) {
        _writing.signal();
        return ss::make_ready_future<>();
    }
    const size_t size = output.size();
    all.counted.bytes_out += size;
    auto written = _out.put(to_buffer(output.take()));
    if (written.available()) {
        _writing.signal();
        return written;
    }
    being_written = size;
    write_began = ss::lowres_clock::now();
    return written.finally([this] {
        being_written = 0;
        _writing.signal();
    });
}

void session::wake_writer() {
    if (_waking || _gate.is_closed()) {
        return;
    }
    _waking = true;
    // After this turn of the reactor, so that a burst of messages is one write. A peer that has
    // gone is noticed by the reader; here there is nobody to tell.
    shards::background(_gate, log, "writing messages", [this] {
        return ss::yield()
            .then([this] {
                _waking = false;
                // While replies of others are still missing, their places in the output must not
                // move; the write at the end of the batch takes the messages along.
                return in_reply ? ss::make_ready_future<>() : write_replies();
            })
            .handle_exception([](const std::exception_ptr&) {});
    });
}

/// What hostile or broken clients make us say, they can make us say often: each once a minute.
/// `what` is one of few literals.
void session::warn_of(std::string_view what) {
    static thread_local std::map<std::string_view, ss::logger::rate_limit> seldom;
    auto& limit = seldom.try_emplace(what, std::chrono::minutes(1)).first->second;
    log.log(ss::log_level::warn, limit, "client {} at {}: {}, connection closed", id, peer, what);
}

void session::give_up(std::string_view why) {
    if (!closing) {
        warn_of(why);
    }
    cut();
}

void session::end_if_overdue(ss::lowres_clock::time_point now) {
    const auto why = overstays(now);
    if (!why || closing) {
        return;
    }
    if (*why == is_idle) {
        log.debug("client {} at {}: {}, connection closed", id, peer, *why);
        cut();
    } else {
        give_up(*why);
    }
}

void session::request_stop() {
    _ended_here = true;
    closing = true;
    if (_link != nullptr) {
        return _link->finish();  // after the clients that it carries
    }
    _socket.shutdown_input();
}

void session::cut() {
    if (!_delivered) {
        _delivered = delivery_on(_socket);  // before its end is under way, too
    }
    _ended_here = true;
    closing = true;
    if (!gone.abort_requested()) {
        gone.request_abort();
    }
    _socket.shutdown_input();
    _socket.shutdown_output();
}

}  // namespace lockkeeper::proxy
