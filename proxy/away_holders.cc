#include "proxy/away_holders.hh"

#include <atomic>
#include <seastar/core/smp.hh>

#include "proxy/client.hh"
#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

std::atomic<size_t> on_all_cores{0};

}  // namespace

away_holders& away_holders::here() {
    static thread_local away_holders its;
    return its;
}

void away_holders::add(client& who) {
    if (_all.insert(&who).second) {
        on_all_cores.fetch_add(1, std::memory_order_relaxed);
    }
}

void away_holders::remove(client& who) {
    if (_all.erase(&who) > 0) {
        on_all_cores.fetch_sub(1, std::memory_order_relaxed);
    }
}

bool away_holders::any() {
    return on_all_cores.load(std::memory_order_relaxed) > 0;
}

void away_holders::released(uint32_t database, const std::string& key, const std::string& owner) {
    if (any()) {
        shards::abandon(
            ss::smp::invoke_on_all([database, key = std::string(key), owner = std::string(owner)] {
                here().drop(database, key, owner);
                return ss::make_ready_future<>();
            }));
    }
}

void away_holders::drop(uint32_t database, const std::string& key, const std::string& owner) {
    for (auto each = _all.begin(); each != _all.end();) {
        client& who = **each;
        ++each;
        who.away.gone(database, key, owner);
        if (who.away.empty()) {
            remove(who);
        }
    }
}

}  // namespace lockkeeper::proxy
