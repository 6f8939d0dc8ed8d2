#include <memory>
#include <utility>

#include "shards/core/integer_text.hh"
#include "shards/core/lock_table.hh"

/// The kinds that have members: hashes (reentrant locks) and signal lists.
namespace lockkeeper::shards {
namespace {

constexpr auto wrong_type = std::unexpected(lock_error::wrong_type);

std::unique_ptr<field_map> one_field(hash_field field) {
    auto fields = std::make_unique<field_map>();
    fields->set(field.name, field.value);
    return fields;
}

}  // namespace

lock_result<acquire_outcome> lock_table::acquire(const reentrant_request& request, instant now) {
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        const auto created =
            create(request.key, one_field({request.owner, "1"}), request.expiry, now);
        if (!created) {
            return std::unexpected(created.error());
        }
        if (*created != nullptr) {
            note_delay(**created);
            if (_room.lines() > 0) {
                _room.took(request.key, caller::of(request.key, 0, request.owner), **created);
            }
        }
        return acquire_outcome{.won = true, .holds = 1};
    }
    field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    const std::string* const held = fields->find(request.owner);
    if (held == nullptr) {
        return acquire_outcome{.held_until = entry->until()};
    }
    const auto holds = add_to_integer(*held, 1);
    if (!holds) {
        return std::unexpected(holds.error());
    }
    _keys.reserve_expiry(*entry, request.expiry);
    fields->set(request.owner, format_integer(*holds));
    _keys.change_expiry(*entry, request.expiry, now);
    return acquire_outcome{.won = true, .holds = *holds};
}

lock_result<release_outcome> lock_table::release(const reentrant_request& request, instant now) {
    using result = release_outcome::result;
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        return release_outcome{.what = result::absent};
    }
    field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    const std::string* const held = fields->find(request.owner);
    if (held == nullptr) {
        return release_outcome{.what = result::not_owner};
    }
    const auto holds = add_to_integer(*held, -1);
    if (!holds) {
        return std::unexpected(holds.error());
    }
    if (*holds <= 0) {
        _keys.remove(*entry, now, entry_watcher::reason::released);
        return release_outcome{.what = result::freed};
    }
    _keys.reserve_expiry(*entry, request.expiry);
    fields->set(request.owner, format_integer(*holds));
    _keys.change_expiry(*entry, request.expiry, now);
    return release_outcome{.what = result::still_held, .holds = *holds};
}

lock_result<bool> lock_table::renew(const reentrant_request& request, instant now) {
    lock_entry* const entry = _keys.find(request.key, now);
    if (entry == nullptr) {
        return false;
    }
    field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    if (fields->find(request.owner) == nullptr) {
        return false;
    }
    _keys.reserve_expiry(*entry, request.expiry);
    _keys.change_expiry(*entry, request.expiry, now);
    return true;
}

lock_result<std::optional<std::string_view>> lock_table::hash_get(const lock_key& key,
                                                                  std::string_view field,
                                                                  instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::nullopt;
    }
    field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    const std::string* const value = fields->find(field);
    return value ? std::optional<std::string_view>(*value) : std::nullopt;
}

lock_result<bool> lock_table::hash_set(const lock_key& key, hash_field field, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        const auto created = create(key, one_field(field), expiry_change::never(), now);
        if (!created) {
            return std::unexpected(created.error());
        }
        note_delay(**created);
        return true;
    }
    field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    if (fields->size() >= _keys.options().members_max && fields->find(field.name) == nullptr) {
        return std::unexpected(lock_error::too_many_members);
    }
    const bool added = fields->set(field.name, field.value);
    _keys.changed(*entry);
    return added;
}

lock_result<int64_t> lock_table::hash_increment(const lock_key& key, std::string_view field,
                                                int64_t by, instant now) {
    const auto held = hash_get(key, field, now);
    if (!held) {
        return std::unexpected(held.error());
    }
    const auto sum = add_to_integer(held->value_or("0"), by);
    if (!sum) {
        return sum;
    }
    const auto stored = hash_set(key, {field, format_integer(*sum)}, now);
    if (!stored) {
        return std::unexpected(stored.error());
    }
    return sum;
}

lock_result<bool> lock_table::hash_remove(const lock_key& key, std::string_view field,
                                          instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return false;
    }
    field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    if (!fields->erase(field)) {
        return false;
    }
    _keys.changed(*entry);
    if (fields->size() == 0) {
        _keys.remove(*entry, now);
    }
    return true;
}

lock_result<size_t> lock_table::hash_length(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return 0;
    }
    const field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    return fields->size();
}

lock_result<std::vector<hash_field>> lock_table::hash_fields(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::vector<hash_field>();
    }
    const field_map* const fields = entry->fields();
    if (fields == nullptr) {
        return wrong_type;
    }
    return fields->all();
}

lock_result<size_t> lock_table::list_push(const lock_key& key, list_end end,
                                          std::span<const std::string_view> values, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry != nullptr && entry->list() == nullptr) {
        return wrong_type;
    }
    const size_t length = entry ? entry->list()->size() : 0;
    if (length + values.size() > _keys.options().members_max) {
        return std::unexpected(lock_error::too_many_members);
    }
    if (values.empty()) {
        return length;
    }
    if (entry == nullptr) {
        auto list = std::make_unique<signal_list>();
        list->push(end, values);
        const auto created = create(key, std::move(list), expiry_change::never(), now);
        if (!created) {
            return std::unexpected(created.error());
        }
        return values.size();
    }
    entry->list()->push(end, values);
    _keys.changed(*entry);
    return length + values.size();
}

lock_result<std::optional<std::string>> lock_table::list_pop(const lock_key& key, list_end end,
                                                             instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return std::nullopt;
    }
    signal_list* const list = entry->list();
    if (list == nullptr) {
        return wrong_type;
    }
    std::string value = list->pop(end);
    _keys.changed(*entry);
    if (list->size() == 0) {
        _keys.remove(*entry, now);
    }
    return value;
}

lock_result<size_t> lock_table::list_length(const lock_key& key, instant now) {
    lock_entry* const entry = _keys.find(key, now);
    if (entry == nullptr) {
        return 0;
    }
    const signal_list* const list = entry->list();
    if (list == nullptr) {
        return wrong_type;
    }
    return list->size();
}

}  // namespace lockkeeper::shards
