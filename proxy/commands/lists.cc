#include <charconv>
#include <cmath>
#include <limits>
#include <seastar/core/coroutine.hh>
#include <seastar/core/when_all.hh>
#include <seastar/coroutine/as_future.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/lock_wait.hh"
#include "proxy/router.hh"
#include "proxy/services.hh"

/// Signal lists: how some libraries wake one waiter for each release.
namespace lockkeeper::proxy {

namespace {

using protocol::request;
using shards::list_end;
using shards::pop_result;

void push(const key_call& call, list_end end) {
    const std::span<const std::string_view> values = call.args.args.subspan(2);
    const auto length = call.table().list_push(call.key(1), end, values, call.now);
    if (!length) {
        return reply_lock_error(call.reply, length.error());
    }
    call.reply.integer(static_cast<int64_t>(*length));
    call.locks.pushed(call.database, call.args[1], call.now);
}
void lpush(const key_call& call) {
    push(call, list_end::front);
}
void rpush(const key_call& call) {
    push(call, list_end::back);
}

void pop(const key_call& call, list_end end) {
    if (call.args.size() > 3) {
        return reply_wrong_arity(call.reply, end == list_end::front ? "lpop" : "rpop");
    }
    if (call.args.size() == 2) {
        auto value = call.table().list_pop(call.key(1), end, call.now);
        if (!value) {
            return reply_lock_error(call.reply, value.error());
        }
        return *value ? call.reply.bulk(**value) : call.reply.null();
    }
    const auto count = protocol::parse_integer(call.args[2]);
    if (!count || *count < 0) {
        return call.reply.error("ERR value is out of range, must be positive");
    }
    const auto length = call.table().list_length(call.key(1), call.now);
    if (!length) {
        return reply_lock_error(call.reply, length.error());
    }
    if (*length == 0) {
        return call.reply.null_array();
    }
    const size_t taken = std::min(static_cast<size_t>(*count), *length);
    call.reply.array(taken);
    for (size_t i = 0; i < taken; ++i) {
        call.reply.bulk(call.table().list_pop(call.key(1), end, call.now)->value());
    }
}
void lpop(const key_call& call) {
    pop(call, list_end::front);
}
void rpop(const key_call& call) {
    pop(call, list_end::back);
}

void llen(const key_call& call) {
    const auto length = call.table().list_length(call.key(1), call.now);
    length ? call.reply.integer(static_cast<int64_t>(*length))
           : reply_lock_error(call.reply, length.error());
}

// ---- blocking
// ---------------------------------------------------------------------------------------------

/// Seconds, with a fraction; 0 waits for ever. Nothing if it makes no sense; then that has been
/// said.
struct patience {
    std::optional<std::chrono::milliseconds> most;
};
std::optional<patience> read_timeout(client& who, std::string_view text) {
    double seconds = 0;
    const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (problem != std::errc{} || end != digits.data() + digits.size() || std::isnan(seconds) ||
        digits.starts_with('+')) {
        who.reply.error("ERR timeout is not a float or out of range");
        return std::nullopt;
    }
    if (seconds < 0) {
        who.reply.error("ERR timeout is negative");
        return std::nullopt;
    }
    // Redis counts milliseconds in 64 bits.
    if (seconds * 1000 >= static_cast<double>(std::numeric_limits<int64_t>::max())) {
        who.reply.error("ERR timeout is out of range");
        return std::nullopt;
    }
    if (seconds == 0) {
        return patience{};
    }
    constexpr double longest =
        1e9;  // seconds, some thirty years: beyond what the timer's clock can hold
    const std::chrono::duration<double> wanted(std::min(seconds, longest));
    return patience{std::chrono::ceil<std::chrono::milliseconds>(wanted)};
}

struct pop_answer {
    bool wrong_type = false;
    bool busy = false;     ///< a command over several cores has the turn: nothing was looked at
    bool at_once = false;  ///< the element was there already
    pop_result result{};

