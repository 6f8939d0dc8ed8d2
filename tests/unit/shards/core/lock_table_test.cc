#include "shards/core/lock_table.hh"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

struct fixture {
    lock_table table;

    bool set(std::string_view name, std::string_view value,
             set_condition condition = set_condition::always,
             expiry_change expiry = expiry_change::never(), instant now = start) {
        return table
            .set({.key = key_of(name), .value = value, .condition = condition, .expiry = expiry},
                 now)
            .value()
            .stored;
    }
    std::string get(std::string_view name, instant now = start) {
        return std::string(table.get(key_of(name), now).value().value_or("<absent>"));
    }
    std::optional<instant> until(std::string_view name, instant now = start) {
        return table.lifetime_of(key_of(name), now).until;
    }
    bool present(std::string_view name, instant now = start) {
        return table.exists(key_of(name), now);
    }
    void make_hash(std::string_view name) {
        table.hash_set(key_of(name), {"field", "value"}, start).value();
    }
    compare_outcome expire_if(std::string_view name, std::string_view comparand,
                              expire_if_equal_request::change what,
                              std::chrono::nanoseconds by = {}) {
        return table
            .expire_if_equal({.key = key_of(name),
                              .comparand = comparand,
                              .what = what,
                              .when = start + by,
                              .by = by},
                             start)
            .value();
    }

    ~fixture() { BOOST_TEST(table.verify().value_or("") == ""); }
};

using change = expire_if_equal_request::change;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lock_table_strings, fixture)

BOOST_AUTO_TEST_CASE(set_if_absent_is_won_by_the_first) {
    BOOST_TEST(set("k", "mine", set_condition::if_absent));
    BOOST_TEST(!set("k", "theirs", set_condition::if_absent));
    BOOST_TEST(get("k") == "mine");
}

BOOST_AUTO_TEST_CASE(set_if_absent_is_won_again_once_the_lease_has_ended) {
    BOOST_TEST(set("k", "mine", set_condition::if_absent, ends(start + 10s)));
    BOOST_TEST(!set("k", "theirs", set_condition::if_absent, ends(start + 30s), start + 10s - 1ns));
    BOOST_TEST(set("k", "theirs", set_condition::if_absent, ends(start + 30s), start + 10s));
    BOOST_TEST(get("k", start + 10s) == "theirs");
}

BOOST_AUTO_TEST_CASE(set_if_present_never_creates) {
    BOOST_TEST(!set("k", "v", set_condition::if_present));
    BOOST_TEST(!present("k"));
    set("k", "v");
    BOOST_TEST(set("k", "w", set_condition::if_present));
    BOOST_TEST(get("k") == "w");
}

BOOST_AUTO_TEST_CASE(set_if_equal_never_creates_and_set_if_not_equal_does) {
    const auto compare = [&](set_condition condition, std::string_view comparand) {
        return table
            .set({.key = key_of("k"),
                  .value = "new",
                  .condition = condition,
                  .comparand = comparand},
                 start)
            .value()
            .stored;
    };
    BOOST_TEST(!compare(set_condition::if_equal, "old"));
    BOOST_TEST(compare(set_condition::if_not_equal, "old"));
    set("k", "old");
    BOOST_TEST(!compare(set_condition::if_equal, "other"));
    BOOST_TEST(!compare(set_condition::if_not_equal, "old"));
    BOOST_TEST(get("k") == "old");
    BOOST_TEST(compare(set_condition::if_equal, "old"));
    BOOST_TEST(get("k") == "new");
}

BOOST_AUTO_TEST_CASE(set_drops_the_ttl_unless_told_to_keep_it) {
    set("k", "v", set_condition::always, ends(start + 10s));
    set("k", "w", set_condition::always, expiry_change::keep());
    BOOST_TEST((until("k") == start + 10s));
    set("k", "w");
    BOOST_TEST(!until("k").has_value());
    BOOST_TEST(present("k", start + 1h));
}

BOOST_AUTO_TEST_CASE(set_with_an_expiry_in_the_past_is_done_and_leaves_nothing) {
    BOOST_TEST(set("k", "v", set_condition::always, ends(instant{})));
    BOOST_TEST(!present("k"));
    set("k", "v");
    BOOST_TEST(!set("k", "w", set_condition::if_absent, ends(instant{})));
    BOOST_TEST(get("k") == "v");
    const auto outcome = table.set(
        {.key = key_of("k"), .value = "w", .expiry = ends(instant{}), .want_previous = true},
        start);
    BOOST_TEST(outcome->stored);
    BOOST_TEST(outcome->previous.value() == "v");
    BOOST_TEST(!present("k"));
}

