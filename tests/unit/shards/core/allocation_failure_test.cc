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
    for (const holder_view& each : table.holders(key, start)) {
        text += " " + std::string(each.owner) + " holds " + std::to_string(each.holds) + " fence " +
                std::to_string(each.fence) + " client " + std::to_string(each.client) +
                (each.bound ? " bound" : "");
    }
    text += " waiting " + std::to_string(table.waiters());
    return text;
}

using action = std::function<void(lock_table&)>;

/// Lets each allocation of `act` fail in turn. The action is then undone, or rather was never
/// begun.
void sweep(const action& prepare, const action& act, const lock_policy& policy = {}) {
    for (long fail_at = 0;; ++fail_at) {
        lock_table table({}, policy_book({{"*", policy}}));
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
        table.settle(start);
        BOOST_REQUIRE_EQUAL(table.verify_lines(start).value_or("sound"), "sound");
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

// ---- locks with owners and queues ---------------------------------------------------------------

namespace {

action take(lock_mode mode, std::optional<std::chrono::milliseconds> ttl, std::string_view owner,
            uint64_t client = 1) {
    return [=](lock_table& table) {
        std::ignore = table.take({.key = key_of(long_key),
                                  .owner = owner,
                                  .client = client,
                                  .mode = mode,
                                  .of = mode == lock_mode::permits ? 3U : 1U,
                                  .ttl = ttl},
                                 lock_table::if_refused::may_ask_again, start);
    };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_is_taken_wholly_or_not_at_all) {
    for (const auto mode : {lock_mode::exclusive, lock_mode::shared, lock_mode::permits}) {
        for (const auto ttl :
             {std::optional(10'000ms), std::optional<std::chrono::milliseconds>()}) {
            sweep(nothing, take(mode, ttl, long_value));
            // Once more, over another connection; with another owner.
            sweep(take(mode, 5'000ms, long_value), take(mode, ttl, long_value, 2));
            sweep(take(mode, std::nullopt, long_value), take(mode, ttl, long_value, 2));
            sweep(take(mode, 5'000ms, "first"), take(mode, ttl, long_value, 2));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lock_is_downgraded_wholly_or_not_at_all) {
    for (const auto ttl : {std::optional(10'000ms), std::optional<std::chrono::milliseconds>()}) {
        sweep(take(lock_mode::exclusive, 5'000ms, long_value),
              take(lock_mode::shared, ttl, long_value, 2));
        sweep(take(lock_mode::exclusive, std::nullopt, long_value),
              take(lock_mode::shared, ttl, long_value, 2), {.max_hold = 0ms});
    }
}

BOOST_AUTO_TEST_CASE(an_extension_without_memory_changes_nothing) {
    const action extend = [](lock_table& table) {
        std::ignore = table.extend_hold(key_of(long_key), long_value, 60s, start);
    };
    sweep(take(lock_mode::exclusive, std::nullopt, long_value), extend, {.max_hold = 0ms});
    sweep(take(lock_mode::shared, std::nullopt, long_value), extend, {.max_hold = 0ms});
}

BOOST_AUTO_TEST_CASE(a_renewed_lock_is_taken_wholly_or_not_at_all) {
    const action set = [](lock_table& table) {
        std::ignore = table.set({.key = key_of(long_key),
                                 .value = long_value,
                                 .condition = set_condition::if_absent,
                                 .expiry = lease,
                                 .client = 1},
                                start);
    };
    sweep(nothing, set, {.renew = true});
    sweep(nothing, set, {.renew = true, .max_hold = 0ms, .lock_delay = 1s});
}

BOOST_AUTO_TEST_CASE(a_refusal_needs_no_memory) {
    lock_table table;
    hold_text(table);
    const std::string before = describe(table);
    for (long fail_at = 0; fail_at < 10; ++fail_at) {
        allowed_allocations = fail_at;
        const auto set = table.set({.key = key_of(long_key),
                                    .value = "you",
                                    .condition = set_condition::if_absent,
                                    .client = static_cast<uint64_t>(fail_at + 1)},
                                   start);
        const auto taken = table.take({.key = key_of(long_key), .owner = "she", .client = 99},
                                      lock_table::if_refused::may_ask_again, start);
        allowed_allocations = -1;
        BOOST_TEST(!set.value().stored);
        BOOST_TEST(!taken.value().granted);
        BOOST_TEST(table.verify_lines(start).value_or("sound") == "sound");
    }
    BOOST_TEST(describe(table) == before);
}

BOOST_AUTO_TEST_CASE(a_place_in_line_is_taken_wholly_or_not_at_all) {
    for (long fail_at = 0;; ++fail_at) {
        lock_table table;
        hold_text(table);
        waiter who;
        who.owner = long_value;
        who.client = 1;
        who.deadline = start + 1s;
        who.ttl = 10s;
        bool failed = false;
        allowed_allocations = fail_at;
        try {
            table.wait(who, key_of(long_key), start).value();
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        allowed_allocations = -1;
        table.settle(start);
        BOOST_REQUIRE_EQUAL(table.verify_lines(start).value_or("sound"), "sound");
        BOOST_REQUIRE_EQUAL(table.waiters(), failed ? 0U : 1U);
        if (!failed) {
            table.stop_waiting(who, start);
            BOOST_TEST(table.take_ended() == &who);
            return;
        }
        BOOST_REQUIRE((who.how == waiter::state::idle));
    }
}

BOOST_AUTO_TEST_CASE(releases_losses_and_departures_need_no_memory_and_waiters_stay_in_line) {
    for (const auto mode : {lock_mode::exclusive, lock_mode::shared}) {
        lock_table table({}, policy_book({{"*", {.max_hold = 0ms, .lock_delay = 1ms}}}));
        take(mode, std::nullopt, long_value)(table);
        take(mode, std::nullopt, "second")(table);
        for (const auto name : {"k1", "k2", "k3"}) {
            table
                .take({.key = key_of(name), .owner = long_value, .client = 7, .mode = mode},
                      lock_table::if_refused::may_ask_again, start)
                .value();
        }
        table
            .take({.key = key_of("k4"), .owner = long_value, .client = 1, .ttl = 1s},
                  lock_table::if_refused::may_ask_again, start)
            .value();
        waiter next;
        next.owner = long_key;
        next.client = 9;
        next.ttl = 10s;
        table.wait(next, key_of("k1"), start).value();
        table.settle(start);
        allowed_allocations = 0;
        const auto released = table.release_hold(key_of(long_key), long_value, start);
        const auto freed = table.release_hold(key_of("k1"), long_value, start);
        table.settle(start);
        table.client_left(7, start);
        table.settle(start);
        table.advance(start + 1s);
        table.expire_due(start + 1s, 100);
        table.settle(start + 1s);
        allowed_allocations = -1;
        BOOST_TEST((released.value() == 0));
        BOOST_TEST((freed.value() == 0));
        BOOST_TEST(!table.exists(key_of("k4"), start + 1s));
        BOOST_TEST(!table.exists(key_of("k2"), start + 2s));
        BOOST_TEST(!table.has_ended());
        BOOST_TEST(table.verify().value_or("sound") == "sound");
        BOOST_TEST(table.verify_lines(start + 2s).value_or("sound") == "sound");
        // Memory is back.
        BOOST_REQUIRE(table.next_due().has_value());
        table.advance(start + 3s);
        BOOST_TEST(table.take_ended() == &next);
        BOOST_TEST((next.how == waiter::state::granted));
    }
}
