#include <fmt/format.h>

#include "shards/lock_service.hh"

/// Who waits for whom, for the deadlock watch.
namespace lockkeeper::shards {

namespace {

/// Keys are whatever clients like; a log line is not.
std::string printable(std::string_view key) {
    constexpr size_t shown = 128;
    std::string text;
    for (const char c : key.substr(0, shown)) {
        if (c > ' ' && c < 0x7f && c != '\\') {
            text += c;
        } else {
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    return text;
}

}  // namespace

std::vector<wait_edge> lock_service::waits() {
    std::vector<wait_edge> edges;
    if (_table.waiters() == 0) {
        return edges;
    }
    const auto now = read_clock();
    _table.for_each_line([&](lock_line& line) {
        if (line.queue.empty()) {
            return;
        }
        const auto holders = _table.holders(line.key(), now);
        std::vector<uint64_t> owners;
        for (const holder_view& each : holders) {
            owners.push_back(_hasher.place(each.owner).bucket.value);
        }
        const bool by_permits = line.queue.front().mode == lock_mode::permits;
        const waiter* before = nullptr;
        for (waiter& each : line.queue) {
            each.in_deadlock = false;
            const uint64_t id = _hasher.place(each.owner).bucket.value;
            for (const uint64_t owner : owners) {
                edges.push_back({.waiter = id,
                                 .holder = owner,
                                 .why = by_permits ? wait_reason::one_of : wait_reason::held,
                                 .since = each.since,
                                 .wait = each.client});
            }
            if (before != nullptr) {
                edges.push_back({.waiter = id,
                                 .holder = _hasher.place(before->owner).bucket.value,
                                 .why = wait_reason::in_front,
                                 .since = each.since,
                                 .wait = each.client});
            }
            before = &each;
        }
    });
    return edges;
}

std::vector<std::string> lock_service::note_deadlock(const std::vector<uint64_t>& clients,
                                                     bool is_new) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < clients.size(); ++i) {
        const auto found = _waiting.find(clients[i]);
        if (found == _waiting.end() || found->how != waiter::state::waiting) {
            continue;
        }
        found->in_deadlock = true;
        keys.push_back(fmt::format("client {} for {}", clients[i], printable(found->line->name())));
        if (i != 0) {
            continue;
        }
        _table.counted().deadlocks += is_new ? 1 : 0;
        if (found->line->policy->deadlocks == deadlock_rule::refuse) {
            const auto now = read_clock();
            _table.refuse_waiting(*found, lock_error::deadlock, now);
            settle(now);
        }
    }
    return keys;
}

}  // namespace lockkeeper::shards