BOOST_AUTO_TEST_CASE(the_previous_value_is_told_whether_or_not_the_new_one_is_stored) {
    const auto set_and_get = [&](set_condition condition) {
        return table
            .set(
                {.key = key_of("k"), .value = "new", .condition = condition, .want_previous = true},
                start)
            .value();
    };
    auto outcome = set_and_get(set_condition::if_present);
    BOOST_TEST(!outcome.stored);
    BOOST_TEST(!outcome.previous.has_value());
    outcome = set_and_get(set_condition::if_absent);
    BOOST_TEST(outcome.stored);
    BOOST_TEST(!outcome.previous.has_value());
    outcome = set_and_get(set_condition::if_absent);
    BOOST_TEST(!outcome.stored);
    BOOST_TEST(outcome.previous.value() == "new");
}

BOOST_AUTO_TEST_CASE(a_plain_set_replaces_any_kind_but_one_that_looks_at_the_value_refuses) {
    make_hash("k");
    set_request request{.key = key_of("k"), .value = "v", .want_previous = true};
    BOOST_TEST((table.set(request, start).error() == lock_error::wrong_type));
    request = {
        .key = key_of("k"), .value = "v", .condition = set_condition::if_equal, .comparand = "x"};
    BOOST_TEST((table.set(request, start).error() == lock_error::wrong_type));
    request.condition = set_condition::if_not_equal;
    BOOST_TEST((table.set(request, start).error() == lock_error::wrong_type));
    BOOST_TEST(!set("k", "v", set_condition::if_absent));
    BOOST_TEST(set("k", "v", set_condition::if_present));
    BOOST_TEST((table.kind_of(key_of("k"), start) == entry_kind::string));
}

BOOST_AUTO_TEST_CASE(a_key_beyond_the_limit_is_refused_and_one_at_the_limit_is_not) {
    lock_table small({.key_bytes_max = 4});
    for (const char* name : {"abc", "abcd"}) {
        BOOST_TEST(small.set({.key = key_of(name), .value = "1"}, start)->stored);
    }
    BOOST_TEST((small.set({.key = key_of("abcde"), .value = "1"}, start).error() ==
                lock_error::key_too_long));
    BOOST_TEST((small.acquire({.key = key_of("abcde"), .owner = "o"}, start).error() ==
                lock_error::key_too_long));
    BOOST_TEST(!small.exists(key_of("abcde"), start));
}

BOOST_AUTO_TEST_CASE(a_full_table_still_serves_the_keys_it_has) {
    lock_table full({.keys_max = 1});
    BOOST_TEST(full.set({.key = key_of("a"), .value = "1"}, start)->stored);
    BOOST_TEST((full.set({.key = key_of("b"), .value = "1"}, start).error() ==
                lock_error::too_many_locks));
    BOOST_TEST((full.increment(key_of("b"), 1, start).error() == lock_error::too_many_locks));
    BOOST_TEST((full.acquire({.key = key_of("b"), .owner = "o"}, start).error() ==
                lock_error::too_many_locks));
    BOOST_TEST(full.set({.key = key_of("a"), .value = "2"}, start)->stored);
    BOOST_TEST(full.remove(key_of("a"), start));
    BOOST_TEST(full.set({.key = key_of("b"), .value = "1"}, start)->stored);
}

BOOST_AUTO_TEST_CASE(remove_if_looks_at_the_value) {
    const auto remove_if = [&](std::string_view comparand, comparison compare) {
        return table
            .remove_if({.key = key_of("k"), .comparand = comparand, .compare = compare}, start)
            .value();
    };
    BOOST_TEST((remove_if("mine", comparison::equal) == compare_outcome::absent));
    BOOST_TEST((remove_if("mine", comparison::not_equal) == compare_outcome::absent));
    set("k", "mine");
    BOOST_TEST((remove_if("theirs", comparison::equal) == compare_outcome::refused));
    BOOST_TEST((remove_if("mine", comparison::not_equal) == compare_outcome::refused));
    BOOST_TEST((remove_if("mine", comparison::equal) == compare_outcome::done));
    BOOST_TEST(!present("k"));
    set("k", "mine");
    BOOST_TEST((remove_if("theirs", comparison::not_equal) == compare_outcome::done));
    BOOST_TEST(!present("k"));
}

BOOST_AUTO_TEST_CASE(a_late_release_cannot_free_the_lock_of_the_next_holder) {
    set("k", "first", set_condition::if_absent, ends(start + 1s));
    set("k", "second", set_condition::if_absent, ends(start + 5s), start + 2s);
    const auto late = table.remove_if({.key = key_of("k"), .comparand = "first"}, start + 2s);
    BOOST_TEST((late.value() == compare_outcome::refused));
    BOOST_TEST(get("k", start + 2s) == "second");
}

