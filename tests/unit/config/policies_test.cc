#include "config/policies.hh"

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "config/load.hh"

using namespace lockkeeper::config;

namespace {

std::string mistake_in(std::string_view text) {
    const auto loaded = parse(text, "f.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded.error().size(), 1u);
    return loaded.error().front().show();
}

std::string mistake_in_policy(std::string_view inside) {
    return mistake_in("policies:\n  - keys: 'a*'\n    " + std::string(inside) + "\n");
}

/// The policies of the example file, without the marks that make them comments.
std::string example() {
    std::ifstream file(LOCKKEEPER_EXAMPLE_CONFIG);
    std::string text;
    for (std::string line; std::getline(file, line) && (text.empty() || line.starts_with("#"));) {
        if (!text.empty() || line == "# policies:") {
            text += line.substr(2) + "\n";
        }
    }
    return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_policies_there_are_none) {
    BOOST_TEST(parse("", "f")->policies.empty());
}

BOOST_AUTO_TEST_CASE(policies_are_read_in_their_order) {
    const auto loaded = parse(
        "policies:\n"
        "  - keys: [report:*, 'export:*']\n"
        "    pollers: park\n"
        "    park: 200ms\n"
        "    starvation_after: 5s\n"
        "    renew: true\n"
        "    max_hold: 0\n"
        "    grace: 0\n"
        "    lock_delay: 15s\n"
        "    max_waiters: 7\n"
        "    deadlocks: refuse\n"
        "    store: token\n"
        "  - pollers: reserve\n"
        "    keys: '*'\n",
        "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded->policies.size(), 2u);
    const policy_options& first = loaded->policies[0];
    BOOST_TEST((first.keys == std::vector<std::string>{"report:*", "export:*"}));
    BOOST_TEST((first.pollers == poller_rule::park));
    BOOST_TEST(first.park.count() == 200);
    BOOST_TEST(first.starvation_after.count() == 5'000);
    BOOST_TEST(first.renew);
    BOOST_TEST(first.max_hold.count() == 0);
    BOOST_TEST(first.grace.count() == 0);
    BOOST_TEST(first.lock_delay.count() == 15'000);
    BOOST_TEST(first.max_waiters == 7u);
    BOOST_TEST((first.deadlocks == deadlock_rule::refuse));
    BOOST_TEST((first.store == store_rule::token));
    const policy_options& second = loaded->policies[1];
    BOOST_TEST((second.keys == std::vector<std::string>{"*"}));
    BOOST_TEST((second.pollers == poller_rule::reserve));
    BOOST_TEST(second.max_waiters == policy_options{}.max_waiters);
}

BOOST_AUTO_TEST_CASE(what_is_printed_reads_back_as_the_same_policies) {
    const auto loaded = parse(
        "policies:\n"
        "  - {keys: [\"it's\", \"a\\nb\", 'x\\*'], pollers: park, park: 1ms, renew: true}\n"
        "  - {keys: '*', max_hold: 24h, deadlocks: refuse}\n",
        "f");
    BOOST_REQUIRE(loaded.has_value());
    const std::string text = to_yaml(*loaded);
    const auto again = parse(text, "f");
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(to_yaml(*again) == text);
    BOOST_TEST((again->policies[0].keys == std::vector<std::string>{"it's", "a\nb", "x\\*"}));
    BOOST_TEST(text.find("  - keys:\n      - '*'\n    pollers: auto\n    park: 50ms\n") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_example_file_shows_every_rule_with_its_default) {
    const std::string text = example();
    for (const std::string_view word : policy_words()) {
        BOOST_TEST(text.find("\n    " + std::string(word) + ": ") != std::string::npos, word);
    }
    const auto loaded = parse(text, "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded->policies.size(), 1u);
    policy_options defaults;
    defaults.keys = loaded->policies[0].keys;
    BOOST_TEST(show_policies(loaded->policies) == show_policies({defaults}));
}

BOOST_AUTO_TEST_CASE(a_rule_out_of_bounds_says_which_are_accepted) {
    BOOST_TEST(mistake_in_policy("park: 11s\n    pollers: park") ==
               "f.yaml:3:11: 'park': 11s is not between 1ms and 10s (accepted: 1ms to 10s)");
    BOOST_TEST(mistake_in_policy("max_hold: 25h") ==
               "f.yaml:3:15: 'max_hold': 25h is not between 0 and 24h (accepted: 0 to 24h)");
    BOOST_TEST(mistake_in_policy("grace: 1") ==
               "f.yaml:3:12: 'grace': '1' needs a unit, as in 250ms, 10s, 5m or 1h (accepted: 0 to "
               "1h)");
    BOOST_TEST(mistake_in_policy("max_waiters: 0") ==
               "f.yaml:3:18: 'max_waiters': 0 is not between 1 and 1000000 (accepted: 1 to "
               "1000000)");
    BOOST_TEST(mistake_in_policy("max_waiters: many") ==
               "f.yaml:3:18: 'max_waiters': 'many' is not a whole number (accepted: 1 to 1000000)");
}

BOOST_AUTO_TEST_CASE(a_word_that_is_no_choice_lists_the_choices) {
    BOOST_TEST(mistake_in_policy("pollers: queue") ==
               "f.yaml:3:14: 'pollers': 'queue' is not one of them (accepted: auto, barge, "
               "reserve or park)");
    BOOST_TEST(mistake_in_policy("renew: yes") ==
               "f.yaml:3:12: 'renew': 'yes' is not one of them (accepted: true or false)");
    BOOST_TEST(mistake_in_policy("deadlocks: [refuse]") ==
               "f.yaml:3:5: 'deadlocks' needs one value: report or refuse");
}

BOOST_AUTO_TEST_CASE(an_unknown_rule_is_named_with_the_nearest_known_one) {
    BOOST_TEST(mistake_in_policy("poller: park") ==
               "f.yaml:3:5: unknown option 'poller' in a policy; did you mean 'pollers'?");
    BOOST_TEST(
        mistake_in_policy("xyzzy: 1") ==
        "f.yaml:3:5: unknown option 'xyzzy' in a policy; known here: keys, pollers, park, "
        "starvation_after, renew, max_hold, grace, lock_delay, max_waiters, deadlocks, store");
}

BOOST_AUTO_TEST_CASE(a_rule_given_twice_is_a_mistake) {
    BOOST_TEST(mistake_in_policy("grace: 1s\n    grace: 2s") ==
               "f.yaml:4:5: 'grace' is given twice");
    BOOST_TEST(mistake_in_policy("keys: b") == "f.yaml:3:5: 'keys' is given twice");
}

BOOST_AUTO_TEST_CASE(a_pattern_that_can_never_decide_is_a_mistake) {
    BOOST_TEST(mistake_in("policies:\n  - {keys: '*', grace: 0}\n  - {keys: [a], grace: 1s}\n") ==
               "f.yaml:3:13: 'a' never decides: '*' above it is for every key; put '*' last");
    BOOST_TEST(mistake_in("policies:\n  - {keys: [a, b]}\n  - {keys: [c, b]}\n") ==
               "f.yaml:3:16: 'b' is given twice: the first policy of a key decides");
    BOOST_TEST(mistake_in("policies:\n  - {keys: [a, a]}\n") ==
               "f.yaml:2:16: 'a' is given twice: the first policy of a key decides");
}

BOOST_AUTO_TEST_CASE(a_time_to_park_is_good_with_the_default_rule) {
    const auto loaded = parse("policies: [{keys: a, park: 100ms}]", "f.yaml");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST((loaded->policies[0].pollers == poller_rule::adaptive));
    BOOST_TEST(loaded->policies[0].park.count() == 100);
}

BOOST_AUTO_TEST_CASE(policies_of_another_shape_are_refused) {
    BOOST_TEST(mistake_in("policies: park\n") ==
               "f.yaml:1:11: 'policies' is a list; each entry needs keys and what holds for them, "
               "as in {keys: 'report:*', pollers: reserve}");
    BOOST_TEST(mistake_in("policies:\n  - pollers: park\n") ==
               "f.yaml:2:5: a policy needs keys and what holds for them, as in {keys: 'report:*', "
               "pollers: reserve}");
    BOOST_TEST(mistake_in("policies:\n  - keys: []\n") ==
               "f.yaml:2:11: 'keys' needs a pattern or a list of them, as in ['report:*']");
    BOOST_TEST(mistake_in("policies:\n  - keys: ['']\n") ==
               "f.yaml:2:12: a pattern of 'keys' is text of 1 to 256 bytes");
    for (const char* text :
         {"policies:", "policies: []", "policies: {keys: a}", "policies: [a]", "policies: [[a]]",
          "policies: [{keys: {a: b}}]", "policies: [{keys: }]", "policies: [{keys: [[a]]}]",
          "policies: [{keys: a, ? [b] : c}]"}) {
        BOOST_TEST(!parse(text, "f").has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(patterns_have_a_longest_length) {
    const auto with = [](size_t bytes) {
        return parse("policies: [{keys: " + std::string(bytes, 'a') + "}]", "f").has_value();
    };
    BOOST_TEST(with(256));
    BOOST_TEST(!with(257));
}

BOOST_AUTO_TEST_CASE(patterns_of_all_policies_are_counted) {
    const auto with = [](size_t patterns) {
        std::string text = "policies:\n  - keys: [first]\n  - keys: [a1";
        for (size_t i = 2; i < patterns; ++i) {
            text += ", a" + std::to_string(i);
        }
        return text + "]\n";
    };
    BOOST_TEST(parse(with(256), "f").has_value());
    BOOST_TEST(mistake_in(with(257)) ==
               "f.yaml:2:3: 257 patterns in all policies, at most 256: a key is held against one "
               "after the other; use wider ones");
}

BOOST_AUTO_TEST_CASE(the_embedded_store_is_read) {
    const auto loaded = parse("embedded: {state: '/var/lib/a b', start_delay: 30s}\n", "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->embedded.state == "/var/lib/a b");
    BOOST_TEST(loaded->embedded.start_delay.count() == 30'000);
    BOOST_TEST(parse(to_yaml(*loaded), "f")->embedded.state == "/var/lib/a b");
    BOOST_TEST(mistake_in("embedded: {start_delay: 25h}\n") ==
               "f.yaml:1:25: 'start_delay': 25h is not between 0 and 24h (accepted: 0 to 24h)");
}

BOOST_AUTO_TEST_CASE(the_embedded_store_beside_masters_is_a_mistake) {
    const std::string stripes = "stripes: [{name: a, masters: [redis://h]}]\n";
    BOOST_TEST(mistake_in(stripes + "embedded: {state: /x}\n") ==
               "f.yaml:2:1: 'embedded' has no effect with 'stripes': the masters remember locks "
               "and fences then");
    BOOST_TEST(parse(stripes + "embedded: {state: '', start_delay: 0}\n", "f").has_value());
}

BOOST_AUTO_TEST_CASE(limits_of_locks_and_queues_are_read) {
    const auto loaded =
        parse("limits: {key_bytes: 64B, locks: 1, waiters: 100000000, queues: 5, wait: 0}\n", "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->limits.key_bytes == 64u);
    BOOST_TEST(loaded->limits.locks == 1u);
    BOOST_TEST(loaded->limits.waiters == 100'000'000u);
    BOOST_TEST(loaded->limits.queues == 5u);
    BOOST_TEST(loaded->limits.wait.count() == 0);
    BOOST_TEST(mistake_in("limits: {waiters: 0}\n") ==
               "f.yaml:1:19: 'waiters': 0 is not between 1 and 100000000 (accepted: 1 to "
               "100000000)");
    BOOST_TEST(!parse("limits: {key_bytes: 65KiB}", "f").has_value());
    BOOST_TEST(!parse("limits: {wait: 3600}", "f").has_value());
}
