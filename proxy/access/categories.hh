#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lockkeeper::proxy::access {

/// What a command is about, as Redis divides them; rules allow or forbid whole categories. `lock`
/// is ours: the native verbs.
enum category : uint32_t {
    about_keyspace = 1 << 0,
    about_read = 1 << 1,
    about_write = 1 << 2,
    about_set = 1 << 3,
    about_sortedset = 1 << 4,
    about_list = 1 << 5,
    about_hash = 1 << 6,
    about_string = 1 << 7,
    about_bitmap = 1 << 8,
    about_hyperloglog = 1 << 9,
    about_geo = 1 << 10,
    about_stream = 1 << 11,
    about_pubsub = 1 << 12,
    about_admin = 1 << 13,
    about_fast = 1 << 14,
    about_slow = 1 << 15,
    about_blocking = 1 << 16,
    about_dangerous = 1 << 17,
    about_connection = 1 << 18,
    about_transaction = 1 << 19,
    about_scripting = 1 << 20,
    about_lock = 1 << 21,
};

struct named_category {
    std::string_view name;
    uint32_t bit;
};

/// In Redis' order, ours last.
std::span<const named_category> categories();

/// 0 if there is none of that name, in whatever case.
uint32_t find_category(std::string_view name);

}  // namespace lockkeeper::proxy::access
