#include "shards/masters/vote_commands.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "shards/core/fence_slots.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace std::chrono_literals;
using protocol::output;
using protocol::reply;

namespace {

const incarnation admitted{.run_id = "run1", .fingerprint = "cfg1"};

reply bulk(std::string text) {
    return reply::bulk(std::move(text));
}
reply array(std::vector<reply> items) {
    return reply::aggregate(protocol::reply_kind::array, std::move(items));
}
reply head(std::string run_id = "run1", std::string fingerprint = "cfg1",
           std::string base = "1000") {
    return array({bulk(std::move(run_id)), bulk(std::move(fingerprint)), bulk(std::move(base))});
}
reply ok() {
    return reply::simple("OK");
}

vote::answer read(const reply& exec, uint32_t block = 64) {
    return read_vote(exec, admitted, block).what;
}

}  // namespace

// ---- The vote; what real masters make of it is in tests/e2e/vote_commands_test.py

BOOST_AUTO_TEST_CASE(a_vote_is_one_transaction_of_five_commands) {
    output out;
    write_vote(out, {.key = "k",
                     .value = "me:1",
                     .length = 20s,
                     .fence_key = stripe_keys("a").fence,
                     .slot = 7,
                     .block = 64});
    BOOST_TEST(
        out.view() ==
        "*1\r\n$5\r\nMULTI\r\n"
        "*5\r\n$5\r\nHMGET\r\n$12\r\nlk:{a}:fence\r\n$3\r\ninc\r\n$3\r\ncfg\r\n$4\r\nbase\r\n"
        "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nme:1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n20000\r\n"
        "*4\r\n$7\r\nHINCRBY\r\n$12\r\nlk:{a}:fence\r\n$1\r\n7\r\n$2\r\n64\r\n"
        "*1\r\n$4\r\nEXEC\r\n");
}

