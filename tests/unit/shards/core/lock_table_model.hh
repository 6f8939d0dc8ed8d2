#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shards/core/integer_text.hh"
#include "shards/core/lock_types.hh"

/// What a lock table should do, as simply as it can be said: a std::map from which the expired
/// entries are erased before each request. Knows nothing of hashes, heaps, versions or limits.
namespace lockkeeper::shards {

class lock_table_model {
public:
    using id = std::pair<uint32_t, std::string>;
    using hash = std::vector<std::pair<std::string, std::string>>;
    using list = std::deque<std::string>;
    struct entry {
        std::variant<std::string, hash, list> value;
        std::optional<instant> until;
    };

    std::map<id, entry> entries;
    /// Every key that was changed since the test last cleared it.
    std::set<id> touched;

    void tick(instant now) {
        for (auto it = entries.begin(); it != entries.end();) {
            if (it->second.until && *it->second.until <= now) {
                touched.insert(it->first);
                it = entries.erase(it);
            } else {
                ++it;
            }
        }
    }

    static id id_of(const lock_key& key) { return {key.database, std::string(key.name)}; }

    entry* find(const lock_key& key) {
        const auto it = entries.find(id_of(key));
        return it == entries.end() ? nullptr : &it->second;
    }

    /// Null: absent. Another kind than T: wrong_type.
    template <typename T>
    lock_result<T*> find_as(const lock_key& key) {
        entry* const found = find(key);
        if (found == nullptr) {
            return nullptr;
        }
        T* const value = std::get_if<T>(&found->value);
        if (value == nullptr) {
            return std::unexpected(lock_error::wrong_type);
        }
        return value;
    }

    template <typename T>
    void put(const lock_key& key, T value, expiry_change expiry, instant now) {
        touched.insert(id_of(key));
        entry& into = entries[id_of(key)];
        into.value = std::move(value);
        change_expiry(key, expiry, now);
    }

    void change_expiry(const lock_key& key, expiry_change expiry, instant now) {
        touched.insert(id_of(key));
        entry& changed = entries.at(id_of(key));
        if (expiry.what == expiry_change::rule::never) {
            changed.until.reset();
        } else if (expiry.what == expiry_change::rule::at) {
            changed.until = expiry.when;
            if (expiry.when <= now) {
                entries.erase(id_of(key));
            }
        }
    }

    bool remove(const lock_key& key) {
        const bool removed = entries.erase(id_of(key)) > 0;
        if (removed) {
            touched.insert(id_of(key));
        }
        return removed;
    }

    size_t flush(uint32_t database) {
        size_t removed = 0;
        for (auto it = entries.begin(); it != entries.end();) {
            if (it->first.first == database) {
                touched.insert(it->first);
                it = entries.erase(it);
                ++removed;
            } else {
                ++it;
            }
        }
        return removed;
    }

    static std::string* field_of(hash& fields, std::string_view name) {
        const auto it = std::ranges::find(fields, name, &hash::value_type::first);
        return it == fields.end() ? nullptr : &it->second;
    }
};

}  // namespace lockkeeper::shards
