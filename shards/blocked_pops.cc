#include "shards/blocked_pops.hh"

namespace lockkeeper::shards {

ss::future<pop_result> blocked_pops::wait(pop_request request) {
    const uint64_t client = request.client;
    auto entry = std::make_unique<waiter>();
    entry->request = std::move(request);
    for (const std::string& key : entry->request.keys) {
        _queues[{entry->request.database, key}].push_back(client);
    }
    entry->deadline.set_callback(
        [this, client] { finish(client, {.how = pop_result::end::timed_out}); });
    if (entry->request.timeout) {
        entry->deadline.arm(*entry->request.timeout);
    }
    auto result = entry->done.get_future();
    _waiters.emplace(client, std::move(entry));
    return result;
}

bool blocked_pops::cancel(uint64_t client) {
    if (!_waiters.contains(client)) {
        return false;
    }
    finish(client, {.how = pop_result::end::cancelled});
    return true;
}

void blocked_pops::cancel_all() {
    while (!_waiters.empty()) {
        cancel(_waiters.begin()->first);
    }
}

void blocked_pops::serve(lock_table& table, uint32_t database, std::string_view key, instant now) {
    const place where{database, std::string(key)};
    const lock_key list{database, key, _hasher.place(key).bucket};
    for (auto queue = _queues.find(where); queue != _queues.end(); queue = _queues.find(where)) {
        const uint64_t first = queue->second.front();
        auto popped = table.list_pop(list, _waiters.at(first)->request.from, now);
        if (!popped || !*popped) {
            return;
        }
        finish(first,
               {.how = pop_result::end::popped, .key = where.second, .value = std::move(**popped)});
    }
}

/// Leaves all queues, then tells the client: it may come back at once.
void blocked_pops::finish(uint64_t client, pop_result result) {
    auto node = _waiters.extract(client);
    const waiter& leaving = *node.mapped();
    for (const std::string& key : leaving.request.keys) {
        const auto queue = _queues.find(place{leaving.request.database, key});
        if (queue == _queues.end()) {
            continue;  // the same key twice: gone with its first mention
        }
        queue->second.remove(client);
        if (queue->second.empty()) {
            _queues.erase(queue);
        }
    }
    node.mapped()->done.set_value(std::move(result));
}

}  // namespace lockkeeper::shards
