#include "shards/proxy_registry.hh"

#include <chrono>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/log.hh>
#include <utility>

#include "shards/background.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

ss::logger log("registry");

constexpr auto between_beats = 1s;
/// Masters that have not seen a connection yet are worth a shorter pause.
constexpr auto first_pause = 50ms;
/// When nobody has written for this long, nobody is there.
constexpr std::chrono::milliseconds registry_ttl = 60s;

/// A hash of any size and kind: what is no card is left out.
std::vector<proxy_card> cards_in(const protocol::reply& reply) {
    std::vector<proxy_card> cards;
    const auto items = reply.items();
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (auto card = parse_proxy_card(items[i].text(), items[i + 1].text())) {
            cards.push_back(std::move(*card));
        }
    }
    return cards;
}

}  // namespace

proxy_registry::proxy_registry(proxy_card card, fleet& masters,
                               std::function<ss::future<>(const members&)> changed)
    : _card(std::move(card)),
      _masters(masters),
      _changed(std::move(changed)),
      _roster({.own_id = _card.id, .masters = masters.registry().size()}) {}

void proxy_registry::start() {
    background(_gate, log, "telling the other proxies of us", [this] { return run(); });
}

ss::future<> proxy_registry::stop() {
    _stopping.request_abort();
    co_await _gate.close();
    command_batch goodbye;
    goodbye.add("HDEL", _masters.registry().registry_key(), _card.id);
    co_await _masters.registry().ask_all(std::move(goodbye));
}

ss::future<> proxy_registry::run() {
    while (!_stopping.abort_requested()) {
        co_await beat();
        const auto pause = _card.beat < 20 && _roster.members().empty()
                               ? std::chrono::milliseconds(first_pause)
                               : std::chrono::milliseconds(between_beats);
        (co_await ss::coroutine::as_future(ss::sleep_abortable(pause, _stopping)))
            .ignore_ready_future();
    }
}

command_batch proxy_registry::question() {
    const std::string& key = _masters.registry().registry_key();
    command_batch batch;
    for (const std::string& gone : _roster.take_forgotten()) {
        batch.add("HDEL", key, gone);
    }
    ++_card.beat;
    batch.add("HSET", key, _card.id, to_text(_card));
    batch.add("PEXPIRE", key, registry_ttl.count());
    batch.add("HGETALL", key);
    return batch;
}

ss::future<> proxy_registry::beat() {
    std::vector<std::vector<proxy_card>> answers;
    for (const protocol::reply& each : co_await _masters.registry().ask_all(question())) {
        if (!each.is_error()) {
            answers.push_back(cards_in(each));
        }
    }
    _roster.on_reading(answers, read_clock());
    members all;
    for (const auto& [id, member] : _roster.members()) {
        all.push_back(member);
    }
    co_await _changed(all);
}

}  // namespace lockkeeper::shards
