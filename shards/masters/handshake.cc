#include "shards/masters/handshake.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>
#include <utility>

#include "protocol/text.hh"

namespace lockkeeper::shards {

namespace {

constexpr size_t shown_bytes_max = 200;

std::unexpected<std::string> because(master_error error) {
    return std::unexpected(std::string(to_text(error)));
}

}  // namespace

// The references stay valid: who calls waits, and keeps the master for as long.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

ss::future<std::expected<handshake_result, std::string>> shake_hands(
    master& who, std::chrono::milliseconds timeout) {
    const send_options how{.timeout = timeout, .only_on = who.generation()};
    const auto told = co_await who.send(facts_questions(), how);
    if (!told) {
        co_return because(told.error());
    }
    auto facts = read_facts(told->replies);
    if (!facts) {
        co_return std::unexpected(std::move(facts.error()));
    }
    const auto clock = co_await look_at_clock(who, how);
    if (!clock) {
        co_return std::unexpected(clock.error());
    }
    facts->clock = *clock;
    co_return handshake_result{.generation = told->generation, .facts = std::move(*facts)};
}

ss::future<std::expected<clock_sample, std::string>> look_at_clock(master& who, send_options how) {
    command_batch question;
    question.add("TIME");
    const auto told = co_await who.send(question, how);
    if (!told) {
        co_return because(told.error());
    }
    const auto& answer = told->replies.front();
    const auto shown = read_time(answer);
    if (!shown) {
        co_return std::unexpected(fmt::format("it does not tell the time: '{}'",
                                              protocol::sanitised(answer.text(), shown_bytes_max)));
    }
    co_return clock_sample{.sent = told->sent, .received = told->received, .shown = *shown};
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace lockkeeper::shards
