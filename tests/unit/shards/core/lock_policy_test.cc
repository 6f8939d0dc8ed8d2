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

BOOST_AUTO_TEST_CASE(a_book_that_is_replaced_has_another_edition_and_remembers_the_longest_grace) {
    policy_book book({{"a", {.grace = 7s}}});
    const remembered_policy of_a(book, "a");
    BOOST_TEST((of_a.of("a").grace == 7s));
    book.replace(policy_book({{"a", {.grace = 2s}}}));
    BOOST_TEST(book.edition() == 1U);
    BOOST_TEST((of_a.of("a").grace == 2s));
    BOOST_TEST((book.longest_grace() == 7s));
    book.replace(policy_book({{"a", {.renew = true}}}));
    BOOST_TEST(book.any_renews());
    BOOST_TEST(book.edition() == 2U);
    BOOST_TEST((of_a.of("a").grace == lock_policy().grace));
}

BOOST_AUTO_TEST_CASE(a_book_remembers_that_there_may_be_renewed_locks) {
    policy_book book;
    BOOST_TEST(!book.has_renewed());
    book.replace(policy_book({{"a", {.renew = true}}}));
    book.replace(policy_book());
    BOOST_TEST(!book.any_renews());
    BOOST_TEST(book.has_renewed());
}
