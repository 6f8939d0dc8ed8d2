#include "shards/masters/redis_master.hh"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <seastar/core/manual_clock.hh>
#include <seastar/core/thread.hh>
#include <seastar/core/when_all.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>
#include <seastar/util/later.hh>

#include "tests/support/fake_server.hh"
#include "tests/support/free_port.hh"
#include "tests/support/recorded_events.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;
using namespace std::chrono_literals;
using words = std::vector<std::string>;

namespace {

// Time moves only when a test says so, though the sockets are real.
using test_master = basic_redis_master<ss::manual_clock>;

/// A fixture puts its server's in place of it.
constexpr uint16_t any_port = 1;

redis_master_options options_for(uint16_t port = any_port, const std::string& before = "redis://",
                                 const std::string& after = "") {
    return {
        .address = config::parse_redis_address(fmt::format("{}127.0.0.1:{}{}", before, port, after))
                       .value(),
        // So that no attempt fails for time that a test lets pass for another reason.
        .masters = {.connect_timeout = 24h},
        .name = "lockkeeper-test",
        .index = 4};
}

command_batch batch_of(std::initializer_list<const char*> commands) {
    command_batch batch;
    for (const char* one : commands) {
        batch.add(one);
    }
    return batch;
}

/// A server, a master that talks to it, and what it reports.
struct fixture {
    fake_server server;
    recorded_events events;
    test_master master;

    fixture() : master(options_for(server.port()), events) {}
    explicit fixture(redis_master_options options)
        : master(with_port(std::move(options), server.port()), events) {}
    ~fixture() { master.stop().get(); }

    /// Starts; the server's end of the connection, greeted.
    fake_peer connect() {
        master.start().get();
        fake_peer peer = server.welcome().get();
        events.until_connected().get();
        return peer;
    }
    ss::future<master_result> send(std::initializer_list<const char*> commands,
                                   std::chrono::milliseconds timeout = 10s) {
        return master.send(batch_of(commands), {.timeout = timeout});
    }
    /// Lets everything run but the clock until something has come true.
    template <typename Condition>
    void until(Condition condition) {
        while (!condition()) {
            ss::yield().get();
        }
    }
    /// Lets the clock run too, in small steps.
    template <typename Condition>
    void pass_time_until(Condition condition) {
        while (!condition()) {
            ss::manual_clock::advance(50ms);
            ss::yield().get();
        }
    }

    static redis_master_options with_port(redis_master_options options, uint16_t port) {
        options.address.port = port;
        return options;
    }
};

/// A port that lets connections hang: its queue is full, and nobody accepts.
class full_port {
public:
    full_port() : port(free_port()) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(port);
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* address = reinterpret_cast<sockaddr*>(&where);
        BOOST_REQUIRE(::bind(_listener, address, sizeof(where)) == 0);
        BOOST_REQUIRE(::listen(_listener, 0) == 0);
        for (const int filler : _fillers) {
            ::connect(filler, address, sizeof(where));
        }
    }
    ~full_port() {
        for (const int filler : _fillers) {
            ::close(filler);
        }
        ::close(_listener);
    }
    full_port(const full_port&) = delete;
    full_port& operator=(const full_port&) = delete;

    uint16_t port;

private:
    static int make_socket() {
        return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }

    int _listener = make_socket();
    std::array<int, 4> _fillers{make_socket(), make_socket(), make_socket(), make_socket()};
};

