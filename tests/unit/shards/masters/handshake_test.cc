#include "shards/masters/handshake.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/util/later.hh>

#include "shards/masters/script_calls.hh"
#include "tests/support/fake_master.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;
using namespace std::chrono_literals;
using protocol::reply;
using protocol::reply_kind;

namespace {

reply setting(const char* name, const char* value) {
    return reply::aggregate(reply_kind::map, {reply::bulk(name), reply::bulk(value)});
}

std::vector<reply> facts() {
    return {reply::bulk("run_id:abc\r\nredis_version:7.0.15\r\nrole:master\r\n"),
            reply::aggregate(reply_kind::array, {reply::bulk("master")}),
            setting("appendonly", "no"),
            setting("appendfsync", "everysec"),
            setting("maxmemory", "0"),
            setting("maxmemory-policy", "noeviction"),
            setting("save", "")};
}

std::vector<reply> noon() {
    return {reply::aggregate(reply_kind::array, {reply::bulk("1700000000"), reply::bulk("5")})};
}

}  // namespace

SEASTAR_TEST_CASE(the_questions_are_one_request_and_the_time_is_another) {
    fake_master master;
    master.connect();
    auto shaken = shake_hands(master, 250ms);
    BOOST_TEST(master.waiting_requests() == 1u);
    BOOST_TEST(master.front().commands.size() == facts_questions().replies());
    BOOST_TEST((master.front().how.only_on == link_generation{1}));
    BOOST_TEST((master.front().how.timeout == 250ms));
    master.answer(facts());
    while (master.waiting_requests() == 0) {
        co_await ss::yield();
    }
    BOOST_TEST((master.front().commands == std::vector<fake_master::words>{{"TIME"}}));
    master.answer(noon(), instant{1'000}, instant{3'000});
    const auto result = (co_await std::move(shaken)).value();
    BOOST_TEST(result.facts.run_id == "abc");
    BOOST_TEST((result.generation == link_generation{1}));
    BOOST_TEST((result.facts.clock.round_trip() == 2us));
    BOOST_TEST((result.facts.clock.shown == 1700000000s + 5us));
}

SEASTAR_TEST_CASE(a_connection_that_breaks_in_the_middle_ends_the_handshake) {
    fake_master master;
    master.connect();
    auto shaken = shake_hands(master, 250ms);
    master.disconnect();
    BOOST_TEST((co_await std::move(shaken)).error() == "connection lost");
    // Not even when the next connection is up before the second question.
    master.connect();
    shaken = shake_hands(master, 250ms);
    master.answer(facts());
    master.disconnect();
    master.connect();
    BOOST_TEST((co_await std::move(shaken)).error() == "unreachable");
    BOOST_TEST(master.waiting_requests() == 0u);
}

SEASTAR_TEST_CASE(an_answer_that_does_not_come_ends_the_handshake) {
    fake_master master;
    master.connect();
    auto shaken = shake_hands(master, 250ms);
    master.fail(master_error::timed_out);
    BOOST_TEST((co_await std::move(shaken)).error() == "no answer in time");
}

SEASTAR_TEST_CASE(a_master_without_a_run_id_is_refused_without_a_second_question) {
    fake_master master;
    master.connect();
    auto shaken = shake_hands(master, 250ms);
    auto replies = facts();
    replies[0] = reply::error("LOADING Redis is loading the dataset in memory");
    master.answer(std::move(replies));
    BOOST_TEST((co_await std::move(shaken)).error().starts_with("it refuses INFO: LOADING"));
    BOOST_TEST(master.waiting_requests() == 0u);
}

SEASTAR_TEST_CASE(a_clock_that_makes_no_sense_is_a_reason) {
    fake_master master;
    master.connect();
    auto looked = look_at_clock(master, {.timeout = 1s});
    master.answer({reply::bulk("noon")});
    BOOST_TEST((co_await std::move(looked)).error() == "it does not tell the time: 'noon'");
}

SEASTAR_TEST_CASE(a_script_that_is_not_loaded_is_a_reason) {
    fake_master master;
    master.connect();
    auto loaded = load_scripts(master, {"return 1", "return"}, {.timeout = 1s});
    BOOST_TEST((master.front().commands[1] == fake_master::words{"SCRIPT", "LOAD", "return"}));
    master.answer({reply::bulk(std::string(40, 'a')), reply::error("ERR Error compiling script")});
    BOOST_TEST((co_await std::move(loaded)).error() ==
               "it does not load a script: 'ERR Error compiling script'");
    loaded = load_scripts(master, {"return 1"}, {.timeout = 1s});
    master.answer({reply::bulk(std::string(40, 'a'))});
    BOOST_TEST((co_await std::move(loaded)).value().at(0) == std::string(40, 'a'));
}
