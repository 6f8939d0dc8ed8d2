#include <array>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "shards/core/lock_table.hh"
#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

using result = release_outcome::result;

struct fixture {
    lock_table table{{.members_max = 4}};

    acquire_outcome acquire(std::string_view owner, std::chrono::seconds lease,
                            instant now = start) {
        return table.acquire({.key = key_of("k"), .owner = owner, .expiry = ends(now + lease)}, now)
            .value();
    }
    release_outcome release(std::string_view owner, std::chrono::seconds lease,
                            instant now = start) {
        return table.release({.key = key_of("k"), .owner = owner, .expiry = ends(now + lease)}, now)
            .value();
    }
    bool renew(std::string_view owner, std::chrono::seconds lease) {
        return table
            .renew({.key = key_of("k"), .owner = owner, .expiry = ends(start + lease)}, start)
            .value();
    }
    std::optional<instant> until(instant now = start) {
        return table.lifetime_of(key_of("k"), now).until;
    }
    bool present(instant now = start) { return table.exists(key_of("k"), now); }
    std::string field(std::string_view name) {
        return std::string(table.hash_get(key_of("k"), name, start).value().value_or("<absent>"));
    }
    lock_result<size_t> push(list_end end, std::initializer_list<std::string_view> values) {
        return table.list_push(key_of("k"), end, values, start);
    }
    std::string pop(list_end end) {
        return table.list_pop(key_of("k"), end, start).value().value_or("<absent>");
    }

    ~fixture() { BOOST_TEST(table.verify().value_or("") == ""); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lock_table_members, fixture)

// ---- Reentrant locks
// --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_owner_may_acquire_again_and_others_are_told_until_when) {
    BOOST_TEST(acquire("me", 10s).holds == 1);
    BOOST_TEST(acquire("me", 20s).holds == 2);
    const auto busy = acquire("you", 99s);
    BOOST_TEST(!busy.won);
    BOOST_TEST((busy.held_until == start + 20s));
    BOOST_TEST(field("me") == "2");
    BOOST_TEST(field("you") == "<absent>");
}

BOOST_AUTO_TEST_CASE(a_lock_without_a_lease_is_busy_for_ever) {
    table.acquire({.key = key_of("k"), .owner = "me"}, start).value();
    const auto busy = acquire("you", 5s);
    BOOST_TEST(!busy.won);
    BOOST_TEST(!busy.held_until.has_value());
}

BOOST_AUTO_TEST_CASE(the_last_release_frees_the_lock) {
    acquire("me", 10s);
    acquire("me", 10s);
    const auto first = release("me", 30s);
    BOOST_TEST((first.what == result::still_held));
    BOOST_TEST(first.holds == 1);
    BOOST_TEST((until() == start + 30s));
    BOOST_TEST((release("me", 30s).what == result::freed));
    BOOST_TEST(!present());
    BOOST_TEST((release("me", 30s).what == result::absent));
    BOOST_TEST(acquire("you", 1s).won);
}

BOOST_AUTO_TEST_CASE(only_the_owner_releases_and_renews) {
    acquire("me", 10s);
    BOOST_TEST((release("you", 99s).what == result::not_owner));
    BOOST_TEST(!renew("you", 99s));
    BOOST_TEST((until() == start + 10s));
    BOOST_TEST(renew("me", 40s));
    BOOST_TEST((until() == start + 40s));
}

BOOST_AUTO_TEST_CASE(a_lease_that_ended_frees_the_lock_with_all_its_holds) {
    acquire("me", 10s);
    acquire("me", 10s);
    BOOST_TEST((release("me", 10s, start + 10s).what == result::absent));
    BOOST_TEST(acquire("you", 10s, start + 10s).holds == 1);
}

BOOST_AUTO_TEST_CASE(a_lease_in_the_past_ends_the_lock_at_once) {
    BOOST_TEST(acquire("me", -1s).won);
    BOOST_TEST(!present());
    acquire("me", 10s);
    BOOST_TEST(renew("me", -1s));
    BOOST_TEST(!present());
}

