#include "lock_desk.hh"

/// What a table tells of the past: times, history, slow waits and holds, habits.
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

using reason = entry_watcher::reason;

set_request taking(std::string_view name, std::string_view owner, uint64_t client, instant until) {
    return {.key = key_of(name),
            .value = owner,
            .condition = set_condition::if_absent,
            .expiry = expiry_change::at(until),
            .client = client};
}

/// Within the 16 us that an entry knows its beginning to.
bool is_about(std::chrono::nanoseconds time, std::chrono::nanoseconds expected) {
    return time > expected - 20us && time < expected + 20us;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(observing)

BOOST_AUTO_TEST_CASE(a_reentrant_lock_of_another_library_shows_its_holds) {
    lock_desk desk;
    for (int i = 0; i < 3; ++i) {
        desk.table
            .acquire({.key = key_of("k"), .owner = "id:1", .expiry = expiry_change::never()}, start)
            .value();
    }
    const auto all = desk.table.holders(key_of("k"), start);
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].owner == "id:1");
    BOOST_TEST(all[0].holds == 3);
    BOOST_TEST((all[0].mode == lock_mode::exclusive));
}

BOOST_AUTO_TEST_CASE(a_read_write_lock_of_another_library_shows_its_readers_and_its_writer) {
    lock_desk desk;
    const auto set = [&desk](std::string_view key, hash_field field) {
        desk.table.hash_set(key_of(key), field, start).value();
    };
    set("read", {"mode", "read"});
    set("read", {"id:1", "2"});
    set("read", {"id:2", "1"});
    auto all = desk.table.holders(key_of("read"), start);
    BOOST_REQUIRE(all.size() == 2U);
    BOOST_TEST(all[0].owner == "id:1");
    BOOST_TEST(all[0].holds == 2);
    BOOST_TEST((all[0].mode == lock_mode::shared));
    BOOST_TEST((all[1].mode == lock_mode::shared));

    set("write", {"mode", "write"});
    set("write", {"id:1:write", "1"});
    set("write", {"id:1", "2"});
    all = desk.table.holders(key_of("write"), start);
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].owner == "id:1");
    BOOST_TEST(all[0].holds == 3);
    BOOST_TEST((all[0].mode == lock_mode::exclusive));

    set("plain", {"mode", "1"});
    BOOST_TEST(desk.owners("plain") == "mode");
}

BOOST_AUTO_TEST_CASE(holds_are_counted_by_how_they_end) {
    lock_desk desk;
    auto& table = desk.table;
    BOOST_TEST(table.set(taking("a", "me", 1, start + 1s), start)->stored);
    BOOST_TEST(table.set(taking("b", "me", 1, start + 1s), start)->stored);
    BOOST_TEST(table.set(taking("c", "me", 1, start + 1s), start)->stored);
    BOOST_TEST((table.remove_if({.key = key_of("a"), .comparand = "me"}, start + 3ms).value() ==
                compare_outcome::done));
    BOOST_TEST(table.remove(key_of("b"), start + 20ms));
    // Found late; it was over when its time was.
    BOOST_TEST(!table.exists(key_of("c"), start + 1h));
    BOOST_TEST(is_about(table.held()[reason::released].sum(), 3ms));
    BOOST_TEST(is_about(table.held()[reason::removed].sum(), 20ms));
    BOOST_TEST(is_about(table.held()[reason::expired].sum(), 1s));
    for (const auto why : {reason::released, reason::removed, reason::expired}) {
        BOOST_TEST(table.held()[why].count() == 1u);
    }
    desk.latest = start + 1h;
}

BOOST_AUTO_TEST_CASE(each_holder_of_a_shared_lock_is_a_hold) {
    lock_desk desk;
    desk.take("k", "one", shared());
    desk.take("k", "two", shared(), start + 1ms);
    desk.release("k", "one", start + 5ms);
    BOOST_TEST(desk.table.held()[reason::released].count() == 1u);
    desk.release("k", "two", start + 6ms);
    BOOST_TEST(desk.table.held()[reason::released].count() == 2u);
    BOOST_TEST((desk.table.held()[reason::released].sum() == 10ms));
}

BOOST_AUTO_TEST_CASE(a_hold_of_months_is_told_right) {
    lock_desk desk;
    const auto long_ago = start;
    BOOST_TEST(desk.table
                   .set({.key = key_of("k"),
                         .value = "me",
                         .condition = set_condition::if_absent,
                         .client = 1},
                        long_ago)
                   ->stored);
    const auto now = long_ago + 150 * 24h;
    BOOST_TEST(is_about(now - desk.table.holders(key_of("k"), now).front().since, 150 * 24h));
    desk.latest = now;
}

