// A master at the other end: redis-server as Debian ships it.
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/thread.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>

#include "shards/masters/handshake.hh"
#include "shards/masters/refusal.hh"
#include "shards/masters/script_calls.hh"
#include "tests/unit/shards/masters/live.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;

namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace

SEASTAR_THREAD_TEST_CASE(a_vote_is_carried_out_and_answered) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    command_batch vote;
    vote.add("MULTI")
        .add("HMGET", "fence", "inc", "cfg")
        .add("SET", "lock", "owner", "NX", "PX", 30'000)
        .add("HINCRBY", "fence", 17, 1)
        .add("EXEC");
    const auto won = master.link.send(vote, {.timeout = long_enough}).get().value();
    BOOST_TEST(won.replies.size() == 5u);
    BOOST_TEST(won.replies[4].items()[1].is_ok());
    BOOST_TEST(won.replies[4].items()[2].as_integer().value() == 1);
    const auto lost = master.link.send(vote, {.timeout = long_enough}).get().value();
    BOOST_TEST(lost.replies[4].items()[1].is_null());
    BOOST_TEST(master.ask("DEL", "lock").as_integer().value() == 1);
}

SEASTAR_THREAD_TEST_CASE(thousands_of_requests_are_answered_each_with_its_own_reply) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    std::vector<ss::future<master_result>> answers;
    for (int i = 0; i < 10'000; ++i) {
        answers.push_back(master.send("ECHO", i));
    }
    for (int i = 0; i < 10'000; ++i) {
        BOOST_REQUIRE(answers[i].get().value().replies[0].text() == std::to_string(i));
    }
}

SEASTAR_THREAD_TEST_CASE(a_user_a_password_a_database_and_a_name_arrive) {
    redis_process server({"--user", "me", "on", ">secret", "~*", "+@all"});
    server.start().get();
    live_master master(options_for(fmt::format("redis://me:secret@127.0.0.1:{}/3", server.port())));
    master.events.until_connected().get();
    const auto info = master.ask("CLIENT", "INFO");
    BOOST_TEST(contains(info.text(), " name=lockkeeper-test-0 "));
    BOOST_TEST(contains(info.text(), " db=3 "));
    BOOST_TEST(contains(info.text(), " user=me "));
    BOOST_TEST(contains(info.text(), " resp=3"));
}

SEASTAR_THREAD_TEST_CASE(the_password_of_the_default_user_is_enough) {
    redis_process server({"--requirepass", "secret"});
    server.start().get();
    live_master master(options_for(fmt::format("redis://:secret@127.0.0.1:{}", server.port())));
    master.events.until_connected().get();
    BOOST_TEST(master.ask("PING").text() == "PONG");
}

SEASTAR_THREAD_TEST_CASE(a_missing_or_wrong_password_is_a_reason) {
    redis_process server({"--requirepass", "secret"});
    server.start().get();
    live_master without(server);
    live_master wrong(options_for(fmt::format("redis://:guess@127.0.0.1:{}", server.port())));
    live_master stranger(options_for(fmt::format("redis://who:guess@127.0.0.1:{}", server.port())));
    without.until_refused("needs a password");
    wrong.until_refused("refuses user 'default' or the password: WRONGPASS");
    stranger.until_refused("refuses user 'who' or the password: WRONGPASS");
    BOOST_TEST(!contains(wrong.link.state().last_error, "guess"));
}

SEASTAR_THREAD_TEST_CASE(a_password_that_becomes_right_is_found_out) {
    redis_process server;
    server.start().get();
    live_master admin(server);
    admin.events.until_connected().get();
    admin.ask("ACL", "SETUSER", "me", "on", ">other", "+@all");
    live_master master(options_for(fmt::format("redis://me:secret@127.0.0.1:{}", server.port())));
    master.until_refused("WRONGPASS");
    admin.ask("ACL", "SETUSER", "me", ">secret");
    master.events.until_connected().get();
}

