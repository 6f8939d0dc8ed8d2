#include <boost/test/unit_test.hpp>
#include <chrono>

#include "support.hh"

/// Who asks by a script is remembered and served like anybody else who asks again and again.
using namespace lockkeeper;
using namespace lockkeeper::proxy::scripts;
using namespace std::chrono_literals;

namespace {

/// Each takes or tries the lock `k` in its own way.
struct way {
    const char* sha;
    words arguments;
};

struct library {
    const char* name;
    way try_as_one;
    way try_as_other;
    const char* won;
};

const library libraries[] = {
    {"node-redlock 3", {"862f31bf", {"one", "30000"}}, {"862f31bf", {"other", "30000"}}, "+OK"},
    {"node-redlock 5", {"96da70f7", {"one", "30000"}}, {"96da70f7", {"other", "30000"}}, ":1"},
    {"redlock-rb",
     {"ceb2b206", {"one", "30000", "yes"}},
     {"ceb2b206", {"other", "30000", "yes"}},
     "+OK"},
    {"bsm/redislock",
     {"eb0c00d9", {"one", "3", "30000"}},
     {"eb0c00d9", {"other", "5", "30000"}},
     "+OK"},
    {"Redisson", {"149c5a8b", {"30000", "one"}}, {"149c5a8b", {"30000", "other"}}, "nil"},
};

struct polled_world : world {
    explicit polled_world(shards::lock_policy policy)
        : world(shards::policy_book({{.pattern = "*", .policy = policy}})) {}

    std::string ask(uint64_t by, const way& how) {
        client = by;
        auto reply = eval(how.sha, {"k"}, how.arguments);
        table.settle(now);
        return reply;
    }
    size_t seats() {
        const auto* const line = table.line_of(key("k"));
        return line != nullptr ? line->polling.size() : 0;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_script_that_was_refused_leaves_a_seat) {
    for (const library& one : libraries) {
        BOOST_TEST_CONTEXT(one.name) {
            polled_world here{{}};
            BOOST_TEST(here.ask(1, one.try_as_one) == one.won);
            BOOST_TEST(here.seats() == 0u);
            BOOST_TEST(here.ask(2, one.try_as_other) != one.won);
            BOOST_TEST(here.seats() == 1u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_kept_for_one_who_polls_is_refused_to_the_others) {
    for (const library& one : libraries) {
        BOOST_TEST_CONTEXT(one.name) {
            polled_world here{{.pollers = shards::poller_rule::reserve}};
            BOOST_TEST(here.ask(1, one.try_as_one) == one.won);
            for (int i = 0; i < 3; ++i) {
                here.ask(2, one.try_as_other);
                here.pass(10);
            }
            here.remove("k");
            here.table.settle(here.now);
            BOOST_TEST(here.ask(1, one.try_as_one) != one.won);
            BOOST_TEST(!here.exists("k"));
            BOOST_TEST(here.ask(2, one.try_as_other) == one.won);
            BOOST_TEST(here.exists("k"));
        }
    }
}

// Whoever is woken by a release and then refused sleeps again: if the lock were kept for another
// one that sleeps, all would sleep beside a free lock.
BOOST_AUTO_TEST_CASE(a_lock_whose_release_wakes_sleepers_is_kept_for_nobody) {
    struct {
        const char* name;
        way try_as_one;
        way try_as_other;
        const char* release;
        words keys;
        words arguments;
        const char* released;
        const char* won;
    } const kinds[] = {
        {"Redisson",
         {"149c5a8b", {"30000", "one"}},
         {"149c5a8b", {"30000", "other"}},
         "68664592",
         {"k", "channel", "latch"},
         {"0", "30000", "one", "PUBLISH", "5000"},
         ":1",
         "nil"},
        {"python-redis-lock",
         {"862f31bf", {"one", "30000"}},
         {"862f31bf", {"other", "30000"}},
         "90da9187",
         {"k", "signal"},
         {"one", "1000"},
         ":0",
         "+OK"},
        {"a release that nobody is told of",
         {"862f31bf", {"one", "30000"}},
         {"862f31bf", {"other", "30000"}},
         "b70c2384",
         {"k"},
         {"one"},
         ":1",
         "nil"},
    };
    for (const auto& one : kinds) {
        BOOST_TEST_CONTEXT(one.name) {
            polled_world here{{}};
            here.ask(1, one.try_as_one);
            for (int i = 0; i < 20; ++i) {
                here.ask(2, one.try_as_other);
                here.pass(100);
            }
            here.client = 1;
            BOOST_TEST(here.eval(one.release, one.keys, one.arguments) == one.released);
            here.table.settle(here.now);
            BOOST_TEST(here.ask(3, one.try_as_one) == one.won);
        }
    }
}

BOOST_AUTO_TEST_CASE(who_is_refused_a_lock_that_is_kept_is_told_when_to_come_back) {
    polled_world here{{.pollers = shards::poller_rule::reserve}};
    here.set_hash("k", "somebody", "1", 60'000);
    for (int i = 0; i < 3; ++i) {
        here.ask(2, {"149c5a8b", {"30000", "other"}});
        here.pass(10);
    }
    here.remove("k");
    here.table.settle(here.now);
    // Twice its pause of 10 ms.
    BOOST_TEST(here.ask(1, {"149c5a8b", {"30000", "one"}}) == ":20");
    here.pass(1'000);  // the other one has gone
    here.table.advance(here.now);
    BOOST_TEST(here.ask(1, {"149c5a8b", {"30000", "one"}}) == "nil");
}