BOOST_AUTO_TEST_CASE(waits_are_counted_by_how_they_end) {
    lock_desk desk;
    place granted("granted", {.client = 2});
    place late("late", {.client = 3}, start + 50ms);
    place gone("gone", {.client = 4});
    desk.take("k", "holder");
    desk.wait(granted, "k");
    desk.wait(late, "k");
    desk.wait(gone, "k");
    desk.advance(start + 50ms);
    desk.table.stop_waiting(gone, start + 60ms);
    desk.release("k", "holder", start + 70ms);
    const wait_times& waited = desk.table.waited();
    BOOST_TEST((waited.granted.sum() == 70ms));
    BOOST_TEST((waited.timed_out.sum() == 50ms));
    BOOST_TEST((waited.cancelled.sum() == 60ms));
    BOOST_TEST(waited.refused.count() == 0u);
    // Nobody, one and two stood before them.
    BOOST_TEST(waited.before[0] == 2u);
    BOOST_TEST(waited.before[1] == 1u);
    BOOST_TEST(waited.sum_before == 3u);
    BOOST_TEST(!desk.ended().empty());
}

BOOST_AUTO_TEST_CASE(a_contended_lock_remembers_its_last_owners) {
    lock_desk desk;
    place two("two", {.client = 2});
    place three("three", {.client = 3});
    place four("four", {.client = 4});
    place five("five", {.client = 5});
    desk.take("k", "one");
    for (place* const each : {&two, &three, &four, &five}) {
        desk.wait(*each, "k");
    }
    instant now = start;
    for (const auto* const owner : {"one", "two", "three"}) {
        desk.release("k", owner, now = now + 10ms);
    }
    const lock_line* const line = desk.table.line_of(key_of("k"));
    BOOST_REQUIRE((line != nullptr));
    BOOST_TEST(line->hand_offs == 3u);
    BOOST_TEST(line->ended == 3u);
    BOOST_TEST(is_about(line->held, 30ms));
    BOOST_TEST((line->waited == 10ms + 20ms + 30ms));
    // From the third on: most lines are gone before that.
    BOOST_REQUIRE((line->history != nullptr));
    BOOST_TEST(line->history->size() == 1u);
    BOOST_TEST((*line->history)[0].owner() == "three");
    BOOST_TEST(((*line->history)[0].was.waited == 20ms));
    BOOST_TEST(desk.ended() == "two granted, three granted, four granted");
}

BOOST_AUTO_TEST_CASE(what_somebody_looks_at_is_remembered_until_he_looks_away) {
    lock_desk desk;
    auto& table = desk.table;
    table.show(key_of("k"), start + 10s, start);
    BOOST_TEST(table.set(taking("k", "me", 7, start + 1s), start)->stored);
    BOOST_TEST(table.remove(key_of("k"), start + 5ms));
    table.settle(start + 5ms);
    const lock_line* const line = table.line_of(key_of("k"));
    BOOST_REQUIRE((line != nullptr));
    BOOST_REQUIRE((line->history != nullptr));
    const auto& last = (*line->history)[0];
    BOOST_TEST(last.owner() == "me");
    BOOST_TEST(last.was.client == 7u);
    BOOST_TEST((last.was.why == reason::removed));
    BOOST_TEST(is_about(last.was.ended - last.was.granted, 5ms));
    desk.check();
    desk.advance(start + 10s);
    BOOST_TEST((table.line_of(key_of("k")) == nullptr));
}

BOOST_AUTO_TEST_CASE(looking_takes_nothing_from_anybody) {
    lock_desk desk;
    place next("next", {.client = 2});
    desk.take("k", "holder");
    desk.table.show(key_of("k"), start + 10s, start);
    desk.wait(next, "k", start + 1ms);
    desk.table.show(key_of("k"), start + 20s, start + 2ms);
    desk.check();
    desk.release("k", "holder", start + 3ms);
    BOOST_TEST(desk.ended() == "next granted");
    desk.release("k", "next", start + 4ms);
    BOOST_TEST(desk.table.set(taking("k", "poller", 3, start + 1s), start + 5ms)->stored);
    desk.check();
    desk.advance(start + 30s);
}

BOOST_AUTO_TEST_CASE(a_history_keeps_the_last_ones) {
    lock_history history;
    for (uint64_t i = 0; i < 100; ++i) {
        history.add({.fence = i}, std::string(i, 'x'));
    }
    BOOST_TEST(history.size() == lock_history::kept);
    BOOST_TEST(history[0].was.fence == 99u);
    BOOST_TEST(history[lock_history::kept - 1].was.fence == 100 - lock_history::kept);
    BOOST_TEST(history[0].owner().size() == lock_history::owner_bytes);
}

