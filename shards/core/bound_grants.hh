#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "shards/core/lock_entry.hh"

namespace lockkeeper::shards {

/// Which locks live by which connections. An entry that is in here bears the mark `bound`.
class bound_grants {
public:
    struct terms {
        /// How long the lock goes on when the connection has ended,
        std::chrono::milliseconds after{};
        /// but not less than until then: that was told with a TTL, maybe over another connection.
        instant not_before = start_of_time;
    };
    /// If it throws, nothing has changed.
    void add(uint64_t client, lock_entry& entry, terms what);
    /// A later end was told. It must be there.
    void promise(uint64_t client, lock_entry& entry, instant until);
    /// False if it was not there.
    bool remove(uint64_t client, lock_entry& entry);
    void remove_database(uint32_t database);

    struct item {
        lock_entry* entry;
        terms what;
    };
    /// Takes one of a client's out, until there is none. Needs no memory: a connection may end when
    /// there is none left.
    std::optional<item> take_one(uint64_t client);

    bool contains(uint64_t client, lock_entry& entry) const {
        return _by_client.contains(place_of(client, entry));
    }
    /// Nothing if it is not bound to that connection.
    std::optional<terms> terms_of(uint64_t client, lock_entry& entry) const {
        const auto known = _by_client.find(place_of(client, entry));
        return known == _by_client.end() ? std::nullopt : std::optional(known->second);
    }
    size_t size() const { return _by_client.size(); }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [place, what] : _by_client) {
            visit(place.client, *place.entry);
        }
    }

private:
    /// The address comes last: what happens when a connection ends must not depend on where its
    /// locks happen to lie, or no run could be repeated.
    struct place {
        uint64_t client = 0;
        uint64_t hash = 0;
        uint32_t database = 0;
        lock_entry* entry = nullptr;

        friend auto operator<=>(const place&, const place&) = default;
    };
    static place place_of(uint64_t client, lock_entry& entry) {
        return {client, entry.hash(), entry.database(), &entry};
    }

    std::map<place, terms> _by_client;
};

}  // namespace lockkeeper::shards