    bool is_final() const { return wrong_type || result.how == pop_result::end::popped; }
};

/// On the owner's core: the first of the keys that has an element gives it.
pop_answer pop_first(shards::lock_service& locks, const shards::pop_request& wanted) {
    for (const std::string& key : wanted.keys) {
        const shards::lock_key list{wanted.database, key, locks.hasher().place(key).bucket};
        auto value = locks.table().list_pop(list, wanted.from, shards::read_clock());
        if (!value) {
            return {.wrong_type = true};
        }
        if (*value) {
            return {.at_once = true,
                    .result = {
                        .how = pop_result::end::popped, .key = key, .value = std::move(**value)}};
        }
    }
    return {};
}

/// Pops now or never.
ss::future<pop_answer> look_at(client& who, ss::shard_id core, const shards::pop_request& wanted) {
    return who.all.locks.invoke_on(
        core, [wanted](shards::lock_service& locks) { return pop_first(locks, wanted); });
}

/// Stands in the queues there. The turn is ours and the lists are empty.
ss::future<pop_answer> wait_at(client& who, ss::shard_id core, const shards::pop_request& wanted) {
    return who.all.locks.invoke_on(core, [wanted](shards::lock_service& locks) {
        return locks.waiting_pops().wait(wanted).then(
            [](pop_result got) { return pop_answer{.result = std::move(got)}; });
    });
}

/// The usual case, all keys of one core: pops at once or waits there, in one message.
ss::future<pop_answer> pop_or_wait_at(client& who, ss::shard_id core,
                                      const shards::pop_request& wanted) {
    return who.all.locks.invoke_on(core, [wanted](shards::lock_service& locks) {
        if (!locks.turn_is_free()) {
            return ss::make_ready_future<pop_answer>(pop_answer{.busy = true});
        }
        auto now = pop_first(locks, wanted);
        if (now.is_final()) {
            return ss::make_ready_future<pop_answer>(std::move(now));
        }
        return locks.waiting_pops().wait(wanted).then(
            [](pop_result got) { return pop_answer{.result = std::move(got)}; });
    });
}

/// An element that a client could not take after all goes back to where it came from.
ss::future<> put_back(client& who, ss::shard_id core, uint32_t database, list_end from,
                      pop_result result) {
    return who.all.locks.invoke_on(core, [database, from,
                                          result = std::move(result)](shards::lock_service& locks) {
        const shards::lock_key list{database, result.key, locks.hasher().place(result.key).bucket};
        const std::string_view value = result.value;
        const auto now = shards::read_clock();
        if (locks.table().list_push(list, from, {&value, 1}, now)) {
            locks.pushed(database, result.key, now);
        }
    });
}

/// The keys of a pop, cut where the core changes: in this order they are looked at.
using pops_by_core = std::vector<std::pair<ss::shard_id, shards::pop_request>>;

pops_by_core in_order(client& who, const owned_request& args,
                      const shards::pop_request& without_keys) {
    pops_by_core runs;
    for (size_t i = 1; i + 1 < args.size(); ++i) {
        const ss::shard_id core = who.all.locks.local().core_of(args[i]);
        if (runs.empty() || runs.back().first != core) {
            runs.emplace_back(core, without_keys);
        }
        runs.back().second.keys.emplace_back(args[i]);
    }
    return runs;
}

/// Each core once: there one waits.
pops_by_core merged(const pops_by_core& runs) {
    pops_by_core whole;
    for (const auto& [core, wanted] : runs) {
        auto place = std::ranges::find(whole, core, &pops_by_core::value_type::first);
        if (place == whole.end()) {
            whole.emplace_back(core, wanted);
        } else {
            place->second.keys.insert(place->second.keys.end(), wanted.keys.begin(),
                                      wanted.keys.end());
        }
    }
    return whole;
}

std::vector<ss::shard_id> cores_in(const pops_by_core& whole) {
    std::vector<ss::shard_id> cores;
    for (const auto& [core, wanted] : whole) {
        cores.push_back(core);
    }
    std::ranges::sort(cores);
    return cores;
}

/// One client's wait for the first element of any of its lists, from the first look to the reply.
///
/// The look at all lists and taking a place in their queues is one step as seen by everybody else:
/// an element is never missed in between, and lists are preferred in the order in which they were
/// named. Lives in the frame of blocking_pop.
class pop_wait {
public:
    pop_wait(client& who, const owned_request& args, shards::pop_request without_keys)
        : _who(who), _runs(in_order(who, args, without_keys)), _whole(merged(_runs)) {}

    /// Nothing if there is no element and nobody may or can wait for one.
    ss::future<std::optional<pop_answer>> run() {
        const bool may_wait = !_who.holds_turns && !_who.gone.abort_requested();
        if (!may_wait) {
            co_await with_turns(_who, cores_in(_whole), [this] { return look(); });
            co_return std::move(_answer);
        }
        auto hung_up = _who.gone.subscribe([this]() noexcept { cancel(); });
        _who.end_reply();
        if (_whole.size() == 1) {
            auto first = pop_or_wait_at(_who, _whole[0].first, _whole[0].second);
            _who.blocked = true;
            auto answer = co_await std::move(first);
            _who.blocked = false;
            if (!answer.busy) {
                _answer = std::move(answer);
            }
        }
        if (!_answer) {
            co_await with_turns(_who, cores_in(_whole), [this] { return look_and_stand_in(); });
            _who.blocked = !_waits.empty();
            if (_who.gone.abort_requested()) {
                cancel();
            }
            co_await ss::when_all_succeed(_waits.begin(), _waits.end());
            _who.blocked = false;
        }
        // Who left while it waited takes nothing along. Who did not wait is answered as after any
        // other command: a client may well have closed its own side only.
        if (_who.gone.abort_requested() && _answer->result.how == pop_result::end::popped &&
            !_answer->at_once) {
            co_await give_back(std::move(_answer->result));
            _answer.reset();
        }
        co_return std::move(_answer);
    }

private:
    ss::future<> look() {
        for (const auto& [core, wanted] : _runs) {
            auto one = co_await look_at(_who, core, wanted);
            if (one.is_final()) {
                _answer = std::move(one);
                co_return;
            }
        }
    }

