#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "proxy/statistics.hh"
#include "shards/core/grant_types.hh"
#include "shards/core/order_ledger.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;

/// How long an order of another proxy's client is known again: longer than that tries.
inline constexpr std::chrono::seconds orders_are_remembered{60};

/// The connected clients of one core, by id, and what has been counted there. For CLIENT LIST,
/// CLIENT KILL and INFO, which go over all cores.
class clients : public ss::peering_sharded_service<clients> {
public:
    void add(client& who);
    void remove(const client& who);

    client* find(uint64_t id) const;
    void for_each(const std::function<void(client&)>& visit) const;
    /// Where these clients are, on whatever core, without their ports.
    ss::future<std::set<std::string, std::less<>>> addresses(std::vector<uint64_t> ids);
    size_t size() const { return _by_id.size(); }

    statistics counted{};
    /// What clients of other proxies may not know that they have.
    shards::order_ledger orders{};
    /// Cuts those off who have given this order before it was repeated so many times: nobody reads
    /// their answers any more. False if there are none.
    bool end_order(const std::string& number, uint32_t times);
    /// The client gives an order of this number, or one without a number.
    void note_order(client& who, const std::string& number, uint32_t repeated);

    /// Tells a client, on whatever core it is, that it lost a lock; does not wait for it.
    void tell_lost(shards::lost_grant what);

    ss::future<> stop() { return _gate.close(); }

private:
    void forget_order(const client& who);

    ss::gate _gate;  ///< news on their way to other cores
    std::map<uint64_t, client*> _by_id;
    std::unordered_multimap<std::string, client*> _by_order;
};

/// Ids are unique over all cores without asking them, and tell the core.
uint64_t client_id(uint64_t number_on_core);
ss::shard_id core_of_client(uint64_t id);

}  // namespace lockkeeper::proxy
