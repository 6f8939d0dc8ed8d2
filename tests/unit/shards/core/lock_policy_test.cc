#include "shards/core/lock_policy.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(the_first_pattern_that_matches_decides) {
    const policy_book book({{"order:*:fast", {.grace = 1ms}},
                            {"order:*", {.grace = 2ms}},
                            {"order:1", {.grace = 3ms}}});
    BOOST_TEST((book.of("order:1:fast").grace == 1ms));
    BOOST_TEST((book.of("order:1").grace == 2ms));
    BOOST_TEST((book.of("other").grace == lock_policy().grace));
}

BOOST_AUTO_TEST_CASE(a_book_knows_whether_it_ever_has_to_be_asked) {
    const policy_book none;
    BOOST_TEST(!none.any_renews());
    BOOST_TEST(!none.any_delays());
    BOOST_TEST(!none.any_parks());
    BOOST_TEST(policy_book({{"a", {.renew = true}}}).any_renews());
    BOOST_TEST(policy_book({{"a", {.lock_delay = 1ms}}}).any_delays());
    BOOST_TEST(policy_book({{"a", {.pollers = poller_rule::park}}}).any_parks());
}
