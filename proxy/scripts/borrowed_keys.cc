#include "proxy/scripts/borrowed_keys.hh"

#include <algorithm>
#include <array>

namespace lockkeeper::proxy::scripts {

using shards::entry_kind;
using shards::expiry_change;
using shards::instant;
using shards::lock_key;
using shards::lock_result;
using shards::lock_table;

namespace {

/// A lock that no script can own: to all of them it is somebody else's.
key_image of_somebody_else(key_image image) {
    image.kind = entry_kind::hash;
    image.fields.emplace_back("somebody else", "1");
    return image;
}

}  // namespace

key_image image_of(lock_table& table, const lock_key& key, instant now) {
    key_image image{.name = std::string(key.name)};
    image.kind = table.kind_of(key, now);
    image.until = table.lifetime_of(key, now).until;
    if (image.kind == entry_kind::holders ||
        (!image.kind && !table.may_take(key, 0, std::string_view(), now))) {
        return of_somebody_else(std::move(image));
    }
    if (image.kind == entry_kind::string) {
        image.text = **table.get(key, now);
    } else if (image.kind == entry_kind::hash) {
        for (const auto& field : *table.hash_fields(key, now)) {
            image.fields.emplace_back(field.name, field.value);
        }
    } else if (image.kind == entry_kind::list) {
        image.keeps_elements = true;
    }
    return image;
}

namespace {

void set_expiry(lock_table& table, const lock_key& key, std::optional<instant> until, instant now) {
    if (until) {
        table.expire({.key = key, .when = *until}, now);
    } else {
        table.persist(key, now);
    }
}

lock_result<bool> restore_hash(lock_table& table, const lock_key& key, const key_image& image,
                               instant now) {
    table.remove(key, now);
    for (const auto& [name, value] : image.fields) {
        if (const auto set = table.hash_set(key, {name, value}, now); !set) {
            return set;
        }
    }
    return true;
}

lock_result<bool> restore_list(lock_table& table, const lock_key& key, const key_image& image,
                               instant now) {
    if (image.keeps_elements) {
        return true;
    }
    table.remove(key, now);
    const std::array<std::string_view, 1> element{image.text};
    const auto pushed = table.list_push(key, shards::list_end::front, element, now);
    if (!pushed) {
        return std::unexpected(pushed.error());
    }
    return true;
}

}  // namespace

lock_result<bool> restore(lock_table& table, const lock_key& key, const key_image& image,
                          instant now) {
    if (!image.kind) {
        table.remove(key, now);
        return true;
    }
    lock_result<bool> done = true;
    switch (*image.kind) {
        case entry_kind::string: {
            const auto expiry =
                image.until ? expiry_change::at(*image.until) : expiry_change::never();
            const auto set = table.set({.key = key, .value = image.text, .expiry = expiry}, now);
            return set ? lock_result<bool>(true) : std::unexpected(set.error());
        }
        case entry_kind::hash:
            done = restore_hash(table, key, image, now);
            break;
        case entry_kind::list:
            done = restore_list(table, key, image, now);
            break;
        case entry_kind::holders:
            break;  // never an image's
    }
    if (done) {
        set_expiry(table, key, image.until, now);
    }
    return done;
}

void borrowed_keys::add(key_image image, instant now) {
    const auto same = [&image](const loan& other) { return other.image.name == image.name; };
    if (std::ranges::any_of(_loans, same)) {
        return;
    }
    const lock_key key = named(image.name);
    key_image copy = image;
    copy.keeps_elements = false;  // Here one element stands for all of them.
    restore(_table, key, copy, now).value();
    const auto mark = _table.watch(key, now);  // The key points into the image.
    _loans.push_back({std::move(image), mark});
}

std::vector<borrowed_keys::change> borrowed_keys::changes(std::span<const std::string> signalled,
                                                          instant now) {
    std::vector<change> all;
    for (loan& one : _loans) {
        const lock_key key = named(one.image.name);
        if (!_table.changed_since(key, one.mark, now)) {
            continue;
        }
        key_image after = image_of(_table, key, now);
        if (std::ranges::find(signalled, one.image.name) != signalled.end()) {
            after.keeps_elements = false;
            after.text = "1";
        }
        all.push_back({std::move(one.image), std::move(after)});
    }
    return all;
}

}  // namespace lockkeeper::proxy::scripts
