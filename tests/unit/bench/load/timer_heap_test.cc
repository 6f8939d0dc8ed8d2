#include "bench/load/timer_heap.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "bench/load/random.hh"

using namespace lockkeeper::bench;
using namespace std::chrono_literals;

namespace {

constexpr moment at(int second) {
    return moment(std::chrono::seconds(second));
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_due_when_nothing_is_set) {
    timer_heap timers(3);
    BOOST_TEST(!timers.next());
    BOOST_TEST(!timers.take_due(at(1'000'000)));
}

BOOST_AUTO_TEST_CASE(alarms_come_in_order_and_not_before_their_time) {
    timer_heap timers(3);
    timers.set(0, at(30));
    timers.set(1, at(10));
    timers.set(2, at(20));
    BOOST_TEST((timers.next() == at(10)));
    BOOST_TEST(!timers.take_due(at(9)));
    BOOST_TEST((timers.take_due(at(20)) == 1u));
    BOOST_TEST((timers.take_due(at(20)) == 2u));
    BOOST_TEST(!timers.take_due(at(20)));
    BOOST_TEST((timers.take_due(at(30)) == 0u));
    BOOST_TEST(!timers.next());
}

BOOST_AUTO_TEST_CASE(setting_again_moves_an_alarm) {
    timer_heap timers(2);
    timers.set(0, at(10));
    timers.set(1, at(20));
    timers.set(0, at(30));
    BOOST_TEST((timers.take_due(at(100)) == 1u));
    BOOST_TEST((timers.take_due(at(100)) == 0u));
    BOOST_TEST(!timers.take_due(at(100)));
}

BOOST_AUTO_TEST_CASE(a_cancelled_alarm_does_not_come) {
    timer_heap timers(2);
    timers.set(0, at(10));
    timers.set(1, at(20));
    timers.cancel(0);
    timers.cancel(0);
    BOOST_TEST((timers.take_due(at(100)) == 1u));
    BOOST_TEST(!timers.next());
}

BOOST_AUTO_TEST_CASE(many_random_changes_keep_the_order) {
    constexpr std::uint32_t sleepers = 40;
    random_source random(23);
    timer_heap timers(sleepers);
    std::map<std::uint32_t, moment> expected;
    for (int step = 0; step != 20'000; ++step) {
        const auto sleeper = static_cast<std::uint32_t>(random.below(sleepers));
        switch (random.below(4)) {
            case 0:
                timers.cancel(sleeper);
                expected.erase(sleeper);
                break;
            case 1:
                if (const auto due = timers.take_due(at(500))) {
                    const auto first = std::ranges::min_element(
                        expected, {}, [](const auto& one) { return one.second; });
                    BOOST_REQUIRE((first->second <= at(500)));
                    BOOST_REQUIRE((expected.at(*due) == first->second));
                    expected.erase(*due);
                } else {
                    BOOST_REQUIRE(std::ranges::none_of(
                        expected, [](const auto& one) { return one.second <= at(500); }));
                }
                break;
            default:
                expected[sleeper] = at(static_cast<int>(random.below(1000)));
                timers.set(sleeper, expected[sleeper]);
        }
    }
}
