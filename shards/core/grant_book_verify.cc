#include <algorithm>
#include <set>
#include <utility>

#include "shards/core/grant_book.hh"

namespace lockkeeper::shards {
namespace {

std::optional<std::string> verify_holders(const lock_entry& entry, const holder_list& holders) {
    uint64_t permits = 0;
    for (const holder_list::holder& each : holders.all()) {
        permits += each.permits * static_cast<uint64_t>(each.holds);
        if (each.fence == 0 || each.fence > entry.fence) {
            return "the fence of a holder does not fit its entry";
        }
        if (each.holds < 1) {
            return "somebody holds a lock not even once";
        }
    }
    if (holders.empty()) {
        return "a lock of several has no owner";
    }
    if (holders.mode() == lock_mode::permits && permits > holders.of()) {
        return "more permits are out than there are";
    }
    if (entry.until().value_or(end_of_time) < holders.last_end()) {
        return "a holder was told of a later end than its entry has";
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> grant_book::verify() const {
    std::optional<std::string> broken;
    std::set<std::pair<uint64_t, const lock_entry*>> due;
    std::set<const lock_entry*> plain;
    _keys.for_each([&](lock_entry& entry) {
        if (entry.text() != nullptr) {
            plain.insert(&entry);
            return;
        }
        if (const holder_list* const holders = entry.holders()) {
            if (auto error = verify_holders(entry, *holders)) {
                broken = error;
            }
            for (const holder_list::holder& each : holders->all()) {
                if (each.bound) {
                    due.emplace(each.client, &entry);
                }
            }
        }
    });
    _bound.for_each([&](uint64_t client, const lock_entry& entry) {
        if (due.erase({client, &entry}) > 0) {
            return;
        }
        // Only an entry that is known to be alive may be looked at.
        if (!plain.contains(&entry) || entry.client != client || !entry.has(lock_entry::bound)) {
            broken = "a connection keeps a lock that is not its own";
        }
    });
    if (!due.empty()) {
        broken = "a lock lives by a connection that does not know of it";
    }
    return broken;
}

}  // namespace lockkeeper::shards