BOOST_AUTO_TEST_CASE(reentrant_requests_refuse_other_kinds_and_fields_that_are_no_counts) {
    table.set({.key = key_of("s"), .value = "v"}, start).value();
    const reentrant_request on_string{.key = key_of("s"), .owner = "me"};
    BOOST_TEST((table.acquire(on_string, start).error() == lock_error::wrong_type));
    BOOST_TEST((table.release(on_string, start).error() == lock_error::wrong_type));
    BOOST_TEST((table.renew(on_string, start).error() == lock_error::wrong_type));

    table.hash_set(key_of("k"), {"mode", "read"}, start).value();
    const reentrant_request on_mode{
        .key = key_of("k"), .owner = "mode", .expiry = ends(start + 1s)};
    BOOST_TEST((table.acquire(on_mode, start).error() == lock_error::not_an_integer));
    BOOST_TEST((table.release(on_mode, start).error() == lock_error::not_an_integer));
    BOOST_TEST(field("mode") == "read");
    BOOST_TEST(!until().has_value());
}

// ---- Hashes
// -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(fields_come_back_in_the_order_in_which_they_came) {
    const auto key = key_of("k");
    BOOST_TEST(table.hash_set(key, {"mode", "read"}, start).value());
    BOOST_TEST(table.hash_increment(key, "b", 2, start).value() == 2);
    BOOST_TEST(table.hash_increment(key, "a", 0, start).value() == 0);
    BOOST_TEST(!table.hash_set(key, {"mode", "write"}, start).value());
    const auto fields = table.hash_fields(key, start).value();
    BOOST_REQUIRE(fields.size() == 3U);
    BOOST_TEST(fields[0].name == "mode");
    BOOST_TEST(fields[0].value == "write");
    BOOST_TEST(fields[1].name == "b");
    BOOST_TEST(fields[2].name == "a");
    BOOST_TEST(fields[2].value == "0");
    BOOST_TEST(table.hash_length(key, start).value() == 3U);
}

BOOST_AUTO_TEST_CASE(the_last_field_takes_its_key_along) {
    const auto key = key_of("k");
    table.hash_increment(key, "a", 1, start).value();
    table.hash_increment(key, "b", 1, start).value();
    BOOST_TEST(!table.hash_remove(key, "c", start).value());
    BOOST_TEST(table.hash_remove(key, "a", start).value());
    BOOST_TEST(present());
    BOOST_TEST(table.hash_remove(key, "b", start).value());
    BOOST_TEST(!present());
    BOOST_TEST(!table.hash_remove(key, "b", start).value());
}

BOOST_AUTO_TEST_CASE(an_absent_hash_reads_as_empty) {
    const auto key = key_of("k");
    BOOST_TEST(field("a") == "<absent>");
    BOOST_TEST(table.hash_length(key, start).value() == 0U);
    BOOST_TEST(table.hash_fields(key, start).value().empty());
}

BOOST_AUTO_TEST_CASE(hash_increment_refuses_what_is_no_integer_and_what_overflows) {
    const auto key = key_of("k");
    table.hash_set(key, {"f", "x"}, start).value();
    BOOST_TEST((table.hash_increment(key, "f", 1, start).error() == lock_error::not_an_integer));
    table.hash_set(key, {"f", "9223372036854775807"}, start).value();
    BOOST_TEST((table.hash_increment(key, "f", 1, start).error() == lock_error::overflow));
    BOOST_TEST(field("f") == "9223372036854775807");
}

BOOST_AUTO_TEST_CASE(a_hash_keeps_its_ttl_through_changes_of_its_fields) {
    acquire("me", 10s);
    table.hash_increment(key_of("k"), "other", 1, start).value();
    table.hash_remove(key_of("k"), "me", start).value();
    BOOST_TEST((until() == start + 10s));
}

BOOST_AUTO_TEST_CASE(a_hash_takes_no_more_fields_than_its_limit) {
    const auto key = key_of("k");
    for (const std::string_view name : {"a", "b", "c", "d"}) {
        table.hash_increment(key, name, 1, start).value();
    }
    BOOST_TEST((table.hash_set(key, {"e", "1"}, start).error() == lock_error::too_many_members));
    BOOST_TEST((table.hash_increment(key, "e", 1, start).error() == lock_error::too_many_members));
    BOOST_TEST(table.hash_increment(key, "d", 1, start).value() == 2);
    BOOST_TEST(table.hash_length(key, start).value() == 4U);
}

