#include "proxy/readiness.hh"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/text.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

std::vector<std::string> readiness::objections(services& all, shards::instant now) const {
    std::vector<std::string> why;
    if (_stage == stage::starting) {
        why.emplace_back("starting: clients are not accepted yet");
    }
    if (_stage == stage::stopping) {
        why.emplace_back("stopping: clients are not accepted any more");
    }
    auto& locks = all.locks.local();
    if (locks.table().opens_at() > now) {
        why.emplace_back("no lock is given so soon after the start (embedded.start_delay)");
    }
    if (const shards::fleet* const masters = locks.masters()) {
        for (const auto& stripe : masters->states()) {
            const auto voting = std::ranges::count(
                stripe.masters, shards::admission::state::admitted, &shards::voter_state::standing);
            const size_t needed = stripe.masters.size() / 2 + 1;
            if (static_cast<size_t>(voting) < needed) {
                why.push_back(fmt::format("stripe {}: {} of {} masters vote, {} are needed",
                                          protocol::sanitised(stripe.name), voting,
                                          stripe.masters.size(), needed));
            }
        }
    }
    return why;
}

}  // namespace lockkeeper::proxy
