#include "proxy/idle_core.hh"
#include <boost/test/unit_test.hpp>

namespace {

using namespace std::chrono_literals;
using lockkeeper::proxy::giving_way;
using lockkeeper::proxy::short_sleeps;
using clock_point = short_sleeps::clock::time_point;

clock_point now;

/// Sleeps for so long; tells whether the core looks for work again before its next sleep.
bool looks_after(short_sleeps& core, std::chrono::nanoseconds length) {
    BOOST_REQUIRE(core.try_enter_interrupt_mode());
    now += length;
    core.exit_interrupt_mode();
    BOOST_CHECK_EQUAL(core.pure_poll(), core.pure_poll());
    return core.poll();
}

short_sleeps looking_for(std::chrono::nanoseconds time) {
    return short_sleeps(time, [] { return now; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_core_that_was_woken_soon_looks_for_work_again) {
    auto core = looking_for(200us);
    BOOST_CHECK(looks_after(core, 199us));
    BOOST_CHECK(looks_after(core, 0us));
}

BOOST_AUTO_TEST_CASE(one_that_slept_for_longer_than_it_looks_sleeps_on) {
    auto core = looking_for(200us);
    BOOST_CHECK(!looks_after(core, 200us));
    BOOST_CHECK(!looks_after(core, 1s));
}

BOOST_AUTO_TEST_CASE(a_short_sleep_counts_once) {
    auto core = looking_for(200us);
    BOOST_CHECK(looks_after(core, 10us));
    BOOST_CHECK(!core.poll());
    BOOST_CHECK(!core.pure_poll());
}

BOOST_AUTO_TEST_CASE(to_ask_whether_there_is_work_does_not_take_it) {
    auto core = looking_for(200us);
    core.try_enter_interrupt_mode();
    core.exit_interrupt_mode();
    BOOST_CHECK(core.pure_poll());
    BOOST_CHECK(core.pure_poll());
    BOOST_CHECK(core.poll());
}

BOOST_AUTO_TEST_CASE(a_core_gives_way_as_long_as_it_has_its_cpu_back_soon) {
    giving_way way;
    const clock_point began{10s};
    BOOST_CHECK(way.is_due(began));
    way.gave_way(began, began + giving_way::too_long);
    BOOST_CHECK(way.is_due(began + giving_way::too_long));
}

BOOST_AUTO_TEST_CASE(it_does_not_for_a_while_after_somebody_kept_the_cpu) {
    giving_way way;
    const clock_point began{10s};
    const auto ended = began + giving_way::too_long + 1us;
    way.gave_way(began, ended);
    BOOST_CHECK(!way.is_due(ended));
    BOOST_CHECK(!way.is_due(ended + giving_way::pause - 1us));
    BOOST_CHECK(way.is_due(ended + giving_way::pause));
}
