#include "proxy/log_lines.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper;
using namespace lockkeeper::proxy;

namespace {

const auto then =
    std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'007));

std::string line_of(std::string_view text) {
    return to_json_line(text, then);
}

const std::string begins = R"({"time":"2023-11-14T22:13:20.007Z",)";

}  // namespace

BOOST_AUTO_TEST_CASE(a_line_of_a_core_has_all_its_parts) {
    BOOST_TEST(
        line_of("WARN  2026-01-02 03:04:05,678 [shard 1:main] session - client 7 - gone\n") ==
        begins + R"("level":"warn","core":1,"group":"main","logger":"session",)"
                 R"("message":"client 7 - gone"})"
                 "\n");
}

BOOST_AUTO_TEST_CASE(numbers_of_cores_and_names_of_groups_may_be_padded) {
    BOOST_TEST(line_of("INFO  2026-01-02 03:04:05,678 [shard  3:adm ] http - hello") ==
               begins + R"("level":"info","core":3,"group":"adm","logger":"http",)"
                        R"("message":"hello"})"
                        "\n");
}

BOOST_AUTO_TEST_CASE(a_line_from_before_the_cores_has_none) {
    BOOST_TEST(line_of("INFO  2026-01-02 03:04:05,678 seastar - Reactor backend: epoll\n") ==
               begins + R"("level":"info","logger":"seastar","message":"Reactor backend: epoll"})"
                        "\n");
}

BOOST_AUTO_TEST_CASE(colours_of_a_terminal_are_no_part_of_it) {
    BOOST_TEST(line_of("\x1b[31mERROR\x1b[0m 2026-01-02 03:04:05,678 [shard 0:main] a - b\n") ==
               begins + R"("level":"error","core":0,"group":"main","logger":"a","message":"b"})"
                        "\n");
}

BOOST_AUTO_TEST_CASE(what_is_no_line_of_a_logger_is_a_message) {
    BOOST_TEST(line_of("something else\n") == begins +
                                                  R"("level":"info","message":"something else"})"
                                                  "\n");
    BOOST_TEST(line_of("") == begins + R"("level":"info","message":""})"
                                       "\n");
    BOOST_TEST(line_of("INFO without a dash") ==
               begins + R"("level":"info","message":"INFO without a dash"})"
                        "\n");
}

BOOST_AUTO_TEST_CASE(nothing_ends_the_line_or_the_object) {
    BOOST_TEST(
        line_of("INFO  d t [shard 0:main] a - x\"}\n{\"level\":\"error\"}\r\x1b[0m\\\xff\x00z\n") ==
        begins + R"("level":"info","core":0,"group":"main","logger":"a","message":)"
                 R"("x\"}\u000a{\"level\":\"error\"}\u000d\u001b[0m\\\\xff"})"
                 "\n");
}

BOOST_AUTO_TEST_CASE(members_are_for_the_audit_and_for_json_alone) {
    const auto members = [] {
        admin::json more;
        more.begin_object().member("user", "root").member("client", 7).end();
        return more;
    };
    BOOST_TEST(with_members("text", members()) == "text");
    set_log_format(config::log_format::json);
    const std::string both = with_members("text", members());
    set_log_format(config::log_format::text);
    BOOST_TEST(line_of("INFO  d t [shard 0:main] audit - " + both + "\n") ==
               begins + R"("level":"info","core":0,"group":"main","logger":"audit",)"
                        R"("message":"text","user":"root","client":7})"
                        "\n");
    BOOST_TEST(line_of("INFO  d t [shard 0:main] session - " + both + "\n").find("\"user\":\"") ==
               std::string::npos);
}
