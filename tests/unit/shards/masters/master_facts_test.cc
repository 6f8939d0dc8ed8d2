#include "shards/masters/master_facts.hh"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace std::chrono_literals;
using protocol::reply;
using protocol::reply_kind;

namespace {

const std::string info =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
    "run_id:0123456789012345678901234567890123456789\r\nrun_id_of_nobody:x\r\n\r\n"
    "# Memory\r\nmaxmemory:1048576\r\nmaxmemory_human:1.00M\r\nmaxmemory_policy:allkeys-lru\r\n"
    "# Persistence\r\nloading:0\r\nasync_loading:1\r\naof_enabled:1\r\n"
    "# Replication\r\nrole:master\r\n";

reply role(const char* name) {
    return reply::aggregate(reply_kind::array, {reply::bulk(name), reply::integer(0),
                                                reply::aggregate(reply_kind::array, {})});
}

reply setting(const char* name, const char* value, reply_kind kind = reply_kind::map) {
    return reply::aggregate(kind, {reply::bulk(name), reply::bulk(value)});
}

/// A master as it should be, to be bent by each test.
std::vector<reply> good(std::string text = info) {
    return {reply::verbatim("txt:" + std::move(text)),
            role("master"),
            setting("appendonly", "yes"),
            setting("appendfsync", "always"),
            setting("maxmemory", "0"),
            setting("maxmemory-policy", "noeviction"),
            setting("save", "3600 1 300 100")};
}

constexpr size_t role_at = 1;
constexpr size_t config_at = 2;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const size_t at = text.find(what);
    BOOST_REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_questions_and_the_answers_are_as_many) {
    BOOST_TEST(facts_questions().replies() == good().size());
}

BOOST_AUTO_TEST_CASE(who_was_a_replica_is_known_by_its_second_history) {
    BOOST_TEST(!read_facts(good()).value().promoted.has_value());
    BOOST_TEST(!read_facts(good(info + "second_repl_offset:-1\r\n")).value().promoted.value());
    BOOST_TEST(read_facts(good(info + "second_repl_offset:1234\r\n")).value().promoted.value());
}

BOOST_AUTO_TEST_CASE(what_operators_change_is_read_if_it_is_told) {
    const auto told = read_changing_facts(
        std::vector<reply>{role("slave"), reply::verbatim("txt:# Memory\r\nmaxmemory:100\r\n"
                                                          "maxmemory_policy:allkeys-lru\r\n")});
    BOOST_TEST((told.role == master_role::replica));
    BOOST_TEST(told.memory_max.value() == 100u);
    BOOST_TEST(told.eviction.value() == "allkeys-lru");
    const auto untold = read_changing_facts(std::vector<reply>(2, reply::error("NOPERM")));
    BOOST_TEST((untold.role == master_role::unknown));
    BOOST_TEST((!untold.memory_max && !untold.eviction));
}

BOOST_AUTO_TEST_CASE(all_facts_are_read) {
    const auto facts = read_facts(good()).value();
    BOOST_TEST(facts.run_id == "0123456789012345678901234567890123456789");
    BOOST_TEST(facts.version == "7.0.15");
    BOOST_TEST(facts.mode == "standalone");
    BOOST_TEST((facts.role == master_role::master));
    BOOST_TEST(!facts.loading);
    BOOST_TEST(facts.append_only.value());
    BOOST_TEST(facts.append_fsync.value() == "always");
    BOOST_TEST(facts.memory_max.value() == 0u);
    BOOST_TEST(facts.eviction.value() == "noeviction");
    BOOST_TEST(facts.save.value() == "3600 1 300 100");
    BOOST_TEST(facts.config_verified);
}

BOOST_AUTO_TEST_CASE(resp2_tells_the_same) {
    auto replies = good();
    replies[0] = reply::bulk(info);
    for (size_t i = config_at; i < replies.size(); ++i) {
        const auto items = replies[i].items();
        replies[i] = reply::aggregate(reply_kind::array, {items[0], items[1]});
    }
    const auto facts = read_facts(replies).value();
    BOOST_TEST(facts.config_verified);
    BOOST_TEST(facts.append_fsync.value() == "always");
}

BOOST_AUTO_TEST_CASE(lines_may_end_without_a_carriage_return) {
    const auto facts = read_facts(good("redis_version:6.2.0\nrun_id:abc\nloading:1")).value();
    BOOST_TEST(facts.run_id == "abc");
    BOOST_TEST(facts.version == "6.2.0");
    BOOST_TEST(facts.loading);
}

