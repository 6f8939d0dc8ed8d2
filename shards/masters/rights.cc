#include "shards/masters/rights.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "shards/masters/refusal.hh"

namespace lockkeeper::shards {

namespace {

constexpr size_t shown_bytes_max = 200;

/// Whatever a round, a script or the registry of proxies does to a key. `key` is one of ours that
/// never exists.
command_batch all_commands(std::string_view key) {
    command_batch all;
    all.add("SET", key, "0", "NX", "PX", "1").add("GET", key).add("PTTL", key);
    all.add("PEXPIRE", key, "1").add("DEL", key).add("UNLINK", key);
    all.add("HSET", key, "a", "0").add("HMGET", key, "a").add("HGETALL", key);
    all.add("HINCRBY", key, "a", "1").add("HDEL", key, "a");
    all.add("EVALSHA", "0000000000000000000000000000000000000000", "1", key);
    all.add("SCRIPT", "LOAD", "return 0");
    all.add("DISCARD");
    return all;
}

std::string words_of(const protocol::reply& refused) {
    return std::string(protocol::sanitised(refused.text(), shown_bytes_max));
}

}  // namespace

// The caller waits and keeps the master for as long.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
ss::future<std::optional<std::string>> find_missing_right(master& who, std::string stripe,
                                                          std::chrono::milliseconds timeout) {
    const send_options how{.timeout = timeout, .only_on = who.generation()};
    command_batch begin;
    begin.add("MULTI");
    const auto begun = co_await who.send(begin, how);
    if (!begun) {
        co_return std::string(to_text(begun.error()));
    }
    // Without a transaction it would all be done.
    if (begun->replies.front().is_error()) {
        co_return words_of(begun->replies.front());
    }
    const auto judged =
        co_await who.send(all_commands(fmt::format("lk:{{{}}}:rights", stripe)), how);
    if (!judged) {
        co_return std::string(to_text(judged.error()));
    }
    for (const protocol::reply& each : judged->replies) {
        // Other errors pass: it may be out of memory at the moment.
        if (refusal_of(each) == refusal::no_permission) {
            co_return words_of(each);
        }
    }
    co_return std::nullopt;
}

}  // namespace lockkeeper::shards