BOOST_AUTO_TEST_CASE(expire_if_equal_sets_extends_or_drops_the_ttl_of_the_holder) {
    BOOST_TEST((expire_if("k", "mine", change::until, 5s) == compare_outcome::absent));
    set("k", "mine");
    BOOST_TEST((expire_if("k", "theirs", change::until, 5s) == compare_outcome::refused));
    BOOST_TEST((expire_if("k", "mine", change::extend, 5s) == compare_outcome::no_expiry));
    BOOST_TEST((expire_if("k", "mine", change::persist) == compare_outcome::no_expiry));
    BOOST_TEST((expire_if("k", "mine", change::until, 5s) == compare_outcome::done));
    BOOST_TEST((until("k") == start + 5s));
    BOOST_TEST((expire_if("k", "mine", change::extend, 7s) == compare_outcome::done));
    BOOST_TEST((until("k") == start + 12s));
    BOOST_TEST((expire_if("k", "mine", change::persist) == compare_outcome::done));
    BOOST_TEST(!until("k").has_value());
    BOOST_TEST((expire_if("k", "mine", change::until, -1s) == compare_outcome::done));
    BOOST_TEST(!present("k"));
}

BOOST_AUTO_TEST_CASE(acquire_or_renew_creates_renews_and_refuses) {
    using result = acquire_or_renew_outcome::result;
    const auto ask = [&](std::string_view value, std::chrono::seconds ttl, bool may_create) {
        return table
            .acquire_or_renew({.key = key_of("k"),
                               .value = value,
                               .expiry = ends(start + ttl),
                               .may_create = may_create},
                              start)
            .value();
    };
    BOOST_TEST((ask("mine", 5s, false).what == result::refused));
    BOOST_TEST(!present("k"));
    BOOST_TEST((ask("mine", 5s, true).what == result::acquired));
    BOOST_TEST((ask("mine", 9s, true).what == result::renewed));
    BOOST_TEST((ask("mine", 8s, false).what == result::renewed));
    const auto refused = ask("theirs", 20s, true);
    BOOST_TEST((refused.what == result::refused));
    BOOST_TEST((refused.held_until == start + 8s));
    BOOST_TEST(get("k") == "mine");
}

BOOST_AUTO_TEST_CASE(acquire_or_renew_knows_the_holder_by_the_first_bytes_of_the_value) {
    using result = acquire_or_renew_outcome::result;
    const auto ask = [&](std::string_view value, size_t token_bytes) {
        return table
            .acquire_or_renew({.key = key_of("k"), .value = value, .token_bytes = token_bytes},
                              start)
            .value()
            .what;
    };
    BOOST_TEST((ask("tok1:hello", 4) == result::acquired));
    BOOST_TEST((ask("tok1:world", 4) == result::renewed));
    BOOST_TEST(get("k") == "tok1:world");
    BOOST_TEST((ask("tok2:world", 4) == result::refused));
    BOOST_TEST((ask("tok1:other", 10) == result::refused));
    BOOST_TEST((ask("tok1", 4) == result::renewed));
    BOOST_TEST((ask("tok", 4) == result::refused));
    BOOST_TEST((ask("anything", 0) == result::refused));
}

BOOST_AUTO_TEST_CASE(increment_counts_from_zero_and_keeps_the_ttl) {
    BOOST_TEST(table.increment(key_of("n"), 0, start).value() == 0);
    BOOST_TEST(present("n"));
    BOOST_TEST(table.increment(key_of("n"), 5, start).value() == 5);
    BOOST_TEST(table.increment(key_of("n"), -7, start).value() == -2);
    BOOST_TEST(get("n") == "-2");
    set("n", "5", set_condition::always, ends(start + 5s));
    BOOST_TEST(table.increment(key_of("n"), 1, start).value() == 6);
    BOOST_TEST((until("n") == start + 5s));
    BOOST_TEST(table.increment(key_of("n"), 1, start + 5s).value() == 1);
}

BOOST_AUTO_TEST_CASE(increment_refuses_what_is_no_integer_and_what_overflows) {
    set("n", "01");
    BOOST_TEST((table.increment(key_of("n"), 1, start).error() == lock_error::not_an_integer));
    set("n", "9223372036854775807");
    BOOST_TEST((table.increment(key_of("n"), 1, start).error() == lock_error::overflow));
    BOOST_TEST(get("n") == "9223372036854775807");
    make_hash("h");
    BOOST_TEST((table.increment(key_of("h"), 1, start).error() == lock_error::wrong_type));
}

