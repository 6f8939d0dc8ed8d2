#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "shards/core/lock_table.hh"
#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

/// Allocations that still succeed; below 0: all do.
long allowed_allocations = -1;

void* allocate(size_t bytes) {
    if (allowed_allocations == 0) {
        throw std::bad_alloc();
    }
    if (allowed_allocations > 0) {
        --allowed_allocations;
    }
    if (void* const memory = std::malloc(bytes)) {
        return memory;
    }
    throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) {
    return allocate(bytes);
}
void* operator new[](size_t bytes) {
    return allocate(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
    std::free(memory);
}

namespace {

constexpr std::string_view long_value = "a value that is too long to lie inside of a string object";
constexpr std::string_view long_key =
    "key:a name that is too long to lie inside of a string object";

/// Everything that can be read of the key.
std::string describe(lock_table& table) {
    const auto key = key_of(long_key);
    std::string text = std::to_string(table.size(0));
    if (const auto value = table.get(key, start); value && *value) {
        text += " text " + std::string(**value);
    }
    if (const auto fields = table.hash_fields(key, start)) {
        for (const auto& [name, value] : *fields) {
            text += " " + std::string(name) + "=" + std::string(value);
        }
    }
    text += " list " + std::to_string(table.list_length(key, start).value_or(0));
    if (const auto until = table.lifetime_of(key, start).until) {
        text += " until " + std::to_string(until->nanoseconds);
    }
    return text;
}

using action = std::function<void(lock_table&)>;

/// Lets each allocation of `act` fail in turn. The action is then undone, or rather was never
/// begun.
void sweep(const action& prepare, const action& act) {
    for (long fail_at = 0;; ++fail_at) {
        lock_table table;
        prepare(table);
        const std::string before = describe(table);
        bool failed = false;
        allowed_allocations = fail_at;
        try {
            act(table);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        allowed_allocations = -1;
        BOOST_REQUIRE_EQUAL(table.verify().value_or("sound"), "sound");
        if (!failed) {
            return;
        }
        BOOST_REQUIRE_EQUAL(describe(table), before);
        BOOST_REQUIRE(fail_at < 100);
    }
}

void nothing(lock_table&) {}

void hold_text(lock_table& table) {
    table.set({.key = key_of(long_key), .value = "me"}, start).value();
}

void hold_hash(lock_table& table) {
    table.acquire({.key = key_of(long_key), .owner = "me"}, start).value();
}

const auto lease = expiry_change::at(start + 10s);

}  // namespace

BOOST_AUTO_TEST_CASE(a_set_without_memory_leaves_no_lock_without_its_expiry) {
    const action set = [](lock_table& table) {
        std::ignore =
            table.set({.key = key_of(long_key), .value = long_value, .expiry = lease}, start);
    };
    sweep(nothing, set);
    sweep(hold_text, set);
    sweep(hold_hash, set);
}

BOOST_AUTO_TEST_CASE(an_acquire_or_renewal_without_memory_changes_nothing) {
    const action renew_text = [](lock_table& table) {
        std::ignore = table.acquire_or_renew({.key = key_of(long_key),
                                              .value = "me, with a free text that is rather long",
                                              .token_bytes = 2,
                                              .expiry = lease},
                                             start);
    };
    sweep(nothing, renew_text);
    sweep(hold_text, renew_text);
    const action expire = [](lock_table& table) {
        std::ignore = table.expire({.key = key_of(long_key), .when = start + 10s}, start);
    };
    sweep(hold_text, expire);
    const action acquire = [](lock_table& table) {
        std::ignore =
            table.acquire({.key = key_of(long_key), .owner = "me", .expiry = lease}, start);
    };
    sweep(nothing, acquire);
    sweep(hold_hash, acquire);
    const action renew_hash = [](lock_table& table) {
        std::ignore = table.renew({.key = key_of(long_key), .owner = "me", .expiry = lease}, start);
    };
    sweep(hold_hash, renew_hash);
}

BOOST_AUTO_TEST_CASE(members_are_changed_wholly_or_not_at_all) {
    const action set_field = [](lock_table& table) {
        std::ignore = table.hash_set(key_of(long_key), {long_value, long_value}, start);
    };
    sweep(nothing, set_field);
    sweep(hold_hash, set_field);
    const action push = [](lock_table& table) {
        const std::array<std::string_view, 3> values = {long_value, "b", long_value};
        std::ignore = table.list_push(key_of(long_key), list_end::front, values, start);
    };
    sweep(nothing, push);
    sweep([&](lock_table& table) { push(table); }, push);
}

BOOST_AUTO_TEST_CASE(releases_and_expiry_need_no_memory) {
    lock_table table;
    for (int i = 0; i < 3'000; ++i) {
        const auto name = "k" + std::to_string(i);
        table.set({.key = key_of(name), .value = long_value, .expiry = lease}, start).value();
    }
    hold_hash(table);
    allowed_allocations = 0;
    const bool removed = table.remove(key_of("k1"), start);
    const auto compared = table.remove_if({.key = key_of("k2"), .comparand = long_value}, start);
    const auto released = table.release({.key = key_of(long_key), .owner = "me"}, start);
    const bool renewed = table.expire({.key = key_of("k3"), .when = start + 5s}, start);
    const size_t expired = table.expire_due(start + 1h, 10'000).removed;
    allowed_allocations = -1;
    BOOST_TEST(removed);
    BOOST_TEST((compared.value() == compare_outcome::done));
    BOOST_TEST((released.value().what == release_outcome::result::freed));
    BOOST_TEST(renewed);
    BOOST_TEST(expired == 2'998U);
    BOOST_TEST(table.stats().keys == 0U);
}
