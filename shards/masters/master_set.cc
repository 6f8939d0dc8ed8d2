#include "shards/masters/master_set.hh"

#include <fmt/format.h>

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/loop.hh>
#include <seastar/core/manual_clock.hh>
#include <seastar/core/smp.hh>

namespace lockkeeper::shards {

template <typename Clock>
basic_master_set<Clock>::basic_master_set(const config::stripe_options& stripe,
                                          const config::master_options& options,
                                          master_events& events)
    : _stripe(stripe.name) {
    for (const config::redis_address& address : stripe.masters) {
        _masters.push_back(std::make_unique<basic_redis_master<Clock>>(
            redis_master_options{
                .address = address,
                .masters = options,
                .name = fmt::format("lockkeeper-{}-{}", _stripe, ss::this_shard_id()),
                .index = static_cast<uint32_t>(_masters.size())},
            events));
    }
}

template <typename Clock>
ss::future<> basic_master_set<Clock>::start() {
    for (auto& one : _masters) {
        co_await one->start();
    }
}

template <typename Clock>
void basic_master_set<Clock>::request_stop() {
    for (auto& one : _masters) {
        one->request_stop();
    }
}

template <typename Clock>
ss::future<> basic_master_set<Clock>::stop() {
    request_stop();
    co_await ss::parallel_for_each(_masters, [](auto& one) { return one->stop(); });
}

template <typename Clock>
void basic_master_set<Clock>::change_credentials(const config::stripe_options& stripe,
                                                 const config::master_options& options) {
    for (std::size_t i = 0; i != _masters.size(); ++i) {
        _masters[i]->change_credentials(stripe.masters.at(i), options);
    }
}

template <typename Clock>
std::vector<master*> basic_master_set<Clock>::all() {
    std::vector<master*> masters;
    for (auto& one : _masters) {
        masters.push_back(one.get());
    }
    return masters;
}

template <typename Clock>
std::size_t basic_master_set<Clock>::connected() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(_masters, [](const auto& one) { return one->is_connected(); }));
}

template <typename Clock>
std::vector<master_state> basic_master_set<Clock>::states() const {
    std::vector<master_state> states;
    for (const auto& one : _masters) {
        states.push_back(one->state());
    }
    return states;
}

template class basic_master_set<ss::lowres_clock>;
template class basic_master_set<ss::manual_clock>;

}  // namespace lockkeeper::shards
