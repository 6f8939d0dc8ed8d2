#include "shards/core/forwarding.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using step = forward_step;
using next = forward_journey::next;
using rule = forward_journey::if_unknown;

BOOST_AUTO_TEST_CASE(what_is_here_is_done_here_whoever_asks) {
    for (const auto route : {order_route::here, order_route::to_home, order_route::as_home}) {
        BOOST_TEST((next_step(route, {.is_here = true, .has_home = true}) == step::do_here));
    }
}

BOOST_AUTO_TEST_CASE(a_client_of_ours_is_sent_to_the_home_or_we_find_out) {
    BOOST_TEST((next_step(order_route::to_home, {.has_home = true}) == step::send));
    BOOST_TEST((next_step(order_route::to_home, {}) == step::find_out));
    BOOST_TEST((next_step(order_route::to_home, {.is_coming = true}) == step::find_out));
}

BOOST_AUTO_TEST_CASE(what_came_over_a_link_is_done_here_or_not_at_all) {
    BOOST_TEST((next_step(order_route::as_home, {.has_home = true}) == step::say_not_home));
    BOOST_TEST((next_step(order_route::as_home, {}) == step::say_not_home));
    BOOST_TEST((next_step(order_route::as_home, {.is_coming = true}) == step::wait));
}

BOOST_AUTO_TEST_CASE(who_may_not_be_sent_on_is_not_even_if_a_home_is_known) {
    BOOST_TEST((next_step(order_route::here, {.has_home = true}) == step::do_here));
}

BOOST_AUTO_TEST_CASE(a_journey_ends_at_the_masters_after_three_troubles_in_a_row) {
    forward_journey way(rule::ask_again);
    BOOST_TEST((way.route() == order_route::to_home));
    BOOST_TEST((way.on_trouble(forward_trouble::not_home) == next::look_again));
    BOOST_TEST((way.on_trouble(forward_trouble::unknown) == next::look_again));
    BOOST_TEST((way.route() == order_route::to_home));
    BOOST_TEST((way.on_trouble(forward_trouble::not_sent) == next::do_here));
    BOOST_TEST((way.route() == order_route::here));
}

BOOST_AUTO_TEST_CASE(a_line_that_moves_on_is_no_trouble) {
    forward_journey way(rule::ask_again);
    for (int i = 0; i < 3; ++i) {
        way.on_trouble(forward_trouble::not_home);
    }
    way.on_moved();
    BOOST_TEST((way.route() == order_route::to_home));
    BOOST_TEST((way.on_trouble(forward_trouble::not_home) == next::look_again));
}

BOOST_AUTO_TEST_CASE(what_may_have_been_done_is_not_asked_for_again) {
    forward_journey way(rule::tell);
    BOOST_TEST((way.on_trouble(forward_trouble::not_home) == next::look_again));
    BOOST_TEST((way.on_trouble(forward_trouble::unknown) == next::tell_unknown));
}

BOOST_AUTO_TEST_CASE(one_attempt_may_be_enough) {
    BOOST_TEST(
        (forward_journey(rule::tell, 1).on_trouble(forward_trouble::not_sent) == next::do_here));
}