SEASTAR_THREAD_TEST_CASE(a_user_with_few_rights_is_let_in_and_told_what_it_may_not) {
    redis_process server({"--user", "me", "on", ">secret", "~lk:*", "+info", "+set", "+get"});
    server.start().get();
    live_master master(options_for(fmt::format("redis://me:secret@127.0.0.1:{}", server.port())));
    master.events.until_connected().get();
    BOOST_TEST((refusal_of(master.ask("SET", "other", "1")) == refusal::no_permission));
    BOOST_TEST(master.ask("SET", "lk:1", "1").is_ok());
    const auto shaken = shake_hands(master.link, long_enough).get();
    // Neither ROLE nor CONFIG, and not even TIME.
    BOOST_TEST(contains(shaken.error(), "does not tell the time"));
}

SEASTAR_THREAD_TEST_CASE(a_database_that_is_not_there_is_a_reason) {
    redis_process server;
    server.start().get();
    live_master master(options_for(fmt::format("redis://127.0.0.1:{}/99", server.port())));
    master.until_refused("refuses database 99");
}

SEASTAR_THREAD_TEST_CASE(the_handshake_tells_the_facts) {
    redis_process server({"--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru"});
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    const auto shaken = shake_hands(master.link, long_enough).get().value();
    BOOST_TEST((shaken.generation == link_generation{1}));
    const auto& facts = shaken.facts;
    BOOST_TEST(facts.run_id.size() == 40u);
    BOOST_TEST(facts.version.find('.') != std::string::npos);
    BOOST_TEST(facts.mode == "standalone");
    BOOST_TEST((facts.role == master_role::master));
    BOOST_TEST(!facts.loading);
    BOOST_TEST(facts.config_verified);
    BOOST_TEST(!facts.append_only.value());
    BOOST_TEST(facts.append_fsync.value() == "everysec");
    BOOST_TEST(facts.memory_max.value() == 64u << 20);
    BOOST_TEST(facts.eviction.value() == "volatile-lru");
    BOOST_TEST(facts.save.value() == "");
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    BOOST_TEST((wall - facts.clock.shown < 1h));
    BOOST_TEST((facts.clock.shown - wall < 1h));
    BOOST_TEST((facts.clock.round_trip() >= 0ns));
}

SEASTAR_THREAD_TEST_CASE(facts_without_config_are_unverified) {
    redis_process server({"--user", "me", "on", ">secret", "~*", "+@all", "-config", "-role"});
    server.start().get();
    live_master master(options_for(fmt::format("redis://me:secret@127.0.0.1:{}", server.port())));
    master.events.until_connected().get();
    const auto facts = shake_hands(master.link, long_enough).get().value().facts;
    BOOST_TEST(!facts.config_verified);
    BOOST_TEST((facts.role == master_role::master));
    BOOST_TEST(facts.memory_max.value() == 0u);
    BOOST_TEST(facts.eviction.value() == "noeviction");
    BOOST_TEST(!facts.append_fsync.has_value());
}

SEASTAR_THREAD_TEST_CASE(a_replica_says_so) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    master.ask("REPLICAOF", "127.0.0.1", "1");
    const auto facts = shake_hands(master.link, long_enough).get().value().facts;
    BOOST_TEST((facts.role == master_role::replica));
    const auto refused = refusal_of(master.ask("SET", "k", "v"));
    BOOST_TEST((refused == refusal::read_only));
    BOOST_TEST(needs_reconnect(refused));
}

SEASTAR_THREAD_TEST_CASE(scripts_are_loaded_and_a_forgotten_one_is_told) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    const auto shas = load_scripts(master.link, {"return KEYS[1]", "return {ARGV[1], ARGV[2]}"},
                                   {.timeout = long_enough})
                          .get()
                          .value();
    BOOST_REQUIRE(shas.size() == 2u);
    const std::string_view keys[] = {"k"};
    const std::string_view arguments[] = {"a", "b"};
    command_batch calls;
    add_script_call(calls, shas[0], keys, {});
    add_script_call(calls, shas[1], {}, arguments);
    auto answers = master.link.send(calls, {.timeout = long_enough}).get().value().replies;
    BOOST_TEST(answers[0].text() == "k");
    BOOST_TEST(answers[1].items()[1].text() == "b");
    master.ask("SCRIPT", "FLUSH");
    answers = master.link.send(calls, {.timeout = long_enough}).get().value().replies;
    BOOST_TEST((refusal_of(answers[0]) == refusal::no_script));
    const auto broken =
        load_scripts(master.link, {"this is not Lua"}, {.timeout = long_enough}).get();
    BOOST_TEST(contains(broken.error(), "does not load a script"));
}

