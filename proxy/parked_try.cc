#include "proxy/parked_try.hh"

#include <seastar/core/coroutine.hh>
#include <utility>

#include "protocol/text.hh"
#include "proxy/at_home.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/lock_wait.hh"
#include "proxy/router.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

using std::chrono::milliseconds;

namespace {

uint64_t token_of(client& who, std::string_view key, std::string_view owner) {
    return shards::caller::of(who.all.locks.local().key(who.database, key), who.id, owner).token;
}

}  // namespace

bool may_park_any(client& who) {
    auto& locks = who.all.locks.local();
    return locks.table().policies().any_parks() || !locks.pollers().empty();
}

std::optional<milliseconds> time_to_park(client& who, std::string_view key,
                                         std::string_view owner) {
    if (!may_park_any(who) || who.has_more || who.multi || who.holds_turns) {
        return std::nullopt;
    }
    auto& locks = who.all.locks.local();
    const auto& policy = locks.table().policies().of(key);
    const uint64_t token = token_of(who, key, owner);
    const auto now = shards::read_clock();
    std::chrono::nanoseconds longest = policy.park;
    if (policy.pollers == shards::poller_rule::adaptive) {
        const auto since = locks.pollers().tries(token, now);
        if (!since) {
            return std::nullopt;
        }
        longest = std::min(longest, now - *since);
    } else if (policy.pollers != shards::poller_rule::park) {
        return std::nullopt;
    }
    return std::chrono::ceil<milliseconds>(shards::held_back_for(longest, token, now));
}

std::optional<milliseconds> ttl_of_try(std::string_view number, milliseconds unit) {
    constexpr int64_t longest = int64_t{1} << 40;
    const auto value = protocol::parse_integer(number);
    return value && *value > 0 && *value <= longest ? std::optional(*value * unit) : std::nullopt;
}

ss::future<parked_end> park(client& who, const owned_request& request, shards::lock_order order,
                            milliseconds how_long) {
    using end = shards::lock_answer::end;
    using shards::lock_error;
    const std::string key = order.key;
    const uint64_t token = token_of(who, order.key, order.owner);
    order.is_parked = true;
    order.wait = how_long;
    const auto answer = co_await wait_for_lock(who, std::move(order));
    switch (answer.how) {
        case end::granted:
            who.all.locks.local().pollers().forget(token);
            who.took_with_last_words(key);
            co_return parked_end::granted;
        case end::elsewhere:
            // The home holds the answer back, if its policy says so.
            co_return co_await done_at_home(who, request, {key}) ? parked_end::answered
                                                                 : parked_end::refused;
        case end::failed:
            if (answer.error != lock_error::other_lock_type &&
                answer.error != lock_error::wrong_type && answer.error != lock_error::upgrade) {
                reply_lock_error(who.reply, answer.error);
                co_return parked_end::answered;
            }
            break;
        default:
            break;
    }
    if (who.gone.abort_requested()) {
        end_wait_for_good(who);
        co_return parked_end::answered;
    }
    co_return parked_end::refused;
}

ss::future<> run_unparked(client& who, const owned_request& request, std::string_view key) {
    const auto views = request.views();
    core_batch batch;
    batch.items.push_back({find_command(views[0]), who.database, who.reply.spoken(),
                           owned_request(protocol::request{views}), who.id});
    const auto replies =
        co_await run_on(who.all, who.all.locks.local().core_of(key), std::move(batch),
                        who.holds_turns ? turn::have_it : turn::wait_for_it);
    who.output.append(replies[0]);
}

}  // namespace lockkeeper::proxy
