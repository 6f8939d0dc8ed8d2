#include "proxy/scripts/borrowed_keys.hh"

#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::proxy::scripts;
using namespace lockkeeper::shards;

namespace {

/// Two tables stand for two cores.
struct two_cores {
    world near;
    world far;
    borrowed_keys borrowed{0, near.hasher};

    world& home(std::string_view name) { return name.starts_with("far") ? far : near; }

    void borrow(const words& names) {
        for (const auto name : names) {
            borrowed.add(image_of(home(name).table, near.key(name), near.now), near.now);
        }
    }
    /// Runs a script on what was borrowed and brings it back. Tells the changes.
    std::string run_borrowed(std::string_view sha, const words& keys, const words& arguments) {
        effects out;
        const auto done = run({.script = script_with(sha),
                               .keys = keys,
                               .arguments = arguments,
                               .database = 0,
                               .hasher = near.hasher,
                               .table = borrowed.table(),
                               .now = near.now,
                               .wall_ms = near.wall_ms,
                               .out = out});
        BOOST_TEST_REQUIRE(done.has_value());
        std::string changed;
        for (const auto& change : borrowed.changes(out.signalled, near.now)) {
            changed += change.after.name + " ";
            auto& table = home(change.after.name).table;
            BOOST_TEST(
                restore(table, near.key(change.after.name), change.after, near.now).has_value());
        }
        return changed;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(scripts_borrowed_keys, two_cores)

BOOST_AUTO_TEST_CASE(keys_of_two_cores_are_taken_together) {
    borrow({"a", "far b"});
    BOOST_TEST(run_borrowed("96da70f7", {"a", "far b"}, {"me", "1000"}) == "a far b ");
    BOOST_TEST(near.get("a") == "me");
    BOOST_TEST(far.get("far b") == "me");
    BOOST_TEST(far.left("far b") == 1000);
    BOOST_TEST(!near.exists("far b"));
}

BOOST_AUTO_TEST_CASE(what_did_not_change_is_not_brought_back) {
    far.set("far b", "you");
    borrow({"a", "far b"});
    BOOST_TEST(run_borrowed("96da70f7", {"a", "far b"}, {"me", "1000"}) == "");
    BOOST_TEST(!near.exists("a"));
}

BOOST_AUTO_TEST_CASE(only_keys_that_match_are_released) {
    near.set("a", "me");
    far.set("far b", "you");
    far.set("far c", "me", 100);
    borrow({"a", "far b", "far c"});
    BOOST_TEST(run_borrowed("e4612211", {"a", "far b", "far c"}, {"me"}) == "a far c ");
    BOOST_TEST(!near.exists("a"));
    BOOST_TEST(far.get("far b") == "you");
    BOOST_TEST(!far.exists("far c"));
}

BOOST_AUTO_TEST_CASE(a_hash_comes_back_whole) {
    near.set_hash("k", "me", "2", 1000);
    near.set_hash("k", "other field", "x");
    borrow({"k", "far latch"});
    BOOST_TEST(run_borrowed("68664592", {"k", "ch", "far latch"},
                            {"0", "3000", "me", "PUBLISH", "500"}) == "k far latch ");
    BOOST_TEST(near.field("k", "me") == "1");
    BOOST_TEST(near.field("k", "other field") == "x");
    BOOST_TEST(near.left("k") == 3000);
    BOOST_TEST(far.get("far latch") == "0");
    BOOST_TEST(far.left("far latch") == 500);
}

BOOST_AUTO_TEST_CASE(a_signal_replaces_the_list_on_its_core) {
    near.set("k", "me");
    far.set_list("far s");
    far.set_list("far s");
    borrow({"k", "far s"});
    BOOST_TEST(run_borrowed("90da9187", {"k", "far s"}, {"me", "700"}) == "k far s ");
    BOOST_TEST(!near.exists("k"));
    BOOST_TEST(far.table.list_length(far.key("far s"), far.now).value() == 1u);
    BOOST_TEST(far.table.list_pop(far.key("far s"), list_end::front, far.now).value().value() ==
               "1");
}

BOOST_AUTO_TEST_CASE(a_list_that_only_gets_an_expiry_keeps_its_elements) {
    near.set("k", "x", 50);
    far.set_list("far s");
    far.set_list("far s");
    borrow({"k", "far s"});
    BOOST_TEST(run_borrowed("3fd750e0", {"k", "far s"}, {"700", ""}) == "k far s ");
    BOOST_TEST(near.left("k") == 700);
    BOOST_TEST(far.left("far s") == 700);
    BOOST_TEST(far.table.list_length(far.key("far s"), far.now).value() == 2u);
}

BOOST_AUTO_TEST_CASE(an_expiry_that_was_removed_stays_removed) {
    near.set("k", "x", 50);
    far.set_hash("far h", "f", "v", 50);
    borrow({"k", "far h", "k"});
    BOOST_TEST(run_borrowed("3e87b23a", {"k", "far h"}, {}) == "k far h ");
    BOOST_TEST(near.left("k") == -1);
    BOOST_TEST(far.left("far h") == -1);
    BOOST_TEST(far.field("far h", "f") == "v");
}

BOOST_AUTO_TEST_CASE(a_full_table_takes_no_new_key_and_takes_the_old_one_again) {
    far.table.~lock_table();
    new (&far.table) lock_table({.keys_max = 1});
    far.set_hash("far h", "f", "v", 50);
    const auto before = image_of(far.table, far.key("far h"), far.now);
    auto other = before;
    other.name = "far g";
    BOOST_TEST((restore(far.table, far.key("far g"), other, far.now).error() ==
                lock_error::too_many_locks));
    BOOST_TEST(restore(far.table, far.key("far h"), before, far.now).has_value());
    BOOST_TEST(far.field("far h", "f") == "v");
    BOOST_TEST(far.left("far h") == 50);
}

BOOST_AUTO_TEST_SUITE_END()