SEASTAR_THREAD_TEST_CASE(a_killed_client_comes_back_on_a_new_connection) {
    redis_process server;
    server.start().get();
    live_master master(server);
    live_master admin(server);
    master.events.until_connected().get();
    admin.events.until_connected().get();
    const auto id = master.ask("CLIENT", "ID").as_integer().value();
    BOOST_TEST(admin.ask("CLIENT", "KILL", "ID", id).as_integer().value() == 1);
    master.events.until_connected(2).get();
    BOOST_TEST((master.link.generation() == link_generation{2}));
    BOOST_TEST(master.events.breaks.size() == 1u);
    BOOST_TEST(master.ask("PING").text() == "PONG");
}

SEASTAR_THREAD_TEST_CASE(a_frozen_master_answers_late_and_nobody_is_confused) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    server.freeze();
    std::vector<ss::future<master_result>> late;
    for (int i = 0; i < 100; ++i) {
        command_batch batch;
        batch.add("ECHO", "late").add("ECHO", "later");
        late.push_back(master.link.send(batch, {.timeout = 20ms}));
    }
    for (auto& one : late) {
        BOOST_TEST((one.get().error() == master_error::timed_out));
    }
    auto patiently = master.send("ECHO", "patient");
    server.thaw();
    BOOST_TEST(patiently.get().value().replies[0].text() == "patient");
    BOOST_TEST(master.ask("ECHO", "fresh").text() == "fresh");
    BOOST_TEST((master.link.generation() == link_generation{1}));
    BOOST_TEST(master.link.statistics().timeouts == 100u);
    BOOST_TEST(master.link.statistics().late_replies == 100u);
}

SEASTAR_THREAD_TEST_CASE(a_master_that_sleeps_is_no_different_from_a_frozen_one) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    auto sleeping = master.send("DEBUG", "SLEEP", "0.3");
    command_batch ping;
    ping.add("PING");
    const auto behind = master.link.send(ping, {.timeout = 20ms}).get();
    BOOST_TEST((behind.error() == master_error::timed_out));
    BOOST_TEST(sleeping.get().value().replies[0].is_ok());
    BOOST_TEST(master.ask("PING").text() == "PONG");
}

SEASTAR_THREAD_TEST_CASE(a_master_that_is_frozen_for_too_long_is_cut_and_found_again) {
    redis_process server;
    server.start().get();
    auto options = options_for(fmt::format("redis://127.0.0.1:{}", server.port()));
    options.masters.silence = 300ms;
    options.masters.connect_timeout = 300ms;
    live_master master(options);
    master.events.until_connected().get();
    server.freeze();
    master.events.until_broken().get();
    BOOST_TEST(contains(master.events.breaks[0], "gone or stuck"));
    master.until_refused("the greeting took longer than");
    const auto connected = master.events.connections;
    server.thaw();
    master.events.until_connected(connected + 1).get();
}

SEASTAR_THREAD_TEST_CASE(a_restarted_master_is_another_life_on_another_connection) {
    redis_process server;
    server.start().get();
    live_master master(server);
    master.events.until_connected().get();
    const auto before = shake_hands(master.link, long_enough).get().value();
    auto in_flight = master.send("DEBUG", "SLEEP", "1000");
    server.kill().get();
    BOOST_TEST((in_flight.get().error() == master_error::connection_lost));
    master.until_refused("Connection refused");
    server.start().get();
    master.events.until_connected(2).get();
    const auto after = shake_hands(master.link, long_enough).get().value();
    BOOST_TEST(before.facts.run_id != after.facts.run_id);
    BOOST_TEST((before.generation < after.generation));
}

SEASTAR_THREAD_TEST_CASE(each_core_has_a_connection_of_its_own) {
    redis_process server;
    server.start().get();
    const uint16_t port = server.port();
    ss::smp::invoke_on_all([port] {
        return ss::async([port] {
            live_master master(options_for(fmt::format("redis://127.0.0.1:{}", port)));
            master.events.until_connected().get();
            for (int i = 0; i < 100; ++i) {
                BOOST_REQUIRE(!master.ask("INCR", "counter").is_error());
            }
        });
    }).get();
    live_master master(server);
    master.events.until_connected().get();
    BOOST_TEST(master.ask("GET", "counter").text() == std::to_string(100 * ss::smp::count));
}
