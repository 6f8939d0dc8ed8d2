#include "shards/masters/master_set.hh"

#include <seastar/core/manual_clock.hh>
#include <seastar/core/thread.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>

#include "tests/support/fake_server.hh"
#include "tests/support/free_port.hh"
#include "tests/unit/shards/masters/live.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;

namespace {

config::stripe_options stripe_of(std::vector<uint16_t> ports) {
    config::stripe_options stripe{.name = "a", .masters = {}};
    for (const uint16_t port : ports) {
        stripe.masters.push_back(
            config::parse_redis_address(fmt::format("redis://127.0.0.1:{}", port)).value());
    }
    return stripe;
}

command_batch ping() {
    command_batch batch;
    batch.add("PING");
    return batch;
}

}  // namespace

SEASTAR_THREAD_TEST_CASE(a_stripe_works_with_the_masters_that_are_up) {
    redis_process one;
    redis_process other;
    one.start().get();
    other.start().get();
    recorded_events events;
    master_set masters(stripe_of({one.port(), free_port(), other.port()}), patient(), events);
    masters.start().get();
    events.until_connected(2).get();
    BOOST_TEST(masters.stripe() == "a");
    BOOST_TEST(masters.size() == 3u);
    BOOST_TEST(masters.connected() == 2u);

    // All are asked at once; who is down says so at once.
    std::vector<ss::future<master_result>> answers;
    for (master* who : masters.all()) {
        answers.push_back(who->send(ping(), {.timeout = long_enough}));
    }
    BOOST_TEST(answers[1].available());
    BOOST_TEST(answers[0].get()->replies[0].text() == "PONG");
    BOOST_TEST((answers[1].get().error() == master_error::unreachable));
    BOOST_TEST(answers[2].get()->replies[0].text() == "PONG");
    BOOST_TEST(masters.at(2).index() == 2u);

    while (masters.states()[1].last_error.empty()) {
        ss::sleep(1ms).get();
    }
    const auto states = masters.states();
    BOOST_TEST(states[0].connected);
    BOOST_TEST(!states[1].connected);
    BOOST_TEST(states[2].address == fmt::format("redis://127.0.0.1:{}/0", other.port()));
    BOOST_TEST(states[0].statistics.replies >= 2u);
    masters.stop().get();
}

SEASTAR_THREAD_TEST_CASE(connections_carry_the_name_of_stripe_and_core) {
    redis_process server;
    server.start().get();
    recorded_events events;
    master_set masters(stripe_of({server.port()}), patient(), events);
    masters.start().get();
    events.until_connected().get();
    command_batch question;
    question.add("CLIENT", "GETNAME");
    const auto name = masters.at(0).send(question, {.timeout = long_enough}).get().value();
    BOOST_TEST(name.replies[0].text() == fmt::format("lockkeeper-a-{}", ss::this_shard_id()));
    masters.stop().get();
}

SEASTAR_THREAD_TEST_CASE(a_set_stops_idle_busy_and_twice) {
    fake_server server;
    fake_server silent;
    recorded_events events;
    basic_master_set<ss::manual_clock> masters(
        stripe_of({server.port(), silent.port(), free_port()}), patient(), events);
    masters.start().get();
    auto peer = server.welcome().get();
    events.until_connected().get();
    auto waiting = masters.at(0).send(ping(), {.timeout = 1h});
    auto first = masters.stop();
    auto second = masters.stop();
    BOOST_TEST((waiting.get().error() == master_error::connection_lost));
    first.get();
    second.get();
    BOOST_TEST(masters.connected() == 0u);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_set_stops_without_having_been_started) {
    recorded_events events;
    master_set masters(stripe_of({free_port()}), patient(), events);
    masters.stop().get();
}
