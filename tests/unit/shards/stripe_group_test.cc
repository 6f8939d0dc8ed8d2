#include "shards/stripe_group.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/testing/test_case.hh>

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

struct counted_answers final : lease_answers {
    void voted(const lock_key& key, attempt_id, master_index, const vote& answer) override {
        BOOST_TEST(key.name == "k");
        BOOST_TEST((answer.what == vote::answer::no_answer));
        ++votes;
    }
    void raised(const lock_key&, attempt_id, master_index, uint64_t, bool) override {}
    void renewed(const lock_key&, attempt_id, master_index, const renewal_answer& answer) override {
        BOOST_TEST((answer.what == renewal_answer::answer::no_answer));
        ++renewals;
    }
    void looked(const lock_key&, attempt_id, std::optional<std::string_view>,
                std::optional<std::chrono::nanoseconds>) override {}
    void link_lost(uint32_t, master_index) override {}

    int votes = 0;
    int renewals = 0;
};

/// Of masters that nobody reaches.
group_options nobody() {
    group_options options{.stripe = {.name = "main", .masters = {}},
                          .rules = {.masters = 3},
                          .fingerprint = "cfg",
                          .proxy = "lk"};
    for (const char* address :
         {"redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"}) {
        options.stripe.masters.push_back(config::parse_redis_address(address).value());
    }
    return options;
}

}  // namespace

/// Leases are asked for from within calls of the lock table, which an answer would change.
SEASTAR_TEST_CASE(what_cannot_be_sent_is_answered_but_not_within_the_call) {
    counted_answers answers;
    stripe_group group(nobody(), answers);
    co_await group.start();
    const lock_key key{.database = 0, .name = "k", .hash = {}};
    for (const auto what : {lease_action::kind::vote, lease_action::kind::renew}) {
        group.carry_out({.what = what,
                         .to = voter_set::first(3),
                         .attempt = {.high = 1, .low = 2},
                         .length = 1'000ms,
                         .block = 64},
                        key);
    }
    BOOST_TEST(answers.votes + answers.renewals == 0);
    while (answers.votes + answers.renewals < 6) {
        co_await ss::sleep(1ms);
    }
    BOOST_TEST(answers.votes == 3);
    co_await group.stop();
}

SEASTAR_TEST_CASE(a_group_that_nobody_reaches_stops_whatever_was_asked) {
    counted_answers answers;
    stripe_group group(nobody(), answers);
    co_await group.start();
    group.carry_out({.what = lease_action::kind::release,
                     .to = voter_set::first(3),
                     .attempt = {.high = 1, .low = 2},
                     .until = end_of_time},
                    {.database = 0, .name = "k", .hash = {}});
    group.carry_out({.what = lease_action::kind::vote,
                     .to = voter_set::first(3),
                     .attempt = {.high = 1, .low = 2},
                     .length = 1'000ms},
                    {.database = 0, .name = "k", .hash = {}});
    co_await group.stop();
}
