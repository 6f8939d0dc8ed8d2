#include "shards/core/keyspace.hh"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>
#include <string>

#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

const std::string token = "0123456789abcdef0123456789abcdef";

lock_result<lock_entry*> create(keyspace& keys, std::string_view name,
                                expiry_change expiry = expiry_change::never(), instant now = start,
                                uint32_t database = 0) {
    return keys.create(key_of(name, database), token, expiry, now);
}

void remove(keyspace& keys, std::string_view name, instant now = start) {
    keys.remove(*keys.find(key_of(name), now), now);
}

bool present(keyspace& keys, std::string_view name, instant now = start, uint32_t database = 0) {
    return keys.find(key_of(name, database), now) != nullptr;
}

std::string numbered(size_t i) {
    return "resource:lock:" + std::to_string(i);
}

std::multiset<std::string> scan_all(const keyspace& keys, uint32_t database, size_t count,
                                    instant now = start) {
    std::multiset<std::string> names;
    uint64_t cursor = 0;
    do {
        cursor = keys.scan({.database = database, .cursor = cursor, .count = count}, now,
                           [&](const scanned_entry& entry) { names.emplace(entry.name); });
    } while (cursor != 0);
    return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_entry_is_absent_from_the_instant_of_its_expiry) {
    keyspace keys({});
    create(keys, "k", ends(start + 100ms)).value();
    BOOST_TEST(present(keys, "k", start + 100ms - 1ns));
    BOOST_TEST(!present(keys, "k", start + 100ms));
    BOOST_TEST(keys.stats().expired == 1U);
    BOOST_TEST(keys.size(0) == 0U);
}

BOOST_AUTO_TEST_CASE(an_entry_created_with_an_expiry_in_the_past_never_shows) {
    keyspace keys({});
    BOOST_TEST(create(keys, "k", ends(start)).value() == nullptr);
    BOOST_TEST(!present(keys, "k"));
    BOOST_TEST(keys.size(0) == 0U);
}

BOOST_AUTO_TEST_CASE(due_entries_are_removed_within_the_budget_the_earliest_first) {
    keyspace keys({});
    for (size_t i = 0; i < 10; ++i) {
        create(keys, numbered(i), ends(start + std::chrono::seconds(10 - i)), start,
               static_cast<uint32_t>(i % 3))
            .value();
    }
    create(keys, "stays").value();
    BOOST_TEST((keys.next_expiry() == start + 1s));

    auto progress = keys.expire_due(start + 500ms, 100);
    BOOST_TEST(progress.removed == 0U);
    BOOST_TEST(!progress.more);

    progress = keys.expire_due(start + 6s, 4);
    BOOST_TEST(progress.removed == 4U);
    BOOST_TEST(progress.more);
    progress = keys.expire_due(start + 6s, 4);
    BOOST_TEST(progress.removed == 2U);
    BOOST_TEST(!progress.more);
    BOOST_TEST((keys.next_expiry() == start + 7s));

    keys.expire_due(start + 1h, 100);
    BOOST_TEST(!keys.next_expiry().has_value());
    BOOST_TEST(keys.stats().keys == 1U);
    BOOST_TEST(keys.stats().expired == 10U);
    BOOST_TEST(!keys.verify());
}

BOOST_AUTO_TEST_CASE(a_changed_expiry_moves_the_next_one) {
    keyspace keys({});
    lock_entry& a = *create(keys, "a", ends(start + 1s)).value();
    create(keys, "b", ends(start + 2s)).value();
    keys.change_expiry(a, ends(start + 3s), start);
    BOOST_TEST((keys.next_expiry() == start + 2s));
    keys.change_expiry(a, expiry_change::never(), start);
    BOOST_TEST(keys.stats().keys_with_expiry == 1U);
    BOOST_TEST(present(keys, "a", start + 1h));
    BOOST_TEST(!present(keys, "b", start + 1h));
    BOOST_TEST(!keys.next_expiry().has_value());
}

