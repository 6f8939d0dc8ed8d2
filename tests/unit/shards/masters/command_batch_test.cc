#include "shards/masters/command_batch.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;

BOOST_AUTO_TEST_CASE(each_command_brings_a_reply) {
    command_batch batch;
    BOOST_TEST(batch.empty());
    batch.add("MULTI").add("SET", "k", 7).add("EXEC");
    BOOST_TEST(batch.replies() == 3u);
    BOOST_TEST(
        batch.bytes() ==
        "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n7\r\n*1\r\n$4\r\nEXEC\r\n");
    const std::string_view words[] = {"GET", "k"};
    batch.add_arguments(words);
    BOOST_TEST(batch.replies() == 4u);
}

BOOST_AUTO_TEST_CASE(other_writers_say_how_many_commands_they_write) {
    command_batch batch;
    lockkeeper::protocol::write_command(batch.append(1), "PING");
    BOOST_TEST(batch.replies() == 1u);
    BOOST_TEST(batch.bytes() == "*1\r\n$4\r\nPING\r\n");
}

BOOST_AUTO_TEST_CASE(what_is_answered_by_pushes_brings_no_reply) {
    command_batch batch;
    const std::string_view words[] = {"SUBSCRIBE", "c"};
    batch.add_pushed(words);
    BOOST_TEST(batch.replies() == 0u);
    BOOST_TEST(!batch.empty());
}

BOOST_AUTO_TEST_CASE(a_cleared_batch_is_as_new) {
    command_batch batch;
    batch.add("PING");
    batch.clear();
    BOOST_TEST(batch.empty());
    BOOST_TEST(batch.replies() == 0u);
}
