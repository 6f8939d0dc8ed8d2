#pragma once

#include <chrono>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <utility>
#include <vector>

#include "proxy/client.hh"
#include "proxy/forwarder.hh"
#include "proxy/owned_request.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// Something that this proxy asks others in its own name, or an operator's, and not for one of its
/// clients: at the other proxies it is a client, for as long as the question takes. close() it, in
/// any case.
class errand final : public client {
public:
    explicit errand(services& shared, std::string for_whom = "-") : client(shared) {
        peer = std::move(for_whom);
    }

    /// Asks every proxy that can be reached, all at once, and waits no longer than that. The
    /// answers that came in time, each with the id of its proxy.
    ss::future<std::vector<std::pair<std::string, forward_result>>> ask_all(
        owned_request question, std::chrono::milliseconds patience);

    ss::future<> close();

    void cut() override { homes().cut(); }
    // Nobody else is to be heard here, and nothing told: what was asked is all.
    void when_heard(std::function<void()>) override {}
    void took_with_last_words(std::string_view) override {}
    void give_up(std::string_view) override { cut(); }

private:
    void login_changed() override {}
    void wake_writer() override { output.clear(); }
};

/// The other proxy that has the lease of this key, by its own word. Never fails.
ss::future<std::optional<std::string>> find_holder(services& all, uint32_t database,
                                                   std::string key);

}  // namespace lockkeeper::proxy
