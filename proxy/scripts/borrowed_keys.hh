#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shards/core/lock_table.hh"

namespace lockkeeper::proxy::scripts {

/// All there is to know about a key, as a value that may travel.
struct key_image {
    std::string name;
    std::optional<shards::entry_kind> kind{};  ///< empty: absent
    std::string text{};                        ///< of a string; the new element of a list
    std::vector<std::pair<std::string, std::string>> fields{};  ///< of a hash
    std::optional<shards::instant> until{};
    /// For a list, whose elements are of no interest to any script: they stay where they are.
    bool keeps_elements = false;
};

key_image image_of(shards::lock_table& table, const shards::lock_key& key, shards::instant now);

/// Makes the key what the image says. Fails only if the key is new and the table full.
shards::lock_result<bool> restore(shards::lock_table& table, const shards::lock_key& key,
                                  const key_image& image, shards::instant now);

/// Keys of several cores, brought together so that one operation can be carried out on them as if
/// they were of one. Whoever borrows has the turns of those cores until the keys are back.
class borrowed_keys {
public:
    borrowed_keys(uint32_t database, const shards::key_hasher& hasher)
        : _database(database), _hasher(&hasher) {}

    void add(key_image image, shards::instant now);

    shards::lock_table& table() { return _table; }

    struct change {
        key_image before;
        key_image after;
    };
    /// What an operation has changed. Lists in `signalled` were filled by it.
    std::vector<change> changes(std::span<const std::string> signalled, shards::instant now);

private:
    struct loan {
        key_image image;
        shards::watch_mark mark;
    };

    shards::lock_key named(const std::string& name) const {
        return {_database, name, _hasher->place(name).bucket};
    }

    uint32_t _database;
    const shards::key_hasher* _hasher;
    shards::lock_table _table;
    std::vector<loan> _loans;
};

}  // namespace lockkeeper::proxy::scripts
