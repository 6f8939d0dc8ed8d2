#include "shards/core/clock_watch.hh"

#include <boost/test/unit_test.hpp>
#include <random>

#include "fleet_support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

/// A master's clock.
struct other_clock {
    std::chrono::microseconds offset = 1'760'000'000s;
    double rate = 1;

    std::chrono::microseconds shows(instant when) const {
        const double passed = static_cast<double>((when - start).count()) * rate;
        return offset + std::chrono::microseconds(static_cast<int64_t>(passed / 1'000));
    }
    /// Asked at `sent`, read after `there`, answered after `round_trip`.
    clock_watch::sample sample(instant sent, std::chrono::nanoseconds there,
                               std::chrono::nanoseconds round_trip) const {
        return {.sent = sent, .received = sent + round_trip, .unix_time = shows(sent + there)};
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_steady_clock_of_another_rate_is_trusted) {
    for (const double rate : {0.9901, 1.0, 1.0099}) {
        std::mt19937_64 random(3);
        other_clock clock{.rate = rate};
        clock_watch watch;
        for (int second = 0; second < 1'000; ++second) {
            const auto round_trip = std::chrono::microseconds(100 + random() % 400'000);
            const auto there = round_trip * (random() % 101) / 100;
            BOOST_REQUIRE(!watch.on_sample(clock.sample(after(second * 1s), there, round_trip)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_step_in_either_direction_is_seen_with_the_next_sample) {
    for (const auto step : {20'000us, -20'000us, 3'600'000'000us, -3'600'000'000us}) {
        other_clock clock;
        clock_watch watch;
        watch.on_sample(clock.sample(start, 50us, 100us));
        clock.offset += step;
        BOOST_TEST(watch.on_sample(clock.sample(after(1s), 50us, 100us)));
        BOOST_TEST((watch.step() > 0ns) == (step > 0us));
        BOOST_TEST(!watch.on_sample(clock.sample(after(2s), 50us, 100us)));
    }
}

BOOST_AUTO_TEST_CASE(ten_milliseconds_are_no_step) {
    other_clock clock;
    clock_watch watch;
    watch.on_sample(clock.sample(start, 50us, 100us));
    clock.offset += 9ms;
    BOOST_TEST(!watch.on_sample(clock.sample(after(1s), 50us, 100us)));
}

BOOST_AUTO_TEST_CASE(a_slow_answer_does_not_hide_a_step_from_the_one_after_it) {
    other_clock clock;
    clock_watch watch;
    watch.on_sample(clock.sample(start, 50us, 100us));
    clock.offset += 500ms;
    // Taking two seconds, this one is consistent with both clocks.
    BOOST_TEST(!watch.on_sample(clock.sample(after(1s), 1s, 2s)));
    BOOST_TEST(watch.on_sample(clock.sample(after(4s), 50us, 100us)));
}

BOOST_AUTO_TEST_CASE(another_process_begins_anew) {
    other_clock clock;
    clock_watch watch;
    watch.on_sample(clock.sample(start, 50us, 100us));
    clock.offset += 1h;
    watch.forget();
    BOOST_TEST(!watch.on_sample(clock.sample(after(1s), 50us, 100us)));
}
