#include "shards/masters/subscription.hh"

#include <seastar/core/manual_clock.hh>
#include <seastar/core/thread.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>
#include <seastar/util/later.hh>

#include "tests/support/fake_server.hh"
#include "tests/unit/shards/masters/live.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;
using words = std::vector<std::string>;

namespace {

template <typename Clock>
struct listener {
    std::vector<std::string> heard;
    std::vector<std::string> confirmed;
    ss::condition_variable changed;
    basic_subscription<Clock> link;

    explicit listener(redis_master_options options)
        : link(std::move(options), {.message =
                                        [this](std::string_view channel, std::string_view message) {
                                            heard.push_back(fmt::format("{}:{}", channel, message));
                                            changed.broadcast();
                                        },
                                    .listening =
                                        [this](std::string_view channel) {
                                            confirmed.emplace_back(channel);
                                            changed.broadcast();
                                        }}) {}
    ~listener() { link.stop().get(); }

    void until_heard(std::size_t count) {
        changed.wait(long_enough, [this, count] { return heard.size() >= count; }).get();
    }
    void until_confirmed(std::size_t count) {
        changed.wait(long_enough, [this, count] { return confirmed.size() >= count; }).get();
    }
};

using live_listener = listener<ss::lowres_clock>;
using test_listener = listener<ss::manual_clock>;

std::string address_of(uint16_t port) {
    return fmt::format("redis://127.0.0.1:{}", port);
}

}  // namespace

SEASTAR_THREAD_TEST_CASE(messages_of_a_real_master_are_heard_also_after_a_break) {
    redis_process server;
    server.start().get();
    live_master publisher(server);
    publisher.events.until_connected().get();
    live_listener ear(options_for(address_of(server.port())));
    BOOST_TEST(ear.link.subscribe("a"));
    ear.link.start().get();
    ear.until_confirmed(1);
    BOOST_TEST(ear.link.subscribe("b"));
    BOOST_TEST(ear.link.subscribe("b"));
    ear.until_confirmed(2);
    BOOST_TEST(ear.link.channels() == 2u);
    BOOST_TEST(publisher.ask("PUBLISH", "a", "1").as_integer().value() == 1);
    publisher.ask("PUBLISH", "b", "2");
    publisher.ask("PUBLISH", "c", "3");
    ear.until_heard(2);
    BOOST_TEST((ear.heard == words{"a:1", "b:2"}));

    BOOST_TEST(publisher.ask("CLIENT", "KILL", "TYPE", "pubsub").as_integer().value() == 1);
    ear.until_confirmed(4);
    publisher.ask("PUBLISH", "a", "4");
    ear.until_heard(3);
    BOOST_TEST(ear.heard.back() == "a:4");

    ear.link.unsubscribe("a");
    while (publisher.ask("PUBLISH", "a", "5").as_integer().value() != 0) {
        ss::yield().get();
    }
    publisher.ask("PUBLISH", "b", "6");
    while (ear.heard.back() != "b:6") {
        ss::yield().get();
    }
}

SEASTAR_THREAD_TEST_CASE(a_channel_that_an_acl_forbids_is_a_reason) {
    redis_process server(
        {"--user", "me", "on", ">secret", "~*", "+@all", "resetchannels", "&mine"});
    server.start().get();
    live_listener ear(options_for(fmt::format("redis://me:secret@127.0.0.1:{}", server.port())));
    ear.link.subscribe("yours");
    ear.link.start().get();
    while (ear.link.state().last_error.find("NOPERM") == std::string::npos) {
        ss::sleep(1ms).get();
    }
    BOOST_TEST(ear.confirmed.empty());
}

SEASTAR_THREAD_TEST_CASE(what_is_pushed_besides_messages_is_not_heard) {
    fake_server server;
    test_listener ear(options_for(address_of(server.port())));
    ear.link.subscribe("a");
    ear.link.start().get();
    auto peer = server.welcome().get();
    BOOST_TEST((peer.command().get() == words{"SUBSCRIBE", "a"}));
    peer.say(">2\r\n+invalidate\r\n_\r\n>3\r\n+message\r\n+a\r\n+1\r\n").get();
    ear.until_heard(1);
    BOOST_TEST((ear.heard == words{"a:1"}));
    // A late word about a channel that we have left.
    ear.link.unsubscribe("a");
    BOOST_TEST((peer.command().get() == words{"UNSUBSCRIBE", "a"}));
    peer.say(">3\r\n+subscribe\r\n+a\r\n:1\r\n>3\r\n+message\r\n+b\r\n+2\r\n").get();
    ear.until_heard(2);
    BOOST_TEST(ear.confirmed.empty());
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(there_is_a_limit_to_channels) {
    test_listener ear(options_for(address_of(1)));
    for (std::size_t i = 0; i < basic_subscription<ss::manual_clock>::channels_max; ++i) {
        BOOST_REQUIRE(ear.link.subscribe(std::to_string(i)));
    }
    BOOST_TEST(!ear.link.subscribe("one too many"));
    BOOST_TEST(ear.link.subscribe("0"));
    ear.link.unsubscribe("0");
    BOOST_TEST(ear.link.subscribe("one more"));
}

SEASTAR_THREAD_TEST_CASE(a_subscription_stops_idle_and_twice_and_when_the_peer_left) {
    fake_server server;
    test_listener ear(options_for(address_of(server.port())));
    ear.link.subscribe("a");
    ear.link.start().get();
    auto peer = server.welcome().get();
    peer.command().get();
    peer.close().get();
    ear.link.stop().get();
    ear.link.stop().get();
    ear.link.subscribe("b");
}