BOOST_AUTO_TEST_CASE(string_requests_refuse_other_kinds) {
    make_hash("h");
    const auto key = key_of("h");
    BOOST_TEST((table.get(key, start).error() == lock_error::wrong_type));
    BOOST_TEST(
        (table.remove_if({.key = key, .comparand = ""}, start).error() == lock_error::wrong_type));
    BOOST_TEST((table.expire_if_equal({.key = key, .comparand = ""}, start).error() ==
                lock_error::wrong_type));
    BOOST_TEST((table.acquire_or_renew({.key = key, .value = "v"}, start).error() ==
                lock_error::wrong_type));
    BOOST_TEST(present("h"));
}

BOOST_AUTO_TEST_CASE(remove_tells_whether_there_was_something) {
    BOOST_TEST(!table.remove(key_of("k"), start));
    set("k", "v", set_condition::always, ends(start + 1s));
    BOOST_TEST(!table.remove(key_of("k"), start + 1s));
    set("k", "v");
    BOOST_TEST(table.remove(key_of("k"), start));
    BOOST_TEST(!present("k"));
}

BOOST_AUTO_TEST_CASE(kind_and_lifetime_of_an_absent_key_are_nothing) {
    BOOST_TEST(!table.kind_of(key_of("k"), start).has_value());
    BOOST_TEST(!table.lifetime_of(key_of("k"), start).present);
    set("k", "v");
    BOOST_TEST(table.lifetime_of(key_of("k"), start).present);
    BOOST_TEST(!until("k").has_value());
}

BOOST_AUTO_TEST_CASE(expire_minds_its_conditions) {
    const auto expire = [&](expire_request request, std::chrono::seconds in) {
        request.key = key_of("k");
        request.when = start + in;
        return table.expire(request, start);
    };
    BOOST_TEST(!expire({}, 5s));
    set("k", "v");
    // Without a TTL: as if it ended never.
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_later = true}, 100s));
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_some = true}, 100s));
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_some = true, .if_earlier = true}, 100s));
    BOOST_TEST(expire({.key = {}, .when = {}, .if_earlier = true}, 100s));
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_none = true}, 50s));
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_later = true}, 100s));
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_earlier = true}, 100s));
    BOOST_TEST(!expire({.key = {}, .when = {}, .if_later = true}, 50s));
    BOOST_TEST(expire({.key = {}, .when = {}, .if_some = true, .if_earlier = true}, 50s));
    BOOST_TEST(expire({.key = {}, .when = {}, .if_some = true, .if_later = true}, 200s));
    BOOST_TEST((until("k") == start + 200s));
    BOOST_TEST(table.persist(key_of("k"), start));
    BOOST_TEST(!table.persist(key_of("k"), start));
    BOOST_TEST(expire({.key = {}, .when = {}, .if_none = true}, 5s));
}

BOOST_AUTO_TEST_CASE(expire_in_the_past_removes_if_its_conditions_hold) {
    set("k", "v", set_condition::always, ends(start + 100s));
    BOOST_TEST(!table.expire({.key = key_of("k"), .when = start - 5s, .if_later = true}, start));
    BOOST_TEST(present("k"));
    BOOST_TEST(table.expire({.key = key_of("k"), .when = start - 5s, .if_earlier = true}, start));
    BOOST_TEST(!present("k"));
}

BOOST_AUTO_TEST_CASE(reads_and_refused_requests_are_no_change_for_who_watches) {
    set("k", "1");
    const auto mark = table.watch(key_of("k"), start);
    get("k");
    set("k", "2", set_condition::if_absent);
    table.persist(key_of("k"), start);
    table.expire({.key = key_of("k"), .when = start + 5s, .if_some = true}, start);
    table.hash_set(key_of("k"), {"f", "v"}, start);
    table.remove_if({.key = key_of("k"), .comparand = "2"}, start).value();
    BOOST_TEST(!table.changed_since(key_of("k"), mark, start));
}

BOOST_AUTO_TEST_CASE(every_write_is_a_change_for_who_watches_even_if_nothing_differs) {
    const auto changes = [&](auto&& act) {
        table.remove(key_of("k"), start);
        set("k", "1", set_condition::always, ends(start + 100s));
        const auto mark = table.watch(key_of("k"), start);
        act();
        return table.changed_since(key_of("k"), mark, start);
    };
    BOOST_TEST(changes([&] { set("k", "1", set_condition::always, expiry_change::keep()); }));
    BOOST_TEST(changes([&] { table.increment(key_of("k"), 0, start).value(); }));
    BOOST_TEST(changes([&] { table.persist(key_of("k"), start); }));
    BOOST_TEST(changes([&] { table.expire({.key = key_of("k"), .when = start + 100s}, start); }));
    BOOST_TEST(changes([&] { expire_if("k", "1", change::extend, 1s); }));
    BOOST_TEST(changes([&] { table.remove(key_of("k"), start); }));
    BOOST_TEST(changes([&] { set("k", "1", set_condition::always, ends(instant{})); }));
}

BOOST_AUTO_TEST_SUITE_END()