int64_t number(const master_result& result, std::size_t index = 0) {
    BOOST_REQUIRE(result.has_value());
    return result->replies.at(index).as_integer().value();
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

// ---- the greeting

SEASTAR_THREAD_TEST_CASE(a_master_is_greeted_with_user_name_and_database_before_it_counts) {
    fixture f(options_for(any_port, "redis://me:secret@", "/5"));
    f.master.start().get();
    auto peer = f.server.accept().get();
    BOOST_TEST((peer.greet().get() ==
                words{"HELLO", "3", "AUTH", "me", "secret", "SETNAME", "lockkeeper-test"}));
    BOOST_TEST((peer.command().get() == words{"SELECT", "5"}));
    BOOST_TEST(!f.master.is_connected());
    BOOST_TEST((f.send({"PING"}).get().error() == master_error::unreachable));
    peer.say("+OK\r\n").get();
    f.events.until_connected().get();
    BOOST_TEST(f.master.is_connected());
    BOOST_TEST((f.master.generation() == link_generation{1}));
    BOOST_TEST(f.master.index() == 4u);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_master_that_wants_a_password_is_left_with_a_reason) {
    fixture f;
    f.master.start().get();
    auto peer = f.server.accept().get();
    peer.command().get();
    peer.say("-NOAUTH HELLO must be called with the client already authenticated\r\n").get();
    peer.until_closed().get();
    peer.close().get();
    BOOST_TEST(contains(f.master.state().last_error, "needs a password"));
    BOOST_TEST(f.events.connections == 0u);
    BOOST_TEST(f.events.breaks.empty());
    BOOST_TEST(f.master.statistics().failed_attempts == 1u);
}

SEASTAR_THREAD_TEST_CASE(what_a_master_says_before_it_is_greeted_is_the_reason) {
    fixture f;
    f.master.start().get();
    auto peer = f.server.accept().get();
    peer.say("-ERR max number of clients reached\r\n").get();
    peer.close().get();
    f.until([&] { return f.master.statistics().failed_attempts == 1; });
    BOOST_TEST(contains(f.master.state().last_error, "max number of clients reached"));
}

SEASTAR_THREAD_TEST_CASE(a_server_that_is_not_redis_is_left_with_a_reason) {
    for (const char* answer :
         {"HTTP/1.1 400 Bad Request\r\n", "220 mail ESMTP\r\n", "\x16\x03\x01"}) {
        fixture f;
        f.master.start().get();
        auto peer = f.server.accept().get();
        peer.command().get();
        peer.say(answer).get();
        peer.until_closed().get();
        peer.close().get();
        BOOST_TEST(contains(f.master.state().last_error, "does not speak RESP"));
        BOOST_TEST(!f.master.is_connected());
    }
}

SEASTAR_THREAD_TEST_CASE(an_echo_is_not_taken_for_a_master) {
    fixture f;
    f.master.start().get();
    auto peer = f.server.accept().get();
    peer.command().get();
    peer.say("*4\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n$15\r\nlockkeeper-test\r\n").get();
    peer.until_closed().get();
    peer.close().get();
    BOOST_TEST(contains(f.master.state().last_error, "not Redis"));
}

SEASTAR_THREAD_TEST_CASE(a_greeting_without_an_answer_is_given_up) {
    auto options = options_for();
    options.masters.connect_timeout = 1s;
    fixture f(options);
    f.master.start().get();
    auto peer = f.server.accept().get();
    peer.command().get();
    ss::manual_clock::advance(1s);
    peer.until_closed().get();
    peer.close().get();
    BOOST_TEST(contains(f.master.state().last_error, "the greeting took longer than 1000ms"));
}

// ---- other credentials

namespace {

/// The same master for somebody else.
config::redis_address address_for(const char* credentials) {
    return config::parse_redis_address(fmt::format("redis://{}@127.0.0.1", credentials)).value();
}

}  // namespace

SEASTAR_THREAD_TEST_CASE(a_connection_logs_in_anew_behind_what_was_sent_and_stays) {
    fixture f(options_for(any_port, "redis://old:one@"));
    auto peer = f.connect();
    auto before = f.send({"PING"});
    f.master.change_credentials(address_for("new:two"), {});
    auto after = f.send({"PING"});
    BOOST_TEST((peer.command().get() == words{"PING"}));
    BOOST_TEST((peer.command().get() == words{"AUTH", "new", "two"}));
    BOOST_TEST((peer.command().get() == words{"PING"}));
    peer.say(":1\r\n+OK\r\n:2\r\n").get();
    BOOST_TEST(number(before.get()) == 1);
    BOOST_TEST(number(after.get()) == 2);
    BOOST_TEST((f.master.generation() == link_generation{1}));
    BOOST_TEST(f.events.breaks.empty());
    peer.close().get();
    auto next = f.server.accept();
    f.pass_time_until([&] { return next.available(); });
    auto second = next.get();
    BOOST_TEST((second.greet().get() ==
                words{"HELLO", "3", "AUTH", "new", "two", "SETNAME", "lockkeeper-test"}));
    second.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_connection_that_may_not_log_in_anew_stays_as_it_was) {
    fixture f(options_for(any_port, "redis://old:one@"));
    auto peer = f.connect();
    f.master.change_credentials(address_for("new:wrong"), {});
    auto after = f.send({"PING"});
    peer.command().get();
    peer.command().get();
    peer.say("-WRONGPASS invalid username-password pair or user is disabled.\r\n:2\r\n").get();
    BOOST_TEST(number(after.get()) == 2);
    BOOST_TEST(f.master.is_connected());
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(the_same_credentials_are_not_told_again) {
    fixture f(options_for(any_port, "redis://me:one@"));
    auto peer = f.connect();
    f.master.change_credentials(address_for("me:one"), {});
    auto after = f.send({"PING"});
    BOOST_TEST((peer.command().get() == words{"PING"}));
    peer.say(":1\r\n").get();
    after.get().value();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(credentials_that_change_during_a_greeting_are_told_after_it) {
    fixture f(options_for(any_port, "redis://old:one@"));
    f.master.start().get();
    auto peer = f.server.accept().get();
    // The master has sent its greeting once a byte of it is here.
    auto greeted = peer.greet();
    f.until([&] { return f.master.statistics().writes > 0; });
    f.master.change_credentials(address_for("new:two"), {});
    BOOST_TEST((greeted.get()[3] == "old"));
    BOOST_TEST((peer.command().get() == words{"AUTH", "new", "two"}));
    peer.say("+OK\r\n").get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_while_it_logs_in_anew) {
    fixture f(options_for(any_port, "redis://old:one@"));
    auto peer = f.connect();
    f.master.change_credentials(address_for("new:two"), {});
    peer.command().get();
    f.master.stop().get();
    peer.until_closed().get();
    peer.close().get();
}

// ---- requests and replies

SEASTAR_THREAD_TEST_CASE(replies_are_matched_in_order) {
    fixture f;
    auto peer = f.connect();
    auto first = f.send({"A"});
    auto second = f.send({"B"});
    BOOST_TEST((peer.command().get() == words{"A"}));
    BOOST_TEST((peer.command().get() == words{"B"}));
    peer.say(":1\r\n:2\r\n").get();
    BOOST_TEST(number(first.get()) == 1);
    BOOST_TEST(number(second.get()) == 2);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_transaction_is_one_request_with_several_replies) {
    fixture f;
    auto peer = f.connect();
    auto vote = f.send({"MULTI", "HMGET", "SET", "HINCRBY", "EXEC"});
    auto next = f.send({"PING"});
    for (int i = 0; i < 6; ++i) {
        peer.command().get();
    }
    peer.say("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n*1\r\n_\r\n+OK\r\n:7\r\n+PONG\r\n")
        .get();
    const auto voted = vote.get();
    BOOST_REQUIRE(voted.has_value());
    BOOST_TEST(voted->replies.size() == 5u);
    BOOST_TEST(voted->replies[4].items()[2].as_integer().value() == 7);
    BOOST_TEST((voted->generation == link_generation{1}));
    BOOST_TEST((voted->sent <= voted->received));
    BOOST_TEST(next.get()->replies[0].text() == "PONG");
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(all_requests_of_one_turn_leave_in_one_write) {
    fixture f;
    auto peer = f.connect();
    const auto before = f.master.statistics();
    std::vector<ss::future<master_result>> answers;
    for (int i = 0; i < 100; ++i) {
        answers.push_back(f.send({"PING"}));
    }
    std::string pongs;
    for (int i = 0; i < 100; ++i) {
        peer.command().get();
        pongs += "+PONG\r\n";
    }
    peer.say(pongs).get();
    for (auto& answer : answers) {
        BOOST_TEST(answer.get().has_value());
    }
    const auto after = f.master.statistics();
    BOOST_TEST(after.writes - before.writes == 1u);
    BOOST_TEST(after.requests - before.requests == 100u);
    BOOST_TEST(after.replies - before.replies == 100u);
    BOOST_TEST(after.bytes_sent - before.bytes_sent == 100 * 14u);
    BOOST_TEST(after.bytes_received - before.bytes_received == 100 * 7u);
    BOOST_TEST(after.round_trips.count() == after.replies);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(replies_may_come_in_any_pieces) {
    fixture f;
    auto peer = f.connect();
    auto vote = f.send({"EXEC"});
    auto next = f.send({"PING"});
    peer.command().get();
    peer.command().get();
    peer.say_slowly("*3\r\n$5\r\nhello\r\n$-1\r\n:42\r\n:7\r\n").get();
    BOOST_TEST(vote.get()->replies[0].items()[2].as_integer().value() == 42);
    BOOST_TEST(number(next.get()) == 7);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_long_reply_is_read_whole) {
    fixture f;
    auto peer = f.connect();
    auto info = f.send({"INFO"});
    peer.command().get();
    const std::string text(300'000, 'x');
    peer.say(fmt::format("${}\r\n{}\r\n", text.size(), text)).get();
    BOOST_TEST(info.get()->replies[0].text() == text);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(an_error_of_the_master_is_a_reply) {
    fixture f;
    auto peer = f.connect();
    auto call = f.send({"EVALSHA"});
    peer.command().get();
    peer.say("-NOSCRIPT No matching script. Please use EVAL.\r\n").get();
    BOOST_TEST(call.get()->replies[0].error_code() == "NOSCRIPT");
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(pushes_come_in_between_and_count_as_no_reply) {
    fixture f;
    auto peer = f.connect();
    auto ping = f.send({"PING"});
    peer.command().get();
    peer.say(">2\r\n+invalidate\r\n_\r\n+PONG\r\n").get();
    f.events.until_pushed().get();
    BOOST_TEST(f.events.messages[0].items()[0].text() == "invalidate");
    BOOST_TEST(ping.get()->replies[0].text() == "PONG");
    BOOST_TEST(f.master.statistics().pushes == 1u);
    peer.close().get();
}

// ---- deadlines

SEASTAR_THREAD_TEST_CASE(a_request_whose_time_is_up_is_answered_and_its_late_reply_dropped) {
    fixture f;
    auto peer = f.connect();
    auto late = f.send({"A"}, 250ms);
    peer.command().get();
    ss::manual_clock::advance(250ms);
    BOOST_TEST((late.get().error() == master_error::timed_out));
    auto next = f.send({"B"});
    peer.command().get();
    peer.say(":1\r\n:2\r\n").get();
    BOOST_TEST(number(next.get()) == 2);
    BOOST_TEST(f.master.statistics().timeouts == 1u);
    BOOST_TEST(f.master.statistics().late_replies == 1u);
    BOOST_TEST((f.master.generation() == link_generation{1}));
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_release_after_a_timed_out_acquire_follows_it_on_the_same_connection) {
    fixture f;
    auto peer = f.connect();
    auto acquire = f.send({"SET"}, 250ms);
    ss::manual_clock::advance(250ms);
    BOOST_TEST((acquire.get().error() == master_error::timed_out));
    BOOST_TEST(may_have_happened(master_error::timed_out));
    auto release = f.master.send(batch_of({"DEL"}), {.timeout = 10s, .only_on = {{1}}});
    BOOST_TEST((peer.command().get() == words{"SET"}));
    BOOST_TEST((peer.command().get() == words{"DEL"}));
    peer.say("+OK\r\n:1\r\n").get();
    BOOST_TEST(number(release.get()) == 1);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(half_an_answer_before_the_deadline_and_half_after_it_harm_no_one) {
    fixture f;
    auto peer = f.connect();
    auto half = f.send({"MULTI", "EXEC"}, 250ms);
    peer.command().get();
    peer.command().get();
    peer.say("+OK\r\n*2\r\n:1").get();
    ss::manual_clock::advance(250ms);
    BOOST_TEST((half.get().error() == master_error::timed_out));
    auto next = f.send({"PING"});
    peer.say("\r\n:2\r\n:3\r\n").get();
    BOOST_TEST(number(next.get()) == 3);
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(one_silent_master_does_not_delay_another) {
    fixture silent;
    fixture lively;
    auto silent_peer = silent.connect();
    auto lively_peer = lively.connect();
    auto never = silent.send({"A"});
    auto soon = lively.send({"A"});
    lively_peer.command().get();
    lively_peer.say(":1\r\n").get();
    BOOST_TEST(number(soon.get()) == 1);
    BOOST_TEST(!never.available());
    silent_peer.close().get();
    lively_peer.close().get();
    BOOST_TEST((never.get().error() == master_error::connection_lost));
}

// ---- limits

SEASTAR_THREAD_TEST_CASE(requests_beyond_the_limit_are_refused_at_once) {
    auto options = options_for();
    options.limits = {.requests = 3, .bytes = 1000};
    fixture f(options);
    auto peer = f.connect();
    std::vector<ss::future<master_result>> answers;
    for (int i = 0; i < 3; ++i) {
        answers.push_back(f.send({"PING"}));
    }
    auto beyond = f.send({"PING"});
    BOOST_TEST(beyond.available());
    BOOST_TEST((beyond.get().error() == master_error::overloaded));
    BOOST_TEST(!may_have_happened(master_error::overloaded));
    BOOST_TEST(f.master.statistics().refused == 1u);
    peer.command().get();
    peer.say("+PONG\r\n").get();
    BOOST_TEST(answers[0].get().has_value());
    auto again = f.send({"PING"});
    peer.say("+PONG\r\n+PONG\r\n+PONG\r\n").get();
    BOOST_TEST(again.get().has_value());
    BOOST_TEST(answers[1].get().has_value());
    BOOST_TEST(answers[2].get().has_value());
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(bytes_beyond_the_limit_are_refused_at_once) {
    auto options = options_for();
    options.limits = {.requests = 100, .bytes = 28};  // PING has 14
    fixture f(options);
    auto peer = f.connect();
    auto both = f.send({"PING", "PING"});
    BOOST_TEST((f.send({"PING"}).get().error() == master_error::overloaded));
    peer.say("+PONG\r\n+PONG\r\n").get();
    BOOST_TEST(both.get().has_value());
    auto one = f.send({"PING"});
    peer.say("+PONG\r\n").get();
    BOOST_TEST(one.get().has_value());
    peer.close().get();
}

// ---- the watch

SEASTAR_THREAD_TEST_CASE(an_idle_connection_is_pinged_and_lives) {
    fixture f;
    auto peer = f.connect();
    for (int i = 0; i < 5; ++i) {
        const auto replies = f.master.statistics().replies;
        ss::manual_clock::advance(1s);
        BOOST_TEST((peer.command().get() == words{"PING"}));
        peer.say("+PONG\r\n").get();
        while (f.master.statistics().replies == replies) {
            ss::yield().get();
        }
    }
    BOOST_TEST((f.master.generation() == link_generation{1}));
    BOOST_TEST(f.events.breaks.empty());
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_connection_whose_ping_is_not_answered_is_cut) {
    fixture f;
    auto peer = f.connect();
    ss::manual_clock::advance(1s);
    BOOST_TEST((peer.command().get() == words{"PING"}));
    f.pass_time_until([&] { return !f.events.breaks.empty(); });
    BOOST_TEST(contains(f.events.breaks[0], "gone or stuck"));
    peer.until_closed().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_connection_that_owes_an_answer_for_too_long_is_cut) {
    fixture f;
    auto peer = f.connect();
    auto never = f.send({"A"}, 1h);
    peer.command().get();
    f.pass_time_until([&] { return !f.events.breaks.empty(); });
    BOOST_TEST((never.get().error() == master_error::connection_lost));
    BOOST_TEST(contains(f.master.state().last_error, "gone or stuck"));
    peer.until_closed().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(who_stood_still_himself_does_not_blame_the_master) {
    fixture f;
    auto peer = f.connect();
    auto answered = f.send({"A"}, 1h);
    peer.command().get();
    peer.say(":1\r\n").get();
    // As after a suspension of the whole process: much time has passed at once, and the answer lies
    // in the socket.
    ss::manual_clock::advance(1min);
    BOOST_TEST(number(answered.get()) == 1);
    BOOST_TEST(f.master.is_connected());
    peer.close().get();
}

// ---- breaks and reconnects

SEASTAR_THREAD_TEST_CASE(a_peer_that_leaves_in_the_middle_costs_what_was_in_flight_only) {
    fixture f;
    auto peer = f.connect();
    auto lost = f.send({"A"});
    auto half = f.send({"B", "C"});
    peer.command().get();
    peer.close().get();
    f.events.until_broken().get();
    BOOST_TEST((lost.get().error() == master_error::connection_lost));
    BOOST_TEST((half.get().error() == master_error::connection_lost));
    BOOST_TEST(may_have_happened(master_error::connection_lost));
    BOOST_TEST((f.send({"D"}).get().error() == master_error::unreachable));
    BOOST_TEST(f.master.statistics().lost == 2u);

    auto welcome = f.server.welcome();
    f.pass_time_until([&] { return f.events.connections == 2; });
    auto again = welcome.get();
    BOOST_TEST((f.master.generation() == link_generation{2}));
    BOOST_TEST(f.master.statistics().connections == 2u);
    auto fresh = f.send({"E"});
    BOOST_TEST((again.command().get() == words{"E"}));
    again.say(":5\r\n").get();
    BOOST_TEST(number(fresh.get()) == 5);
    again.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_request_for_an_earlier_connection_is_not_sent_on_a_later_one) {
    fixture f;
    f.connect().close().get();
    f.events.until_broken().get();
    auto welcome = f.server.welcome();
    f.pass_time_until([&] { return f.events.connections == 2; });
    auto peer = welcome.get();
    auto stale = f.master.send(batch_of({"OLD"}), {.timeout = 1s, .only_on = {{1}}});
    BOOST_TEST((stale.get().error() == master_error::unreachable));
    auto fresh = f.master.send(batch_of({"NEW"}), {.timeout = 1s, .only_on = {{2}}});
    BOOST_TEST((peer.command().get() == words{"NEW"}));
    peer.say("+OK\r\n").get();
    BOOST_TEST(fresh.get().has_value());
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(half_a_reply_of_one_connection_does_not_reach_into_the_next) {
    fixture f;
    auto peer = f.connect();
    auto half = f.send({"A"});
    peer.command().get();
    peer.say("*2\r\n$10\r\nhal").get();
    peer.close().get();
    BOOST_TEST((half.get().error() == master_error::connection_lost));
    auto welcome = f.server.welcome();
    f.pass_time_until([&] { return f.events.connections == 2; });
    auto again = welcome.get();
    auto whole = f.send({"B"});
    again.command().get();
    again.say(":1\r\n").get();
    BOOST_TEST(number(whole.get()) == 1);
    again.close().get();
}

SEASTAR_THREAD_TEST_CASE(garbage_ends_the_connection_with_a_reason) {
    fixture f;
    auto peer = f.connect();
    auto good = f.send({"A"});
    auto bad = f.send({"B"});
    peer.command().get();
    peer.say(":1\r\nwhat is this\r\n").get();
    BOOST_TEST(number(good.get()) == 1);
    BOOST_TEST((bad.get().error() == master_error::protocol_error));
    BOOST_TEST(contains(f.events.breaks.at(0), "does not speak RESP"));
    BOOST_TEST(contains(f.events.breaks.at(0), "what is this"));
    peer.until_closed().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(an_answer_that_nobody_asked_for_ends_the_connection) {
    fixture f;
    auto peer = f.connect();
    peer.say("-ERR surprise\r\n").get();
    f.events.until_broken().get();
    BOOST_TEST(contains(f.events.breaks[0], "nobody had asked"));
    BOOST_TEST(contains(f.events.breaks[0], "surprise"));
    peer.until_closed().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(a_break_is_reported_before_those_who_wait_learn_of_it) {
    struct order_of_events final : master_events {
        void connected(master&) override { up.set_value(); }
        void disconnected(master&, const std::string&) override { story += "broken "; }
        void pushed(master&, protocol::reply) override {}
        ss::promise<> up;
        std::string story;
    };
    fake_server server;
    order_of_events events;
    test_master master(options_for(server.port()), events);
    master.start().get();
    auto peer = server.welcome().get();
    events.up.get_future().get();
    auto told = master.send(batch_of({"A"}), {.timeout = 1h}).then([&](const master_result&) {
        events.story += "told ";
    });
    peer.close().get();
    told.get();
    BOOST_TEST(events.story == "broken told ");
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(who_finds_a_master_changed_has_it_greeted_anew) {
    fixture f;
    auto peer = f.connect();
    auto lost = f.send({"A"});
    f.master.reconnect("READONLY");
    BOOST_TEST(!f.master.is_connected());
    BOOST_TEST((lost.get().error() == master_error::connection_lost));
    BOOST_TEST(f.events.breaks.at(0) == "READONLY");
    peer.until_closed().get();
    peer.close().get();
    auto welcome = f.server.welcome();
    f.pass_time_until([&] { return f.events.connections == 2; });
    welcome.get().close().get();
}

SEASTAR_THREAD_TEST_CASE(attempts_are_made_until_somebody_listens) {
    recorded_events events;
    const uint16_t port = free_port();
    test_master master(options_for(port), events);
    master.start().get();
    const auto attempts = [&] { return master.statistics().failed_attempts; };
    while (attempts() < 1) {
        ss::yield().get();
    }
    BOOST_TEST(contains(master.state().last_error, "Connection refused"));
    while (attempts() < 10) {
        ss::manual_clock::advance(2s);
        ss::yield().get();
    }
    BOOST_TEST(!master.is_connected());
    BOOST_TEST(
        (master.send(batch_of({"A"}), {.timeout = 1s}).get().error() == master_error::unreachable));
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(an_attempt_that_hangs_is_given_up) {
    full_port full;
    recorded_events events;
    auto options = options_for(full.port);
    options.masters.connect_timeout = 1s;
    test_master master(options, events);
    master.start().get();
    ss::manual_clock::advance(1s);
    while (master.statistics().failed_attempts < 1) {
        ss::yield().get();
    }
    BOOST_TEST(master.state().last_error == "connecting took longer than 1000ms");
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(pauses_between_attempts_are_no_longer_than_configured) {
    recorded_events events;
    auto options = options_for(free_port());
    options.masters.reconnect = 300ms;
    test_master master(options, events);
    master.start().get();
    for (uint64_t attempt = 1; attempt < 12; ++attempt) {
        while (master.statistics().failed_attempts < attempt) {
            ss::yield().get();
        }
        // It sleeps now, or will in this turn.
        for (int i = 0; i < 100; ++i) {
            ss::yield().get();
        }
        ss::manual_clock::advance(300ms);
    }
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(a_name_that_nobody_knows_is_a_reason) {
    recorded_events events;
    auto options = options_for(6379);
    options.address.host = "no-such-host.invalid";
    test_master master(options, events);
    master.start().get();
    while (master.statistics().failed_attempts < 1) {
        ss::manual_clock::advance(100ms);  // whoever answers for names here may be slow
        ss::yield().get();
    }
    BOOST_TEST(!master.state().last_error.empty());
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(a_name_is_looked_up) {
    auto options = options_for();
    options.address.host = "localhost";
    fixture f(options);
    auto peer = f.connect();
    BOOST_TEST(f.master.is_connected());
    peer.close().get();
}

// ---- the end

SEASTAR_THREAD_TEST_CASE(it_stops_without_having_been_started) {
    recorded_events events;
    test_master master(options_for(), events);
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_idle_and_twice) {
    fixture f;
    auto peer = f.connect();
    auto first = f.master.stop();
    auto second = f.master.stop();
    first.get();
    second.get();
    f.master.stop().get();
    f.master.request_stop();
    peer.until_closed().get();
    peer.close().get();
    BOOST_TEST((f.send({"A"}).get().error() == master_error::unreachable));
    BOOST_TEST(f.events.breaks.size() == 1u);
}

SEASTAR_THREAD_TEST_CASE(it_stops_busy_and_tells_everyone_who_waits) {
    fixture f;
    auto peer = f.connect();
    std::vector<ss::future<master_result>> answers;
    for (int i = 0; i < 1'000; ++i) {
        answers.push_back(f.send({"A", "B"}, 1h));
    }
    f.master.request_stop();
    for (auto& answer : answers) {
        BOOST_TEST((answer.get().error() == master_error::connection_lost));
    }
    f.master.stop().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_while_the_peer_does_not_read) {
    fixture f;
    auto peer = f.connect();
    command_batch large;
    large.add("ECHO", std::string(500'000, 'x'));
    std::vector<ss::future<master_result>> answers;
    for (int i = 0; i < 14; ++i) {
        answers.push_back(f.master.send(large, {.timeout = 250ms}));
    }
    ss::manual_clock::advance(250ms);
    for (auto& answer : answers) {
        BOOST_TEST((answer.get().error() == master_error::timed_out));
    }
    BOOST_TEST(f.master.state().bytes_in_flight == 14 * large.bytes().size());
    f.master.stop().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_while_it_connects) {
    full_port full;
    recorded_events events;
    test_master master(options_for(full.port), events);
    master.start().get();
    master.stop().get();
    BOOST_TEST(master.state().last_error == "");
}

SEASTAR_THREAD_TEST_CASE(it_stops_while_it_is_greeting) {
    fixture f;
    f.master.start().get();
    auto peer = f.server.accept().get();
    peer.command().get();
    f.master.stop().get();
    peer.until_closed().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_while_it_pauses) {
    recorded_events events;
    test_master master(options_for(free_port()), events);
    master.start().get();
    while (master.statistics().failed_attempts < 1) {
        ss::yield().get();
    }
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_while_it_looks_up_a_name) {
    recorded_events events;
    auto options = options_for(6379);
    options.address.host = "no-such-host.invalid";
    test_master master(options, events);
    master.start().get();
    master.stop().get();
}

SEASTAR_THREAD_TEST_CASE(it_stops_from_within_its_own_events) {
    struct stopper final : master_events {
        void connected(master& from) override {
            static_cast<test_master&>(from).request_stop();
            done.set_value();
        }
        void disconnected(master&, const std::string&) override {}
        void pushed(master&, protocol::reply) override {}
        ss::promise<> done;
    };
    fake_server server;
    stopper events;
    test_master master(options_for(server.port()), events);
    master.start().get();
    auto peer = server.welcome().get();
    events.done.get_future().get();
    master.stop().get();
    peer.close().get();
}

SEASTAR_THREAD_TEST_CASE(the_state_tells_what_operators_ask) {
    fixture f(options_for(any_port, "redis://me:secret@"));
    const auto before = f.master.state();
    BOOST_TEST(!before.connected);
    BOOST_TEST(!contains(before.address, "secret"));
    BOOST_TEST(before.last_error == "");
    auto peer = f.connect();
    auto waiting = f.send({"PING"});
    const auto now = f.master.state();
    BOOST_TEST(now.connected);
    BOOST_TEST((now.since >= before.since));
    BOOST_TEST((now.generation == link_generation{1}));
    BOOST_TEST(now.requests_in_flight == 1u);
    BOOST_TEST(now.bytes_in_flight == 14u);
    peer.close().get();
    waiting.get();
    BOOST_TEST(contains(f.master.state().last_error, "closed the connection"));
}
