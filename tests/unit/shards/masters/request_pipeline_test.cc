#include "shards/masters/request_pipeline.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/manual_clock.hh>
#include <seastar/testing/test_case.hh>

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace std::chrono_literals;
using protocol::reply;

namespace {

using pipeline = request_pipeline<ss::manual_clock>;

struct fixture {
    master_statistics counted{};
    pipeline waiting{{.requests = 3, .bytes = 100}, counted};

    ss::future<master_result> expect(uint32_t replies = 1,
                                     std::optional<std::chrono::milliseconds> timeout = {},
                                     std::size_t bytes = 10) {
        return waiting.expect({.replies = replies,
                               .bytes = bytes,
                               .timeout = timeout,
                               .generation = {7},
                               .sent = instant{1'000}});
    }
    bool take(int64_t number) { return waiting.take(reply::integer(number), instant{5'000}); }
};

int64_t only_number(const master_result& result) {
    BOOST_REQUIRE(result.has_value());
    BOOST_REQUIRE(result->replies.size() == 1u);
    return result->replies.front().as_integer().value();
}

}  // namespace

SEASTAR_TEST_CASE(replies_go_to_who_asked_first) {
    fixture f;
    auto first = f.expect();
    auto second = f.expect();
    BOOST_TEST(f.take(1));
    BOOST_TEST(!second.available());
    BOOST_TEST(f.take(2));
    const auto result = co_await std::move(first);
    BOOST_TEST(only_number(result) == 1);
    BOOST_TEST((result->generation == link_generation{7}));
    BOOST_TEST((result->sent == instant{1'000}));
    BOOST_TEST((result->received == instant{5'000}));
    BOOST_TEST(only_number(co_await std::move(second)) == 2);
    BOOST_TEST(f.counted.replies == 2u);
    BOOST_TEST((f.counted.round_trips.smoothed() == 4us));
}

SEASTAR_TEST_CASE(a_request_is_answered_when_all_its_replies_have_come) {
    fixture f;
    auto three = f.expect(3);
    auto one = f.expect();
    f.take(1);
    f.take(2);
    BOOST_TEST(!three.available());
    f.take(3);
    f.take(4);
    const auto result = co_await std::move(three);
    BOOST_TEST(result->replies.size() == 3u);
    BOOST_TEST(result->replies[2].as_integer().value() == 3);
    BOOST_TEST(only_number(co_await std::move(one)) == 4);
}

SEASTAR_TEST_CASE(a_reply_that_nobody_asked_for_is_refused) {
    fixture f;
    BOOST_TEST(!f.take(1));
    auto one = f.expect();
    BOOST_TEST(f.take(1));
    BOOST_TEST(!f.take(2));
    BOOST_TEST(only_number(co_await std::move(one)) == 1);
}

SEASTAR_TEST_CASE(a_timeout_answers_at_once_and_the_late_reply_is_dropped) {
    fixture f;
    auto late = f.expect(1, 250ms);
    auto next = f.expect(1, 10s);
    ss::manual_clock::advance(250ms);
    BOOST_TEST(((co_await std::move(late)).error() == master_error::timed_out));
    BOOST_TEST(f.waiting.requests() == 2u);
    f.take(1);
    BOOST_TEST(!next.available());
    f.take(2);
    BOOST_TEST(only_number(co_await std::move(next)) == 2);
    BOOST_TEST(f.counted.timeouts == 1u);
    BOOST_TEST(f.counted.late_replies == 1u);
    BOOST_TEST(f.waiting.requests() == 0u);
}

SEASTAR_TEST_CASE(half_an_answer_is_no_answer) {
    fixture f;
    auto half = f.expect(2, 250ms);
    auto next = f.expect(1, 10s);
    f.take(1);
    ss::manual_clock::advance(250ms);
    BOOST_TEST(((co_await std::move(half)).error() == master_error::timed_out));
    f.take(2);
    f.take(3);
    BOOST_TEST(only_number(co_await std::move(next)) == 3);
}

SEASTAR_TEST_CASE(an_answer_in_time_is_not_followed_by_a_timeout) {
    fixture f;
    auto one = f.expect(1, 250ms);
    f.take(1);
    ss::manual_clock::advance(1s);
    BOOST_TEST(only_number(co_await std::move(one)) == 1);
    BOOST_TEST(f.counted.timeouts == 0u);
}

SEASTAR_TEST_CASE(there_is_room_up_to_the_number_of_requests) {
    fixture f;
    std::vector<ss::future<master_result>> all;
    all.push_back(f.expect());
    all.push_back(f.expect(1, 1ms));
    BOOST_TEST(f.waiting.has_room(10));
    all.push_back(f.expect());
    BOOST_TEST(!f.waiting.has_room(10));
    // One whose time is up is still in flight: its reply is owed.
    ss::manual_clock::advance(1ms);
    BOOST_TEST(!f.waiting.has_room(10));
    f.take(1);
    BOOST_TEST(f.waiting.has_room(10));
    f.waiting.fail_all(master_error::connection_lost);
    for (auto& one : all) {
        co_await std::move(one);
    }
}

SEASTAR_TEST_CASE(there_is_room_up_to_the_number_of_bytes) {
    fixture f;
    auto one = f.expect(1, {}, 60);
    BOOST_TEST(f.waiting.bytes() == 60u);
    BOOST_TEST(f.waiting.has_room(40));
    BOOST_TEST(!f.waiting.has_room(41));
    BOOST_TEST(!f.waiting.has_room(static_cast<std::size_t>(-1)));
    f.take(1);
    BOOST_TEST(f.waiting.has_room(100));
    BOOST_TEST(!f.waiting.has_room(101));
    co_await std::move(one);
}

SEASTAR_TEST_CASE(the_end_of_a_connection_reaches_everyone_who_waits_once) {
    fixture f;
    auto timed_out = f.expect(1, 1ms);
    auto half = f.expect(2);
    ss::manual_clock::advance(1ms);
    BOOST_TEST(((co_await std::move(timed_out)).error() == master_error::timed_out));
    f.take(1);
    f.take(2);
    f.waiting.fail_all(master_error::protocol_error);
    BOOST_TEST(((co_await std::move(half)).error() == master_error::protocol_error));
    BOOST_TEST(f.waiting.requests() == 0u);
    BOOST_TEST(f.waiting.bytes() == 0u);
    BOOST_TEST(f.counted.lost == 1u);
    // The next connection begins with nothing owed.
    BOOST_TEST(!f.take(3));
}

SEASTAR_TEST_CASE(the_oldest_answer_that_is_owed_is_known) {
    fixture f;
    BOOST_TEST(!f.waiting.owed_since().has_value());
    const auto first_sent = ss::manual_clock::now();
    auto first = f.expect();
    ss::manual_clock::advance(1s);
    const auto second_sent = ss::manual_clock::now();
    auto second = f.expect();
    BOOST_TEST((f.waiting.owed_since() == first_sent));
    f.take(1);
    BOOST_TEST((f.waiting.owed_since() == second_sent));
    f.take(2);
    BOOST_TEST(!f.waiting.owed_since().has_value());
    co_await std::move(first);
    co_await std::move(second);
}
