#include "shards/core/link_watch.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr instant start = start_of_time + 1000s;
constexpr link_rules rules;

}  // namespace

BOOST_AUTO_TEST_CASE(the_caller_gives_a_sign_each_second) {
    link_watch caller(rules, start);
    BOOST_TEST(!caller.sign(start + 500ms));
    BOOST_TEST((caller.sign(start + 1s) == 1u));
    BOOST_TEST(!caller.sign(start + 1500ms));
    BOOST_TEST((caller.sign(start + 2s) == 2u));
}

BOOST_AUTO_TEST_CASE(who_is_silent_at_two_looks_is_gone) {
    link_watch callee(rules, start);
    callee.heard(start + 1s);
    BOOST_TEST(!callee.is_gone(start + 3900ms));
    BOOST_TEST(!callee.is_gone(start + 4s));
    BOOST_TEST(callee.is_gone(start + 4500ms));
}

BOOST_AUTO_TEST_CASE(what_is_heard_between_two_looks_counts) {
    link_watch callee(rules, start);
    BOOST_TEST(!callee.is_gone(start + 10s));  // it was us who stood still
    callee.heard(start + 10s);
    BOOST_TEST(!callee.is_gone(start + 10500ms));
}

BOOST_AUTO_TEST_CASE(for_the_caller_the_time_counts_at_which_it_gave_the_sign) {
    link_watch caller(rules, start);
    BOOST_TEST((caller.sign(start + 1s) == 1u));
    BOOST_TEST((caller.sign(start + 2s) == 2u));
    caller.echoed(1);  // at any time, and not a word more
    BOOST_TEST(!caller.is_gone(start + 3900ms));
    BOOST_TEST(!caller.is_gone(start + 4s));
    BOOST_TEST(caller.is_gone(start + 4500ms));
}

BOOST_AUTO_TEST_CASE(numbers_that_were_never_given_prove_nothing) {
    link_watch caller(rules, start);
    caller.echoed(0);
    caller.echoed(7);
    BOOST_TEST(!caller.is_gone(start + 3s));
    BOOST_TEST(caller.is_gone(start + 3s));
}

BOOST_AUTO_TEST_CASE(an_old_number_does_not_undo_a_newer_one) {
    link_watch caller(rules, start);
    BOOST_TEST((caller.sign(start + 1s) == 1u));
    BOOST_TEST((caller.sign(start + 2s) == 2u));
    caller.echoed(2);
    caller.echoed(1);
    BOOST_TEST(!caller.is_gone(start + 4900ms));
    BOOST_TEST(!caller.is_gone(start + 4900ms));
}

BOOST_AUTO_TEST_CASE(locks_outlive_the_time_in_which_both_ends_see_the_break) {
    BOOST_TEST((rules.grace() > rules.seen_within()));
    BOOST_TEST((rules.seen_within() >= rules.silence + 2 * rules.watch_period));
}