BOOST_AUTO_TEST_CASE(a_long_wait_tells_who_was_in_the_way) {
    lock_desk desk;
    place granted("granted", {.client = 2});
    place late("late", {.client = 3}, start + 2s);
    desk.take("k", "holder", {.client = 1});
    desk.wait(granted, "k");
    desk.wait(late, "k");
    desk.advance(start + 2s);
    desk.release("k", "holder", start + 3s);
    const auto& events = desk.table.slow().events();
    BOOST_REQUIRE(events.size() == 2u);
    BOOST_TEST(events[0].owner == "late");
    BOOST_TEST(events[0].end == "timed_out");
    BOOST_TEST(events[0].other == "holder");
    BOOST_TEST(events[0].other_client == 1u);
    BOOST_TEST((events[0].took == 2s));
    BOOST_TEST(events[1].owner == "granted");
    BOOST_TEST(events[1].end == "granted");
    BOOST_TEST(events[1].other == "holder");
    BOOST_TEST(is_about(events[1].other_took, 3s));
    BOOST_TEST(desk.table.slow().waits() == 2u);
    BOOST_TEST(!desk.ended().empty());
}

BOOST_AUTO_TEST_CASE(a_long_hold_tells_whom_it_kept_waiting) {
    lock_desk desk({}, {.slow = {.wait = 1h, .hold = 1s, .entries = 2}});
    place next("next", {.client = 2});
    desk.take("k", "holder");
    desk.wait(next, "k", start + 100ms);
    desk.release("k", "holder", start + 2s);
    desk.release("k", "next", start + 2s + 999ms);
    const auto& events = desk.table.slow().events();
    BOOST_REQUIRE(events.size() == 1u);
    BOOST_TEST((events[0].what == slow_event::kind::hold));
    BOOST_TEST(events[0].owner == "holder");
    BOOST_TEST(events[0].end == "released");
    BOOST_TEST(events[0].other == "next");
    BOOST_TEST((events[0].other_took == 1'900ms));
    BOOST_TEST(events[0].in_line == 1u);
    BOOST_TEST(!desk.ended().empty());
    for (int i = 0; i < 5; ++i) {
        const auto now = start + 10s * (i + 1);
        desk.take("k", "again", {}, now);
        desk.release("k", "again", now + 2s);
    }
    BOOST_TEST(events.size() == 2u);
    BOOST_TEST(desk.table.slow().holds() == 6u);
}

BOOST_AUTO_TEST_CASE(habits_are_noticed) {
    lock_desk desk;
    auto& table = desk.table;
    const auto seen = [&table](habit what) { return table.habits().count(what); };
    BOOST_TEST(table
                   .set({.key = key_of("for ever"),
                         .value = "me",
                         .condition = set_condition::if_absent,
                         .client = 1},
                        start)
                   ->stored);
    BOOST_TEST(seen(habit::no_ttl) == 1u);

    BOOST_TEST(table.set(taking("k", "me", 1, start + 1s), start)->stored);
    BOOST_TEST(seen(habit::no_ttl) == 1u);
    BOOST_TEST(table.remove(key_of("k"), start, 1));
    BOOST_TEST(seen(habit::blind_delete) == 1u);
    BOOST_TEST(table.set(taking("k", "me", 1, start + 1s), start)->stored);
    BOOST_TEST(table.remove(key_of("k"), start, 2));
    BOOST_TEST(seen(habit::foreign_delete) == 1u);

    const remove_if_request give_back{.key = key_of("k"), .comparand = "me", .client = 1};
    BOOST_TEST((table.remove_if(give_back, start).value() == compare_outcome::absent));
    BOOST_TEST(seen(habit::late_release) == 1u);
    BOOST_TEST((table.release_hold(key_of("k"), "me", start, 1).value() == std::nullopt));
    BOOST_TEST(seen(habit::late_release) == 2u);
}

BOOST_AUTO_TEST_CASE(giving_back_after_a_refusal_is_no_late_release) {
    lock_desk desk;
    auto& table = desk.table;
    BOOST_TEST(table.set(taking("k", "holder", 1, start + 10s), start)->stored);
    BOOST_TEST(!table.set(taking("k", "other", 2, start + 10s), start)->stored);
    const remove_if_request give_back{.key = key_of("k"), .comparand = "other", .client = 2};
    BOOST_TEST((table.remove_if(give_back, start).value() == compare_outcome::refused));
    BOOST_TEST(table.habits().count(habit::late_release) == 0u);
}

BOOST_AUTO_TEST_CASE(a_storm_of_retries_is_one_below_five_milliseconds) {
    for (const auto& [pause, is_storm] : {std::pair{1ms, true}, std::pair{10ms, false}}) {
        lock_desk desk;
        auto& table = desk.table;
        BOOST_TEST(table.set(taking("k", "holder", 1, start + 10s), start)->stored);
        instant now = start;
        for (int i = 0; i < 10; ++i) {
            BOOST_TEST(!table.set(taking("k", "other", 2, start + 10s), now)->stored);
            now = now + pause;
        }
        BOOST_TEST((table.habits().count(habit::retry_storm) > 0) == is_storm);
        desk.latest = now;
    }
}

BOOST_AUTO_TEST_SUITE_END()
