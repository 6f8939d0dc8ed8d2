#include "shards/masters/clock_probe.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/manual_clock.hh>
#include <seastar/core/thread.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>
#include <seastar/util/later.hh>

#include "tests/support/fake_master.hh"
#include "tests/unit/shards/masters/live.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;
using protocol::reply;
using protocol::reply_kind;

namespace {

using test_probe = basic_clock_probe<ss::manual_clock>;

struct seen {
    uint32_t master;
    link_generation on;
    clock_sample sample;
};

struct fixture {
    fake_master first{0};
    fake_master second{1};
    std::vector<seen> samples;
    test_probe probe;

    fixture()
        : probe({&first, &second}, {},
                [this](master& of, link_generation on, const clock_sample& sample) {
                    samples.push_back({of.index(), on, sample});
                }) {
        first.connect();
        second.connect();
        probe.start().get();
    }
    ~fixture() { probe.stop().get(); }

    void pass(std::chrono::milliseconds time) {
        ss::manual_clock::advance(time);
        settle();
    }
    static void settle() {
        for (int i = 0; i < 20; ++i) {
            ss::yield().get();
        }
    }
};

std::vector<reply> time_of(const char* seconds) {
    return {reply::aggregate(reply_kind::array, {reply::bulk(seconds), reply::bulk("0")})};
}

}  // namespace

SEASTAR_THREAD_TEST_CASE(each_master_is_asked_once_per_interval) {
    fixture f;
    f.pass(999ms);
    BOOST_TEST(f.first.waiting_requests() == 0u);
    f.pass(1ms);
    BOOST_TEST((f.first.front().commands == std::vector<fake_master::words>{{"TIME"}}));
    f.first.answer(time_of("100"), instant{10}, instant{20});
    f.settle();
    f.second.answer(time_of("200"), instant{30}, instant{50});
    f.settle();
    BOOST_REQUIRE(f.samples.size() == 2u);
    BOOST_TEST(f.samples[0].master == 0u);
    BOOST_TEST((f.samples[0].sample.shown == 100s));
    BOOST_TEST((f.samples[0].on == link_generation{1}));
    BOOST_TEST(f.samples[1].master == 1u);
    BOOST_TEST((f.samples[1].sample.round_trip() == 20ns));
    f.pass(1s);
    BOOST_TEST(f.first.waiting_requests() == 1u);
    f.first.disconnect();
    f.second.disconnect();
}

SEASTAR_THREAD_TEST_CASE(a_silent_master_does_not_keep_the_others_from_being_asked) {
    fixture f;
    f.pass(1s);
    f.second.answer(time_of("1"));
    f.settle();
    f.pass(1s);
    BOOST_TEST(f.first.waiting_requests() == 1u);
    f.second.answer(time_of("2"));
    f.settle();
    BOOST_TEST(f.samples.size() == 2u);
    f.first.fail(master_error::timed_out);
    f.settle();
    f.pass(1s);
    BOOST_TEST(f.first.waiting_requests() == 1u);
    f.first.disconnect();
    f.second.disconnect();
}

SEASTAR_THREAD_TEST_CASE(who_is_not_connected_is_not_asked) {
    fixture f;
    f.first.disconnect();
    f.pass(1s);
    BOOST_TEST(f.first.waiting_requests() == 0u);
    BOOST_TEST(f.second.waiting_requests() == 1u);
    f.second.disconnect();
}

SEASTAR_THREAD_TEST_CASE(a_sample_of_a_connection_that_is_gone_is_no_sample) {
    fixture f;
    f.pass(1s);
    f.first.answer(time_of("1"));
    f.first.disconnect();
    f.first.connect();
    f.settle();
    BOOST_TEST(f.samples.empty());
    f.second.disconnect();
}

SEASTAR_THREAD_TEST_CASE(nonsense_is_no_sample) {
    fixture f;
    f.pass(1s);
    f.first.answer({reply::error("ERR")});
    f.second.answer({reply::null()});
    f.settle();
    BOOST_TEST(f.samples.empty());
}

SEASTAR_THREAD_TEST_CASE(it_stops_idle_busy_and_twice) {
    fixture f;
    f.pass(1s);
    auto stopped = f.probe.stop();
    BOOST_TEST(!stopped.available());
    f.first.answer(time_of("1"));
    f.second.fail(master_error::connection_lost);
    stopped.get();
    f.probe.stop().get();
    f.pass(10s);
    BOOST_TEST(f.first.waiting_requests() == 0u);
    BOOST_TEST(f.samples.empty());
}

SEASTAR_THREAD_TEST_CASE(the_clock_of_a_real_master_keeps_step_with_ours) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    std::vector<clock_sample> samples;
    clock_probe probe({&master.link}, {.interval = 20ms, .timeout = long_enough},
                      [&samples](lockkeeper::shards::master&, link_generation,
                                 const clock_sample& sample) { samples.push_back(sample); });
    probe.start().get();
    while (samples.size() < 5) {
        ss::sleep(5ms).get();
    }
    probe.stop().get();
    for (const clock_sample& sample : samples) {
        // Both run at the same rate, so that offsets differ by what round trips blur.
        const auto difference = std::chrono::abs(sample.offset() - samples[0].offset());
        BOOST_TEST((difference <= sample.round_trip() + samples[0].round_trip() + 10ms));
    }
}
