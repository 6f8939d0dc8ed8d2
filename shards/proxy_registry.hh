#pragma once

#include <functional>
#include <seastar/core/abort_source.hh>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <string>
#include <vector>

#include "shards/core/proxy_roster.hh"
#include "shards/fleet.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// Tells the other proxies of the fleet about this one, on the masters, and learns of them there.
/// One for the process, on the core whose fleet it is given. Who is alive is core/proxy_roster's to
/// decide; who may be trusted is not found out here.
///
/// Each proxy writes its card into a hash on every master of the first stripe, once a second, and
/// reads all cards in the same breath. The hash ends by itself when nobody writes any more.
class proxy_registry {
public:
    using members = std::vector<proxy_roster::member>;

    /// `card` is ours, without the beat. `changed` is told all others after each reading.
    proxy_registry(proxy_card card, fleet& masters,
                   std::function<ss::future<>(const members&)> changed);

    void start();
    /// Takes our card off the masters, if they can be reached.
    ss::future<> stop();

private:
    ss::future<> run();
    ss::future<> beat();
    command_batch question();

    proxy_card _card;
    fleet& _masters;
    std::function<ss::future<>(const members&)> _changed;
    proxy_roster _roster;
    ss::abort_source _stopping;
    ss::gate _gate;
};

}  // namespace lockkeeper::shards