    ss::future<> look_and_stand_in() {
        co_await look();
        if (_answer) {
            co_return;
        }
        for (const auto& [core, wanted] : _whole) {
            _waits.push_back(wait_at(_who, core, wanted).then([this](pop_answer one) {
                return heard(std::move(one));
            }));
        }
    }

    /// The first element wins; then nobody waits any more, and one that came at the same time goes
    /// back.
    ss::future<> heard(pop_answer one) {
        const bool is_popped = one.result.how == pop_result::end::popped;
        if (_answer && _answer->is_final()) {
            return is_popped ? give_back(std::move(one.result)) : ss::make_ready_future<>();
        }
        _answer = std::move(one);
        cancel();
        return ss::make_ready_future<>();
    }

    ss::future<> give_back(pop_result result) {
        const auto& wanted = _whole[0].second;
        const ss::shard_id core = _who.all.locks.local().core_of(result.key);
        return put_back(_who, core, wanted.database, wanted.from, std::move(result));
    }

    void cancel() noexcept {
        for (const auto& [core, wanted] : _whole) {
            // Nobody needs the answer, and the service outlives every session.
            (void)_who.all.locks.invoke_on(core, [id = _who.id](shards::lock_service& locks) {
                locks.waiting_pops().cancel(id);
            });
        }
    }

    client& _who;
    pops_by_core _runs;
    pops_by_core _whole;
    std::optional<pop_answer> _answer;
    std::vector<ss::future<>> _waits;
};

ss::future<> blocking_pop(client& who, owned_request args, list_end from) {
    const auto timeout = read_timeout(who, args[args.size() - 1]);
    if (!timeout) {
        co_return;
    }
    const bool in_transaction = who.holds_turns;
    pop_wait wait(who, args,
                  {.client = who.id,
                   .database = who.database,
                   .keys = {},
                   .from = from,
                   .timeout = timeout->most});
    const auto answer = co_await wait.run();

    const bool is_popped = answer && answer->result.how == pop_result::end::popped;
    if (answer && answer->wrong_type) {
        reply_lock_error(who.reply, shards::lock_error::wrong_type);
    } else if (is_popped) {
        who.reply.array(2);
        who.reply.bulk(answer->result.key);
        who.reply.bulk(answer->result.value);
    } else if (!in_transaction && who.gone.abort_requested()) {
        end_wait_for_good(who);
    } else if (std::exchange(who.unblocked_with_error, false)) {
        who.reply.error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
    } else {
        who.reply.null_array();
    }
}
ss::future<> blpop(client& who, owned_request args) {
    return blocking_pop(who, std::move(args), list_end::front);
}
ss::future<> brpop(client& who, owned_request args) {
    return blocking_pop(who, std::move(args), list_end::back);
}

constexpr uint16_t writes = flag_write | flag_fast;
constexpr uint16_t waits = flag_write | flag_blocking | flag_noscript;
constexpr key_positions first{1, 1, 1};
constexpr key_positions all_but_last{1, -2, 1};

constexpr command_spec table[] = {
    {.name = "blpop",
     .least = 3,
     .most = -1,
     .flags = waits,
     .keys = all_but_last,
     .in_time = blpop},
    {.name = "brpop",
     .least = 3,
     .most = -1,
     .flags = waits,
     .keys = all_but_last,
     .in_time = brpop},
    {.name = "llen",
     .least = 2,
     .most = 2,
     .flags = flag_readonly | flag_fast,
     .keys = first,
     .on_keys = llen},
    {.name = "lpop", .least = 2, .most = -1, .flags = writes, .keys = first, .on_keys = lpop},
    {.name = "lpush",
     .least = 3,
     .most = -1,
     .flags = writes | flag_grows,
     .keys = first,
     .on_keys = lpush},
    {.name = "rpop", .least = 2, .most = -1, .flags = writes, .keys = first, .on_keys = rpop},
    {.name = "rpush",
     .least = 3,
     .most = -1,
     .flags = writes | flag_grows,
     .keys = first,
     .on_keys = rpush},
};

}  // namespace

std::span<const command_spec> list_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