BOOST_AUTO_TEST_CASE(keys_that_end_are_counted_by_database_with_what_is_left_to_them) {
    keyspace keys({});
    BOOST_TEST(keys.ends(0, start).keys == 0U);
    create(keys, "stays").value();
    for (int i = 1; i <= 1'000; ++i) {
        create(keys, std::to_string(i), ends(start + i * 1s)).value();
    }
    BOOST_TEST(keys.ends(0, start).keys == 1'000U);
    BOOST_TEST((keys.ends(0, start).mean_left > 400s));
    BOOST_TEST((keys.ends(0, start).mean_left < 600s));
    // What has ended and is not removed yet has nothing left.
    BOOST_TEST((keys.ends(0, start + 1h).mean_left == 0s));
    BOOST_TEST(keys.ends(1, start).keys == 0U);
}

BOOST_AUTO_TEST_CASE(databases_do_not_see_each_other) {
    keyspace keys({});
    create(keys, "k", expiry_change::never(), start, 0).value();
    create(keys, "k", expiry_change::never(), start, 15).value();
    BOOST_TEST(present(keys, "k", start, 15));
    BOOST_TEST(!present(keys, "k", start, 1));
    BOOST_TEST(keys.size(15) == 1U);
    BOOST_TEST(keys.flush(15) == 1U);
    BOOST_TEST(!present(keys, "k", start, 15));
    BOOST_TEST(present(keys, "k", start, 0));
}

BOOST_AUTO_TEST_CASE(a_full_table_refuses_new_keys_and_takes_them_again_when_there_is_room) {
    keyspace keys({.keys_max = 3});
    create(keys, "a").value();
    create(keys, "b", expiry_change::never(), start, 1).value();
    create(keys, "c", ends(start + 1s)).value();
    BOOST_TEST((create(keys, "d").error() == lock_error::too_many_locks));
    BOOST_TEST(!present(keys, "d"));
    BOOST_TEST(keys.stats().keys == 3U);

    BOOST_TEST(create(keys, "d", expiry_change::never(), start + 1s).has_value());
    BOOST_TEST((create(keys, "e").error() == lock_error::too_many_locks));
    remove(keys, "a");
    BOOST_TEST(create(keys, "e").has_value());
    BOOST_TEST(!keys.verify());
}

BOOST_AUTO_TEST_CASE(a_flush_empties_at_once_and_frees_bit_by_bit) {
    keyspace keys({});
    for (size_t i = 0; i < 1'000; ++i) {
        create(keys, numbered(i), ends(start + 10s)).value();
    }
    const auto full = keys.stats().bytes;
    BOOST_TEST(keys.flush(0) == 1'000U);
    BOOST_TEST(keys.size(0) == 0U);
    BOOST_TEST(keys.stats().keys == 0U);
    BOOST_TEST(!present(keys, numbered(5)));
    BOOST_TEST(!keys.verify());

    create(keys, numbered(5)).value();
    BOOST_TEST((keys.next_expiry() <= start));
    BOOST_TEST(keys.expire_due(start, 600).more);
    BOOST_TEST(!keys.verify());
    BOOST_TEST(!keys.expire_due(start, 600).more);
    BOOST_TEST(keys.stats().bytes < full / 2);
    BOOST_TEST(keys.stats().expired == 0U);
    BOOST_TEST(present(keys, numbered(5)));
    BOOST_TEST(!keys.next_expiry().has_value());
    BOOST_TEST(keys.flush(3) == 0U);
}

// ---- WATCH
// ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_watched_key_that_nobody_touches_has_not_changed) {
    keyspace keys({});
    create(keys, "present").value();
    create(keys, "other").value();
    const auto present_mark = keys.watch(key_of("present"), start);
    const auto absent_mark = keys.watch(key_of("absent"), start);
    remove(keys, "other");
    keys.flush(1);
    BOOST_TEST(!keys.changed_since(key_of("present"), present_mark, start + 1h));
    BOOST_TEST(!keys.changed_since(key_of("absent"), absent_mark, start + 1h));
}

BOOST_AUTO_TEST_CASE(a_key_that_came_back_as_it_was_has_changed) {
    keyspace keys({});
    create(keys, "k").value();
    const auto mark = keys.watch(key_of("k"), start);
    remove(keys, "k");
    BOOST_TEST(keys.changed_since(key_of("k"), mark, start));
    create(keys, "k").value();
    BOOST_TEST(keys.changed_since(key_of("k"), mark, start));
}

BOOST_AUTO_TEST_CASE(an_absent_key_that_came_and_went_has_changed) {
    keyspace keys({});
    const auto created = keys.watch(key_of("k"), start);
    create(keys, "k").value();
    BOOST_TEST(keys.changed_since(key_of("k"), created, start));
    remove(keys, "k");
    BOOST_TEST(keys.changed_since(key_of("k"), created, start));

    const auto expired = keys.watch(key_of("k"), start);
    BOOST_TEST(!keys.changed_since(key_of("k"), expired, start));
    create(keys, "k", ends(start + 1s)).value();
    BOOST_TEST(keys.changed_since(key_of("k"), expired, start + 2s));

    const auto past = keys.watch(key_of("k"), start + 2s);
    create(keys, "k", ends(start)).value();
    BOOST_TEST(keys.changed_since(key_of("k"), past, start + 2s));

    const auto flushed = keys.watch(key_of("k"), start + 2s);
    create(keys, "k").value();
    keys.flush(0);
    BOOST_TEST(keys.changed_since(key_of("k"), flushed, start + 2s));
}

BOOST_AUTO_TEST_CASE(a_watched_key_that_expires_has_changed) {
    keyspace keys({});
    create(keys, "k", ends(start + 1s)).value();
    const auto mark = keys.watch(key_of("k"), start);
    BOOST_TEST(!keys.changed_since(key_of("k"), mark, start + 1s - 1ns));
    BOOST_TEST(keys.changed_since(key_of("k"), mark, start + 1s));
}

BOOST_AUTO_TEST_CASE(a_key_that_had_expired_when_it_was_watched_counts_as_absent) {
    keyspace keys({});
    create(keys, "k", ends(start + 1s)).value();
    const auto mark = keys.watch(key_of("k"), start + 2s);
    BOOST_TEST(!keys.changed_since(key_of("k"), mark, start + 2s));
    create(keys, "k").value();
    BOOST_TEST(keys.changed_since(key_of("k"), mark, start + 2s));
}

BOOST_AUTO_TEST_CASE(a_flush_changes_the_keys_that_were_there_and_no_others) {
    keyspace keys({});
    create(keys, "k").value();
    const auto there = keys.watch(key_of("k"), start);
    const auto absent = keys.watch(key_of("absent"), start);
    keys.flush(0);
    BOOST_TEST(keys.changed_since(key_of("k"), there, start));
    BOOST_TEST(!keys.changed_since(key_of("absent"), absent, start));
}

// ---- SCAN
// -------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_scan_of_a_quiet_table_visits_every_key_once) {
    keyspace keys({});
    for (size_t i = 0; i < 1'000; ++i) {
        create(keys, numbered(i), expiry_change::never(), start, 2).value();
    }
    for (const size_t count : {1U, 7U, 10U, 5'000U}) {
        const auto names = scan_all(keys, 2, count);
        BOOST_TEST(names.size() == 1'000U);
        BOOST_TEST(std::set<std::string>(names.begin(), names.end()).size() == 1'000U);
    }
    BOOST_TEST(scan_all(keys, 0, 10).empty());
}

BOOST_AUTO_TEST_CASE(a_scan_does_not_show_what_has_expired) {
    keyspace keys({});
    create(keys, "a", ends(start + 1s)).value();
    create(keys, "b", ends(start + 3s)).value();
    BOOST_TEST((scan_all(keys, 0, 10, start + 2s) == std::multiset<std::string>{"b"}));
}

BOOST_AUTO_TEST_CASE(a_scan_tells_kind_and_expiry) {
    keyspace keys({});
    create(keys, "a", ends(start + 1s)).value();
    keys.scan({}, start, [](const scanned_entry& entry) {
        BOOST_TEST(entry.name == "a");
        BOOST_TEST((entry.kind == entry_kind::string));
        BOOST_TEST((entry.until == start + 1s));
    });
}

BOOST_AUTO_TEST_CASE(a_cursor_that_nobody_gave_out_ends_the_scan_or_goes_on_somewhere) {
    keyspace keys({});
    create(keys, "a").value();
    const auto ignore = [](const scanned_entry&) {};
    BOOST_TEST(keys.scan({.cursor = ~uint64_t{0}}, start, ignore) == 0U);
    BOOST_TEST(keys.scan({.cursor = uint64_t{1} << 32}, start, ignore) == 0U);
    uint64_t cursor = 12'345;
    for (int calls = 0; cursor != 0; ++calls) {
        BOOST_REQUIRE(calls < 100);
        cursor = keys.scan({.cursor = cursor}, start, ignore);
    }
}

BOOST_AUTO_TEST_CASE(one_call_of_a_scan_is_bounded_whatever_it_asks_for) {
    keyspace keys({});
    for (size_t i = 0; i < 20'000; ++i) {
        create(keys, numbered(i)).value();
    }
    size_t visited = 0;
    keys.scan({.count = 1'000'000'000}, start, [&](const scanned_entry&) { ++visited; });
    BOOST_TEST(visited >= 1'000U);
    BOOST_TEST(visited < 1'100U);
}

BOOST_AUTO_TEST_CASE(a_scan_visits_every_lasting_key_while_the_table_grows_and_shrinks) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            keyspace keys({});
            std::set<std::string> lasting;
            for (size_t i = 0; i < 200; ++i) {
                lasting.insert("lasting:" + std::to_string(i));
                create(keys, "lasting:" + std::to_string(i)).value();
            }
            size_t low = 0;  // passing keys [low, high) are there
            size_t high = 0;
            const auto grow = [&](size_t by) {
                for (; by > 0; --by) {
                    create(keys, numbered(high++)).value();
                }
            };
            const auto shrink = [&](size_t by) {
                for (; by > 0 && low < high; --by) {
                    remove(keys, numbered(low++));
                }
            };
            grow(random() % 3'000);
            std::set<std::string> seen;
            uint64_t cursor = 0;
            do {
                cursor = keys.scan({.cursor = cursor, .count = 1 + random() % 20}, start,
                                   [&](const scanned_entry& entry) { seen.emplace(entry.name); });
                const size_t by = random() % 300;
                if (random() % 2 == 0) {
                    grow(by);
                } else {
                    shrink(by);
                }
            } while (cursor != 0);
            for (const auto& name : lasting) {
                BOOST_REQUIRE(seen.contains(name));
            }
            BOOST_REQUIRE(!keys.verify());
        }
    }
}

// ---- Size
// -------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_million_locks_are_lean_and_leave_nothing_behind) {
    constexpr size_t million = 1'000'000;
    keyspace keys({});
    size_t payload = 0;
    for (size_t i = 0; i < million; ++i) {
        const auto name = numbered(i);
        payload += name.size() + token.size();
        create(keys, name, ends(start + std::chrono::milliseconds(1 + (i * 7'919) % million)))
            .value();
    }
    const double overhead =
        static_cast<double>(keys.stats().bytes - payload) / static_cast<double>(million);
    BOOST_TEST_MESSAGE("bytes per held lock beside key and token: " << overhead);
    BOOST_TEST(overhead <= 200);
    BOOST_TEST(keys.stats().keys == million);

    size_t removed = 0;
    for (expire_progress progress{.more = true}; progress.more;) {
        progress = keys.expire_due(start + 500s, 1'000);
        removed += progress.removed;
    }
    BOOST_TEST(removed == million / 2);
    BOOST_TEST((keys.next_expiry() > start + 500s));
    while (keys.expire_due(start + 1h, 1'000).more) {
    }
    BOOST_TEST(keys.stats().keys == 0U);
    BOOST_TEST(keys.stats().bytes < 200'000U);
    BOOST_TEST(!keys.verify());
}
