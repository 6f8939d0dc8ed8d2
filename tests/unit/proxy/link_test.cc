#include "proxy/link.hh"

#include <deque>
#include <optional>
#include <seastar/core/coroutine.hh>
#include <seastar/core/queue.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/util/later.hh>

using namespace lockkeeper;
using namespace lockkeeper::proxy;

namespace {

using buffer = ss::temporary_buffer<char>;

/// One end of a wire within this process.
class end_of_wire final : public link_wire {
public:
    end_of_wire* other = nullptr;
    size_t writes = 0;

    ss::future<buffer> read() override { return _incoming.pop_eventually(); }
    ss::future<> write(std::string_view bytes) override {
        ++writes;
        return other->_incoming.push_eventually(buffer(bytes.data(), bytes.size()));
    }
    void cut() noexcept override {
        for (end_of_wire* end : {this, other}) {
            (void)end->_incoming.push(buffer());
        }
    }

private:
    ss::queue<buffer> _incoming{1000};
};

/// Two proxies with a link, and what the one that was called has got.
struct linked {
    end_of_wire here;
    end_of_wire there;
    std::deque<std::pair<ss::connected_socket, std::string>> opened;
    std::deque<shards::announcement> heard;
    bool has_place = true;
    proxy::link caller{here, {}};
    proxy::link callee{
        there,
        {.welcome =
             [this](ss::connected_socket channel, std::string who) {
                 opened.emplace_back(std::move(channel), std::move(who));
             },
         .has_place = [this] { return has_place; },
         .hear = [this](shards::announcement what) { heard.push_back(std::move(what)); }}};
    std::optional<ss::future<std::string>> caller_done;
    std::optional<ss::future<std::string>> callee_done;

    linked() {
        here.other = &there;
        there.other = &here;
        caller_done = caller.serve("");
        callee_done = callee.serve("");
    }
    ss::future<> stop() {
        caller.cut("the end of the test");
        co_await std::move(*caller_done);
        co_await std::move(*callee_done);
    }
    ss::future<> until(std::function<bool()> condition) {
        while (!condition()) {
            co_await ss::yield();
        }
    }
};

struct ends {
    ss::data_source in;
    ss::data_sink out;

    explicit ends(ss::connected_socket& socket)
        : in(std::move(socket.input()).detach()), out(std::move(socket.output()).detach()) {}
    ss::future<> say(std::string_view text) { return out.put(buffer(text.data(), text.size())); }
    ss::future<std::string> hear() {
        return in.get().then([](buffer got) { return std::string(got.get(), got.size()); });
    }
    ss::future<> hear_refusal() {
        auto words = co_await ss::coroutine::as_future(hear());
        BOOST_CHECK_THROW(words.get(), channel_refused);
    }
    ss::future<> close() {
        co_await out.close();
        co_await in.close();
    }
};

}  // namespace

SEASTAR_TEST_CASE(what_is_said_in_a_channel_is_heard_at_its_other_end) {
    linked pair;
    auto mine = pair.caller.open("who");
    co_await pair.until([&] { return !pair.opened.empty(); });
    BOOST_TEST(pair.opened.front().second == "who");
    ends a(mine);
    ends b(pair.opened.front().first);
    co_await a.say("question");
    BOOST_TEST(co_await b.hear() == "question");
    co_await b.say("answer");
    BOOST_TEST(co_await a.hear() == "answer");
    co_await a.close();
    co_await b.close();
    co_await pair.stop();
}

SEASTAR_TEST_CASE(channels_do_not_hear_each_other) {
    linked pair;
    auto one = pair.caller.open("one");
    auto two = pair.caller.open("two");
    co_await pair.until([&] { return pair.opened.size() == 2; });
    ends a(one);
    ends b(two);
    ends c(pair.opened[0].first);
    ends d(pair.opened[1].first);
    co_await b.say("for two");
    co_await a.say("for one");
    BOOST_TEST(co_await c.hear() == "for one");
    BOOST_TEST(co_await d.hear() == "for two");
    for (ends* each : {&a, &b, &c, &d}) {
        co_await each->close();
    }
    co_await pair.stop();
}

SEASTAR_TEST_CASE(what_is_said_in_one_turn_leaves_in_one_write) {
    linked pair;
    std::vector<ss::connected_socket> many;
    for (int i = 0; i < 100; ++i) {
        many.push_back(pair.caller.open("who"));
    }
    co_await pair.until([&] { return pair.opened.size() == 100; });
    BOOST_TEST(pair.here.writes <= 2u);
    many.clear();
    pair.opened.clear();
    co_await pair.stop();
}