/// A read-write lock of Redisson's, driven field by field as its scripts do.
BOOST_AUTO_TEST_CASE(a_read_write_lock_can_be_kept_in_a_hash) {
    const auto key = key_of("k");
    table.hash_set(key, {"mode", "read"}, start).value();
    table.hash_set(key, {"reader1", "1"}, start).value();
    BOOST_TEST(table.hash_increment(key, "reader2", 1, start).value() == 1);
    BOOST_TEST(table.expire({.key = key, .when = start + 30s}, start));
    BOOST_TEST(field("mode") == "read");
    BOOST_TEST(table.hash_increment(key, "reader1", -1, start).value() == 0);
    BOOST_TEST(table.hash_remove(key, "reader1", start).value());
    BOOST_TEST(table.hash_length(key, start).value() == 2U);
    BOOST_TEST(table.hash_increment(key, "reader2", -1, start).value() == 0);
    BOOST_TEST(table.hash_remove(key, "reader2", start).value());
    BOOST_TEST(table.hash_length(key, start).value() == 1U);
    BOOST_TEST(table.remove(key, start));
}

// ---- Signal lists
// -----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(several_values_are_pushed_one_after_the_other) {
    BOOST_TEST(push(list_end::front, {"a", "b"}).value() == 2U);
    BOOST_TEST(push(list_end::back, {"x", "y"}).value() == 4U);
    BOOST_TEST(pop(list_end::front) == "b");
    BOOST_TEST(pop(list_end::back) == "y");
    BOOST_TEST(pop(list_end::front) == "a");
    BOOST_TEST(pop(list_end::front) == "x");
    BOOST_TEST(!present());
    BOOST_TEST(pop(list_end::front) == "<absent>");
}

BOOST_AUTO_TEST_CASE(a_signal_waits_for_its_waiter_until_it_expires) {
    push(list_end::front, {"1"}).value();
    table.expire({.key = key_of("k"), .when = start + 1s}, start);
    BOOST_TEST(table.list_length(key_of("k"), start).value() == 1U);
    BOOST_TEST(!table.list_pop(key_of("k"), list_end::front, start + 1s).value().has_value());
    BOOST_TEST(table.list_length(key_of("k"), start + 1s).value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_list_takes_all_values_of_a_push_or_none) {
    push(list_end::back, {"1", "2", "3"}).value();
    BOOST_TEST((push(list_end::back, {"4", "5"}).error() == lock_error::too_many_members));
    BOOST_TEST(push(list_end::back, {"4"}).value() == 4U);
    BOOST_TEST((push(list_end::front, {"5"}).error() == lock_error::too_many_members));
}

BOOST_AUTO_TEST_CASE(members_refuse_other_kinds) {
    table.set({.key = key_of("k"), .value = "v"}, start).value();
    BOOST_TEST((push(list_end::back, {"1"}).error() == lock_error::wrong_type));
    BOOST_TEST(
        (table.list_pop(key_of("k"), list_end::back, start).error() == lock_error::wrong_type));
    BOOST_TEST((table.list_length(key_of("k"), start).error() == lock_error::wrong_type));
    BOOST_TEST((table.hash_get(key_of("k"), "f", start).error() == lock_error::wrong_type));
    BOOST_TEST((table.hash_set(key_of("k"), {"f", "v"}, start).error() == lock_error::wrong_type));
    BOOST_TEST(
        (table.hash_increment(key_of("k"), "f", 1, start).error() == lock_error::wrong_type));
    BOOST_TEST((table.hash_remove(key_of("k"), "f", start).error() == lock_error::wrong_type));
    BOOST_TEST((table.hash_length(key_of("k"), start).error() == lock_error::wrong_type));
    BOOST_TEST((table.hash_fields(key_of("k"), start).error() == lock_error::wrong_type));
}

BOOST_AUTO_TEST_CASE(changes_of_members_are_changes_for_who_watches) {
    const auto key = key_of("k");
    table.hash_set(key, {"f", "1"}, start).value();
    auto mark = table.watch(key, start);
    table.hash_remove(key, "g", start).value();
    BOOST_TEST(!table.changed_since(key, mark, start));
    table.hash_set(key, {"f", "1"}, start).value();
    BOOST_TEST(table.changed_since(key, mark, start));
    mark = table.watch(key, start);
    table.hash_increment(key, "f", 0, start).value();
    BOOST_TEST(table.changed_since(key, mark, start));
    table.remove(key, start);
    push(list_end::back, {"1"}).value();
    mark = table.watch(key, start);
    push(list_end::back, {"1"}).value();
    BOOST_TEST(table.changed_since(key, mark, start));
}

BOOST_AUTO_TEST_SUITE_END()
