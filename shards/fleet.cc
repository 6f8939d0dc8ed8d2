#include "shards/fleet.hh"

#include <fmt/format.h>

#include <random>
#include <seastar/core/coroutine.hh>

#include "shards/core/fleet_fingerprint.hh"

namespace lockkeeper::shards {

namespace {

std::string shown(const config::redis_address& address) {
    return fmt::format("{}:{}/{}", address.host, address.port, address.database);
}

std::string fingerprint_of(const config::config& settings) {
    fleet_shape shape{.stripes = {},
                      .max_ttl = settings.leases.max_ttl,
                      .round_timeout = settings.masters.timeout};
    for (const auto& stripe : settings.stripes) {
        fleet_shape::stripe one{.name = stripe.name, .masters = {}};
        for (const auto& address : stripe.masters) {
            one.masters.push_back(shown(address));
        }
        shape.stripes.push_back(std::move(one));
    }
    return fleet_fingerprint(shape);
}

}  // namespace

std::string draw_proxy_id() {
    std::random_device random;
    return fmt::format("lk{:08x}{:08x}", random(), random());
}

/// The groups answer to the keeper, and the keeper asks the groups: the groups learn of it through
/// a relay that is there first.
class fleet::relay final : public lease_answers {
public:
    lease_answers* to = nullptr;

    void voted(const lock_key& key, attempt_id attempt, master_index from,
               const vote& answer) override {
        to->voted(key, attempt, from, answer);
    }
    void raised(const lock_key& key, attempt_id attempt, master_index from, uint64_t value,
                bool confirmed) override {
        to->raised(key, attempt, from, value, confirmed);
    }
    void renewed(const lock_key& key, attempt_id attempt, master_index from,
                 const renewal_answer& answer) override {
        to->renewed(key, attempt, from, answer);
    }
    void looked(const lock_key& key, attempt_id attempt, std::optional<std::string_view> holder,
                std::optional<std::chrono::nanoseconds> remaining) override {
        to->looked(key, attempt, holder, remaining);
    }
    void link_lost(uint32_t stripe, master_index from) override { to->link_lost(stripe, from); }
};

fleet::fleet(const config::config& settings, std::string proxy, lock_table& table,
             std::function<void(instant)> changed)
    : _fingerprint(fingerprint_of(settings)), _proxy(proxy), _relay(std::make_unique<relay>()) {
    std::vector<std::string> names;
    std::vector<lease_voters*> groups;
    for (const auto& stripe : settings.stripes) {
        group_options options{.stripe = stripe,
                              .masters = settings.masters,
                              .rules = {.masters = static_cast<uint8_t>(stripe.masters.size()),
                                        .fences = settings.leases.fences,
                                        .slack = settings.leases.slack,
                                        .max_ttl = settings.leases.max_ttl,
                                        .untimed = settings.leases.untimed,
                                        .timeout = settings.masters.timeout},
                              .fingerprint = _fingerprint,
                              .proxy = proxy,
                              .number = static_cast<uint32_t>(_groups.size())};
        names.push_back(stripe.name);
        _groups.push_back(std::make_unique<stripe_group>(std::move(options), *_relay));
        groups.push_back(_groups.back().get());
    }
    _leases.emplace(table, stripe_map(std::move(names)), std::move(groups), std::move(changed));
    _relay->to = &*_leases;
}

fleet::~fleet() = default;

ss::future<> fleet::start() {
    for (auto& group : _groups) {
        co_await group->start();
    }
}

ss::future<> fleet::stop() {
    co_await _leases->stop();
    for (auto& group : _groups) {
        group->request_stop();
    }
    for (auto& group : _groups) {
        co_await group->stop();
    }
}

void fleet::change_credentials(const config::config& next) {
    for (size_t i = 0; i < _groups.size(); ++i) {
        _groups[i]->change_credentials(next.stripes.at(i), next.masters);
    }
}

std::vector<fleet::stripe_state> fleet::states() const {
    std::vector<stripe_state> all;
    for (const auto& group : _groups) {
        all.push_back({.name = group->name(), .masters = group->states()});
    }
    return all;
}

}  // namespace lockkeeper::shards
