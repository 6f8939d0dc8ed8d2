#include "proxy/errand.hh"

#include <array>
#include <seastar/core/coroutine.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/timer.hh>
#include <seastar/coroutine/as_future.hh>

#include "proxy/peers.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

ss::future<std::vector<std::pair<std::string, forward_result>>> errand::ask_all(
    owned_request question, std::chrono::milliseconds patience) {
    std::vector<std::string> whom;
    std::vector<ss::future<forward_result>> asked;
    const auto words = question.views();
    const peers& links = all.links.local();
    for (const peer_view& each : links.views()) {
        if (!each.is_self && links.is_reachable(each.id)) {
            whom.push_back(each.id);
            asked.push_back(homes().call(each.id, protocol::request{words}));
        }
    }
    // Who has not answered by then has the question nevertheless.
    ss::timer<ss::lowres_clock> deadline([this] { homes().cut(); });
    deadline.arm(patience);
    std::vector<std::pair<std::string, forward_result>> answers;
    for (size_t i = 0; i < asked.size(); ++i) {
        answers.emplace_back(std::move(whom[i]), co_await std::move(asked[i]));
    }
    co_return answers;
}

ss::future<> errand::close() {
    return at_homes ? at_homes->close() : ss::make_ready_future<>();
}

ss::future<std::optional<std::string>> find_holder(services& all, uint32_t database,
                                                   std::string key) {
    constexpr std::chrono::milliseconds patience{250};
    errand search(all);
    search.database = database;
    const std::array<std::string_view, 2> words{"EXISTS", key};
    auto asked = co_await ss::coroutine::as_future(
        search.ask_all(owned_request(protocol::request{words}), patience));
    co_await search.close();
    if (asked.failed()) {
        asked.ignore_ready_future();
        co_return std::nullopt;
    }
    for (auto& [proxy, answer] : asked.get()) {
        if (answer && answer->as_integer()) {
            co_return std::move(proxy);
        }
    }
    co_return std::nullopt;
}

}  // namespace lockkeeper::proxy