SEASTAR_TEST_CASE(long_words_arrive_whole) {
    linked pair;
    auto mine = pair.caller.open("who");
    co_await pair.until([&] { return !pair.opened.empty(); });
    ends a(mine);
    ends b(pair.opened.front().first);
    const std::string text(300'000, 'x');
    auto said = a.say(text);
    std::string got;
    while (got.size() < text.size()) {
        got += co_await b.hear();
    }
    co_await std::move(said);
    BOOST_TEST((got == text));
    co_await a.close();
    co_await b.close();
    co_await pair.stop();
}

SEASTAR_TEST_CASE(who_hangs_up_is_missed_at_the_other_end) {
    linked pair;
    auto mine = pair.caller.open("who");
    co_await pair.until([&] { return !pair.opened.empty(); });
    ends b(pair.opened.front().first);
    auto missed = pair.opened.front().first.wait_input_shutdown();
    {
        ends a(mine);
        co_await a.close();
    }
    co_await std::move(missed);
    BOOST_TEST(co_await b.hear() == "");
    co_await b.close();
    BOOST_TEST(pair.caller.channels() == 0u);
    BOOST_TEST(pair.callee.channels() == 0u);
    co_await pair.stop();
}

SEASTAR_TEST_CASE(all_channels_end_with_their_link) {
    linked pair;
    auto mine = pair.caller.open("who");
    co_await pair.until([&] { return !pair.opened.empty(); });
    ends a(mine);
    ends b(pair.opened.front().first);
    auto last_words = a.hear();
    pair.callee.cut("a test");
    BOOST_TEST(co_await std::move(last_words) == "");
    BOOST_TEST(co_await b.hear() == "");
    BOOST_TEST(!pair.caller.is_up());
    auto late = b.say("too late");
    BOOST_TEST(late.failed());
    late.ignore_ready_future();
    co_await a.close();
    co_await b.close();
    co_await pair.stop();
}

SEASTAR_TEST_CASE(who_finds_no_place_hears_that_and_nothing_was_heard_of_him) {
    linked pair;
    pair.has_place = false;
    auto refused = pair.caller.open("one too many");
    ends a(refused);
    co_await a.say("question");
    co_await a.hear_refusal();
    BOOST_TEST(pair.opened.empty());
    BOOST_TEST(pair.caller.channels() == 0u);
    BOOST_TEST(pair.callee.channels() == 0u);
    pair.has_place = true;
    auto mine = pair.caller.open("another");
    co_await pair.until([&] { return !pair.opened.empty(); });
    BOOST_TEST(pair.opened.front().second == "another");
    BOOST_TEST(pair.caller.is_up());
    co_await a.close();
    co_await pair.stop();
}

SEASTAR_TEST_CASE(nonsense_ends_a_link) {
    for (const std::string_view nonsense :
         {"+OK\r\n*1\r\n$1\r\nx\r\n", "*1\r\n$1\r\nd\r\n", "*2\r\n$1\r\nm\r\n$1\r\nc\r\n",
          "*3\r\n$1\r\no\r\n$2\r\n-1\r\n$0\r\n\r\n", "*-5\r\n*x\r\n"}) {
        linked pair;
        co_await pair.here.write(nonsense);
        const auto why = co_await std::move(*std::exchange(pair.callee_done, std::nullopt));
        BOOST_TEST(why.contains("makes no sense"), nonsense << ": " << why);
        pair.callee_done = ss::make_ready_future<std::string>();
        co_await pair.stop();
    }
}

SEASTAR_TEST_CASE(who_was_called_opens_nothing) {
    linked pair;
    co_await pair.there.write("*3\r\n$1\r\no\r\n$1\r\n1\r\n$0\r\n\r\n");
    const auto why = co_await std::move(*std::exchange(pair.caller_done, std::nullopt));
    BOOST_TEST(why.contains("makes no sense"));
    pair.caller_done = ss::make_ready_future<std::string>();
    co_await pair.stop();
}

SEASTAR_TEST_CASE(messages_cross_with_the_lock_that_came_free) {
    linked pair;
    const shards::announcement plain{.channel = "c", .payload = "p"};
    const shards::announcement frees{.where = shards::announcement::space::shard_channel,
                                     .channel = "c",
                                     .payload = "p",
                                     .frees = shards::freed_lock{.database = 3, .key = "k"}};
    pair.caller.tell(plain);
    pair.caller.tell(frees);
    co_await pair.until([&] { return pair.heard.size() == 2; });
    BOOST_TEST((pair.heard[0] == plain));
    BOOST_TEST((pair.heard[1] == frees));
    co_await pair.stop();
}

SEASTAR_TEST_CASE(a_link_that_finishes_lets_its_channels_end_first) {
    linked pair;
    auto mine = pair.caller.open("who");
    co_await pair.until([&] { return !pair.opened.empty(); });
    ends a(mine);
    ends b(pair.opened.front().first);
    pair.callee.finish();
    auto refused = pair.caller.open("late");
    ends c(refused);
    co_await c.hear_refusal();
    co_await b.say("last words");
    BOOST_TEST(co_await a.hear() == "last words");
    BOOST_TEST(pair.callee.is_up());
    co_await b.close();
    BOOST_TEST(co_await std::move(*std::exchange(pair.callee_done, std::nullopt)) == "stopping");
    pair.callee_done = ss::make_ready_future<std::string>();
    co_await a.close();
    co_await c.close();
    co_await pair.stop();
}
