#include "shards/masters/greeting.hh"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace lockkeeper;
using namespace lockkeeper::shards;
using protocol::reply;
using protocol::reply_kind;

namespace {

config::redis_address address_of(const char* text) {
    return config::parse_redis_address(text).value();
}

reply hello(int protocol = 3) {
    return reply::aggregate(reply_kind::map,
                            {reply::bulk("server"), reply::bulk("redis"), reply::bulk("proto"),
                             reply::integer(protocol), reply::bulk("id"), reply::integer(7)});
}

std::string why_not(const char* address, std::vector<reply> replies) {
    return greeting_refused(address_of(address), replies).value_or("");
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_password_the_greeting_has_a_name_only) {
    const auto words = greeting(address_of("redis://h"), "lockkeeper-a-0");
    BOOST_TEST(words.bytes() ==
               "*4\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n$14\r\nlockkeeper-a-0\r\n");
    BOOST_TEST(words.replies() == 1u);
}

BOOST_AUTO_TEST_CASE(a_password_alone_is_that_of_the_default_user) {
    const auto words = greeting(address_of("redis://:secret@h"), "x");
    BOOST_TEST(words.bytes() ==
               "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$6\r\nsecret\r\n"
               "$7\r\nSETNAME\r\n$1\r\nx\r\n");
}

BOOST_AUTO_TEST_CASE(a_user_and_a_database_are_named) {
    const auto words = greeting(address_of("redis://me:secret@h/3"), "x");
    BOOST_TEST(words.bytes() ==
               "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n"
               "$7\r\nSETNAME\r\n$1\r\nx\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
    BOOST_TEST(words.replies() == 2u);
}

BOOST_AUTO_TEST_CASE(a_name_that_redis_would_refuse_is_mended) {
    const auto words = greeting(address_of("redis://h"), "a b\n\xff");
    BOOST_TEST(words.bytes().ends_with("$5\r\na_b__\r\n"));
}

BOOST_AUTO_TEST_CASE(redis_lets_us_in) {
    BOOST_TEST(why_not("redis://h", {hello()}) == "");
    BOOST_TEST(why_not("redis://h/2", {hello(), reply::simple("OK")}) == "");
}

BOOST_AUTO_TEST_CASE(a_missing_password_is_said_so) {
    const auto why = why_not("redis://h:7000", {reply::error("NOAUTH HELLO must be called with")});
    BOOST_TEST(contains(why, "needs a password"));
    BOOST_TEST(contains(why, "redis://h:7000"));
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_said_so_but_not_told) {
    const auto why =
        why_not("redis://me:secret@h", {reply::error("WRONGPASS invalid username-password pair")});
    BOOST_TEST(contains(why, "user 'me'"));
    BOOST_TEST(!contains(why, "secret"));
    BOOST_TEST(
        contains(why_not("redis://:secret@h", {reply::error("WRONGPASS no")}), "user 'default'"));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_too_old_is_said_so) {
    BOOST_TEST(
        contains(why_not("redis://h", {reply::error("ERR unknown command 'HELLO'")}), "Redis 6.0"));
    BOOST_TEST(contains(
        why_not("redis://h", {reply::error("NOPROTO unsupported protocol version")}), "Redis 6.0"));
}

BOOST_AUTO_TEST_CASE(what_else_it_says_is_passed_on_without_control_bytes) {
    const auto why =
        why_not("redis://h", {reply::error("ERR max number of clients reached\x1b[31m")});
    BOOST_TEST(contains(why, "max number of clients reached"));
    BOOST_TEST(!contains(why, "\x1b"));
}

BOOST_AUTO_TEST_CASE(what_is_not_redis_is_not_let_through) {
    BOOST_TEST(contains(why_not("redis://h", {reply::simple("OK")}), "not Redis"));
    BOOST_TEST(contains(why_not("redis://h", {hello(2)}), "not Redis"));
    // An echo server gives our own words back.
    BOOST_TEST(contains(
        why_not("redis://h", {reply::aggregate(reply_kind::array, {reply::bulk("HELLO")})}),
        "not Redis"));
    BOOST_TEST(contains(why_not("redis://h", {}), "did not answer"));
}

BOOST_AUTO_TEST_CASE(a_database_that_is_not_there_is_said_so) {
    const auto why =
        why_not("redis://h/99", {hello(), reply::error("ERR DB index is out of range")});
    BOOST_TEST(contains(why, "database 99"));
    BOOST_TEST(contains(why, "out of range"));
}

BOOST_AUTO_TEST_CASE(a_login_names_the_user_also_if_it_is_the_default_one) {
    BOOST_TEST(login(address_of("redis://:word@h")).bytes() ==
               "*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$4\r\nword\r\n");
    BOOST_TEST(login(address_of("redis://me:word@h")).bytes() ==
               "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$4\r\nword\r\n");
}