BOOST_AUTO_TEST_CASE(no_snapshots_and_an_unknown_setting_are_two_things) {
    auto replies = good();
    replies[config_at + 4] = setting("save", "");
    BOOST_TEST(read_facts(replies).value().save.value() == "");
    BOOST_TEST(read_facts(replies).value().config_verified);
    replies[config_at + 4] = reply::aggregate(reply_kind::map, {});
    BOOST_TEST(!read_facts(replies).value().save.has_value());
    BOOST_TEST(!read_facts(replies).value().config_verified);
}

BOOST_AUTO_TEST_CASE(what_config_refuses_is_taken_from_info_where_it_is_there) {
    auto replies = good();
    for (size_t i = config_at; i < replies.size(); ++i) {
        replies[i] = reply::error("NOPERM this user has no permissions to run 'config|get'");
    }
    const auto facts = read_facts(replies).value();
    BOOST_TEST(!facts.config_verified);
    BOOST_TEST(facts.append_only.value());
    BOOST_TEST(facts.memory_max.value() == 1'048'576u);
    BOOST_TEST(facts.eviction.value() == "allkeys-lru");
    BOOST_TEST(!facts.append_fsync.has_value());
    BOOST_TEST(!facts.save.has_value());
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_is_not_told) {
    auto replies = good();
    replies[config_at + 2] = setting("maxmemory", "1gb");
    BOOST_TEST(!read_facts(replies).value().memory_max.has_value());
}

BOOST_AUTO_TEST_CASE(replicas_and_sentinels_are_known) {
    auto replies = good(replaced(info, "role:master", "role:slave"));
    replies[role_at] = role("slave");
    BOOST_TEST((read_facts(replies).value().role == master_role::replica));
    replies[role_at] = role("sentinel");
    BOOST_TEST((read_facts(replies).value().role == master_role::sentinel));
}

BOOST_AUTO_TEST_CASE(a_role_that_may_not_be_asked_for_is_taken_from_info) {
    auto replies = good();
    replies[role_at] =
        reply::error("NOPERM this user has no permissions to run the 'role' command");
    BOOST_TEST((read_facts(replies).value().role == master_role::master));
    replies[0] = reply::bulk("run_id:abc\r\n");
    BOOST_TEST((read_facts(replies).value().role == master_role::unknown));
}

BOOST_AUTO_TEST_CASE(a_master_that_says_both_is_none) {
    auto replies = good(replaced(info, "role:master", "role:slave"));
    BOOST_TEST((read_facts(replies).value().role == master_role::replica));
    replies = good();
    replies[role_at] = role("slave");
    BOOST_TEST((read_facts(replies).value().role == master_role::replica));
}

BOOST_AUTO_TEST_CASE(without_a_run_id_there_are_no_facts) {
    BOOST_TEST(!read_facts(good("redis_version:7.0.15\r\n")).has_value());
    auto replies = good();
    replies[0] = reply::error("NOPERM this user has no permissions to run the 'info' command");
    BOOST_TEST(read_facts(replies).error().find("refuses INFO: NOPERM") != std::string::npos);
    replies[0] = reply::integer(7);
    BOOST_TEST(!read_facts(replies).has_value());
}

BOOST_AUTO_TEST_CASE(too_few_answers_are_no_facts) {
    auto replies = good();
    replies.pop_back();
    BOOST_TEST(!read_facts(replies).has_value());
    BOOST_TEST(!read_facts({}).has_value());
}

BOOST_AUTO_TEST_CASE(the_time_is_read) {
    const auto time = [](const char* seconds, const char* microseconds) {
        return read_time(
            reply::aggregate(reply_kind::array, {reply::bulk(seconds), reply::bulk(microseconds)}));
    };
    BOOST_TEST((time("1700000000", "000123") == std::nullopt));  // as Redis never writes it
    BOOST_TEST((time("1700000000", "123") == 1700000000s + 123us));
    BOOST_TEST((time("0", "0") == 0us));
    BOOST_TEST((time("-1", "0") == std::nullopt));
    BOOST_TEST((time("1", "1000000") == std::nullopt));
    BOOST_TEST((time("9223372036854775807", "0") == std::nullopt));
    BOOST_TEST((time("now", "0") == std::nullopt));
    BOOST_TEST((read_time(reply::error("ERR")) == std::nullopt));
    BOOST_TEST((read_time(reply::null()) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(the_offset_of_a_clock_is_taken_at_the_middle) {
    const clock_sample sample{
        .sent = instant{1'000'000}, .received = instant{3'000'000}, .shown = 5ms};
    BOOST_TEST((sample.round_trip() == 2ms));
    BOOST_TEST((sample.offset() == 3ms));
}
