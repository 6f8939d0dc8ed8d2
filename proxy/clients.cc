#include "proxy/clients.hh"

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/util/log.hh>

#include "proxy/client.hh"
#include "shards/background.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("clients");

}  // namespace

void clients::add(client& who) {
    _by_id.emplace(who.id, &who);
}

void clients::remove(const client& who) {
    forget_order(who);
    _by_id.erase(who.id);
}

void clients::note_order(client& who, const std::string& number, uint32_t repeated) {
    forget_order(who);
    who.order = {.at = who.commands_executed, .repeated = repeated};
    if (!number.empty()) {
        _by_order.emplace(number, &who);
        who.order.number = number;
    }
}

void clients::forget_order(const client& who) {
    if (who.order.number.empty()) {
        return;
    }
    const auto [begin, end] = _by_order.equal_range(who.order.number);
    const auto found =
        std::find_if(begin, end, [&who](const auto& each) { return each.second == &who; });
    if (found != end) {
        _by_order.erase(found);
    }
}

client* clients::find(uint64_t id) const {
    const auto found = _by_id.find(id);
    return found == _by_id.end() ? nullptr : found->second;
}

void clients::for_each(const std::function<void(client&)>& visit) const {
    for (const auto& [id, who] : _by_id) {
        visit(*who);
    }
}

ss::future<std::set<std::string, std::less<>>> clients::addresses(std::vector<uint64_t> ids) {
    std::vector<std::vector<uint64_t>> by_core(ss::smp::count);
    for (const uint64_t id : ids) {
        by_core[core_of_client(id)].push_back(id);
    }
    std::set<std::string, std::less<>> all;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        if (by_core[core].empty()) {
            continue;
        }
        all.merge(co_await container().invoke_on(
            core, [some = std::move(by_core[core])](const clients& there) {
                std::set<std::string, std::less<>> found;
                for (const uint64_t id : some) {
                    if (const client* const who = there.find(id)) {
                        found.emplace(who->address());
                    }
                }
                return found;
            }));
    }
    co_return all;
}

bool clients::end_order(const std::string& number, uint32_t times) {
    std::vector<client*> others;
    const auto [begin, end] = _by_order.equal_range(number);
    for (auto each = begin; each != end; ++each) {
        if (each->second->order.repeated < times) {
            others.push_back(each->second);
        }
    }
    for (client* const who : others) {
        who->cut();
    }
    return !others.empty();
}

void clients::tell_lost(shards::lost_grant what) {
    if (what.client == 0 || _gate.is_closed()) {
        return;
    }
    const ss::shard_id core = core_of_client(what.client);
    shards::background(_gate, log, "telling of a lost lock", [this, core, what = std::move(what)] {
        return container().invoke_on(core, [what](clients& there) {
            if (client* const who = there.find(what.client)) {
                who->tell_lost(what);
            }
        });
    });
}

uint64_t client_id(uint64_t number_on_core) {
    return number_on_core * ss::smp::count + ss::this_shard_id() + 1;
}

ss::shard_id core_of_client(uint64_t id) {
    return static_cast<ss::shard_id>((id - 1) % ss::smp::count);
}

}  // namespace lockkeeper::proxy