BOOST_AUTO_TEST_CASE(a_granted_vote_carries_base_and_slot_together) {
    const auto answer = read_vote(array({head(), ok(), reply::integer(64)}), admitted, 64);
    BOOST_TEST((answer.what == vote::answer::granted));
    BOOST_TEST(answer.counter == 1'064);
}

BOOST_AUTO_TEST_CASE(a_vote_on_a_key_that_is_taken_is_busy) {
    BOOST_TEST((read(array({head(), reply::null(), reply::integer(64)})) == vote::answer::busy));
    BOOST_TEST(
        (read(array({head(), reply::null_array(), reply::integer(64)})) == vote::answer::busy));
}

BOOST_AUTO_TEST_CASE(only_the_admitted_incarnation_of_our_fleet_votes) {
    const reply other_run = array({head("run2"), ok(), reply::integer(64)});
    const reply other_fleet = array({head("run1", "cfg2"), ok(), reply::integer(64)});
    const reply flushed =
        array({array({reply::null(), reply::null(), reply::null()}), ok(), reply::integer(64)});
    for (const auto& answer : {other_run, other_fleet, flushed}) {
        BOOST_TEST((read(answer) == vote::answer::refused));
        BOOST_TEST(shows_other_incarnation(answer, admitted));
    }
    // It does not matter whether the key was taken there.
    BOOST_TEST(
        (read(array({head("run2"), reply::null(), reply::integer(64)})) == vote::answer::refused));
    BOOST_TEST(!shows_other_incarnation(array({head(), ok(), reply::integer(64)}), admitted));
    BOOST_TEST(!shows_other_incarnation(reply::error("EXECABORT x"), admitted));
}

BOOST_AUTO_TEST_CASE(answers_that_make_no_sense_are_no_votes) {
    const std::vector<reply> nonsense = {
        reply::null(),
        reply::null_array(),
        ok(),
        reply::integer(1),
        reply::error("EXECABORT Transaction discarded because of previous errors."),
        reply::error("ERR EXEC without MULTI"),
        array({}),
        array({head(), ok()}),
        array({head(), ok(), reply::integer(64), ok()}),
        array({ok(), ok(), reply::integer(64)}),
        array({array({}), ok(), reply::integer(64)}),
        array({head(), reply::error("OOM"), reply::integer(64)}),
        array({head(), reply::integer(1), reply::integer(64)}),
        array({head(), ok(), reply::error("WRONGTYPE")}),
        array({head(), ok(), reply::null()}),
        array({head(), ok(), reply::integer(-64)}),
        array({head(), ok(), reply::integer(63)}),  // less than this vote has added
        array({head("run1", "cfg1", "x"), ok(), reply::integer(64)}),
        array({head("run1", "cfg1", "-1"), ok(), reply::integer(64)}),
        array({head("run1", "cfg1", "1.8e15"), ok(), reply::integer(64)}),
    };
    for (size_t i = 0; i < nonsense.size(); ++i) {
        BOOST_TEST((read(nonsense[i]) == vote::answer::refused), "answer " << i);
    }
}

BOOST_AUTO_TEST_CASE(fences_end_where_doubles_cannot_tell_them_apart) {
    const auto at = [](uint64_t base) {
        return read(array({head("run1", "cfg1", std::to_string(base)), ok(), reply::integer(64)}));
    };
    BOOST_TEST((at(fences_end - 65) == vote::answer::granted));
    BOOST_TEST((at(fences_end - 64) == vote::answer::refused));
    BOOST_TEST((at(fences_end) == vote::answer::refused));
}

BOOST_AUTO_TEST_CASE(without_fences_a_vote_asks_for_the_incarnation_behind_the_key) {
    output out;
    write_plain_vote(out, {.key = "k", .value = "me:1", .length = 1500ms, .fence_key = "f"});
    BOOST_TEST(out.view() ==
               "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nme:1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n1500\r\n"
               "*4\r\n$5\r\nHMGET\r\n$1\r\nf\r\n$3\r\ninc\r\n$3\r\ncfg\r\n");
    const auto plain = [](const reply& set, const reply& facts) {
        return read_plain_vote(set, facts, admitted).what;
    };
    const auto right = array({bulk("run1"), bulk("cfg1")});
    BOOST_TEST((plain(ok(), right) == vote::answer::granted));
    BOOST_TEST((plain(reply::null(), right) == vote::answer::busy));
    BOOST_TEST((plain(reply::error("OOM x"), right) == vote::answer::refused));
    BOOST_TEST(!shows_other_incarnation(right, admitted));
    // After a restart or a flush, a key that could be set is worth nothing.
    for (const auto& wrong :
         {array({bulk("run2"), bulk("cfg1")}), array({bulk("run1"), bulk("cfg2")}),
          array({reply::null(), reply::null()})}) {
        BOOST_TEST((plain(ok(), wrong) == vote::answer::refused));
        BOOST_TEST(shows_other_incarnation(wrong, admitted));
    }
    BOOST_TEST((plain(ok(), reply::error("NOPERM x")) == vote::answer::refused));
}

// ---- The rest

BOOST_AUTO_TEST_CASE(a_look_tells_the_holder_and_its_end) {
    const auto held = read_look(reply::integer(1'500), bulk("other:1"));
    BOOST_REQUIRE(held);
    BOOST_TEST(*held->holder == "other:1");
    BOOST_TEST((*held->remaining == 1'500ms));
    const auto endless = read_look(reply::integer(-1), bulk("x"));
    BOOST_TEST(!endless->remaining);
    BOOST_TEST(!endless->free);
    BOOST_TEST(read_look(reply::integer(-2), reply::null())->free);
    const auto hash = read_look(reply::integer(10), reply::error("WRONGTYPE x"));
    BOOST_TEST(!hash->holder);
    BOOST_TEST(!hash->free);
    BOOST_TEST(!read_look(reply::error("NOPERM x"), reply::null()));
}

BOOST_AUTO_TEST_CASE(a_renewal_tells_ours_not_ours_and_not_admitted_apart) {
    using answer = renewal_answer::answer;
    BOOST_TEST((read_renew(array({reply::integer(1)}), 0).what == answer::extended));
    const auto block = read_renew(array({reply::integer(1), bulk("1844674407370955")}), 64);
    BOOST_TEST((block.what == answer::extended));
    BOOST_TEST(block.counter == 1'844'674'407'370'955);
    BOOST_TEST((read_renew(array({reply::integer(0)}), 64).what == answer::not_ours));
    BOOST_TEST((read_renew(array({reply::integer(-1)}), 64).what == answer::refused));
    BOOST_TEST((read_renew(array({reply::integer(1)}), 64).what == answer::refused));
    BOOST_TEST((read_renew(reply::error("NOSCRIPT x"), 0).what == answer::refused));
    BOOST_TEST((read_renew(reply::integer(1), 0).what == answer::refused));
    BOOST_TEST(shows_other_incarnation(array({reply::integer(-1)}), admitted));
    BOOST_TEST(shows_other_incarnation(reply::error("NOSCRIPT No matching script."), admitted));
    BOOST_TEST(!shows_other_incarnation(array({reply::integer(0)}), admitted));
}

BOOST_AUTO_TEST_CASE(the_other_masters_are_admitted_forgetful_or_silent) {
    using standing = other_master::standing;
    const auto horizon = read_other(array({reply::integer(1), bulk("1500")}));
    BOOST_TEST((horizon.what == standing::admitted));
    BOOST_TEST((horizon.horizon == 1'500ms));
    const auto counters = read_other(array({reply::integer(1), bulk("0"), bulk("77")}));
    BOOST_TEST(counters.counter == 77);
    BOOST_TEST((read_other(array({reply::integer(-1)})).what == standing::forgot));
    BOOST_TEST((read_other(array({reply::integer(1)})).what == standing::silent));
    BOOST_TEST((read_other(array({reply::integer(1), bulk("x")})).what == standing::silent));
    BOOST_TEST((read_other(reply::error("NOSCRIPT x")).what == standing::silent));
    BOOST_TEST(
        joined(counters, read_other(array({reply::integer(1), bulk("5"), bulk("99")}))).counter ==
        99);
    BOOST_TEST((joined(counters, other_master{}).what == standing::silent));
    BOOST_TEST((joined(other_master{.what = standing::forgot}, counters).what == standing::forgot));
    // A mark without an end.
    const auto endless = read_other(array({reply::integer(1), bulk("9007199254740991")}));
    BOOST_TEST((endless.horizon > std::chrono::hours(1'000'000)));
}

BOOST_AUTO_TEST_CASE(the_head_of_a_fence_table_may_be_empty) {
    handshake_facts facts;
    BOOST_TEST(read_head(array({reply::null(), reply::null(), reply::null()}), facts));
    BOOST_TEST(!facts.incarnation);
    BOOST_TEST(read_head(array({bulk("run1"), bulk("cfg1"), bulk("")}), facts));
    BOOST_TEST(*facts.incarnation == "run1");
    BOOST_TEST(!read_head(reply::error("WRONGTYPE x"), facts));
}

BOOST_AUTO_TEST_CASE(answers_to_pend_and_admit_are_read_strictly) {
    BOOST_TEST(read_pend(array({reply::integer(1)}))->already_admitted);
    const auto first = read_pend(array({reply::integer(0), bulk("nonce"), bulk("")}));
    BOOST_TEST(first->nonce == "nonce");
    BOOST_TEST(!first->incarnation);
    const auto again = read_pend(array({reply::integer(0), bulk("nonce"), bulk("run1")}));
    BOOST_TEST(again->incarnation.value() == "run1");
    BOOST_TEST(!read_pend(array({reply::integer(0)})));
    BOOST_TEST(!read_pend(array({reply::integer(0), bulk("nonce")})));
    BOOST_TEST(!read_pend(array({reply::integer(0), bulk(""), bulk("")})));
    BOOST_TEST(!read_pend(reply::error("NOSCRIPT x")));
    BOOST_TEST(*read_admit(reply::integer(1)));
    BOOST_TEST(!*read_admit(reply::integer(0)));
    BOOST_TEST(!read_admit(reply::error("NOSCRIPT x")));
}
