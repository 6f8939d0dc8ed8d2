#include "proxy/command.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "proxy/owned_request.hh"

using namespace lockkeeper::proxy;
using lockkeeper::protocol::request;

BOOST_AUTO_TEST_CASE(commands_are_found_in_any_case) {
    for (const char* name : {"set", "SET", "sEt"}) {
        const command_spec* spec = find_command(name);
        BOOST_REQUIRE(spec);
        BOOST_TEST(spec->name == "set");
    }
    for (const char* name : {"", "se", "sett", "nosuch", "lk.", "\xd3\xc5\xd4"}) {
        BOOST_TEST(!find_command(name), name);
    }
    BOOST_TEST(!find_command(std::string(10'000, 'x')));
}

BOOST_AUTO_TEST_CASE(every_command_can_be_found_and_run) {
    for (const command_spec* spec : all_commands()) {
        BOOST_TEST(find_command(spec->name) == spec, spec->name);
        BOOST_TEST((spec->on_client || spec->on_keys || spec->in_time), spec->name);
        BOOST_TEST(spec->least >= 1, spec->name);
        BOOST_TEST((spec->most == -1 || spec->most >= spec->least), spec->name);
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_may_have_keys_of_several_cores_has_a_way_for_them) {
    for (const command_spec* spec : all_commands()) {
        const bool several =
            spec->find_keys || (spec->keys.first != 0 && spec->keys.first != spec->keys.last);
        if (several && spec->on_keys) {
            BOOST_TEST(spec->in_time, spec->name);
        }
    }
}

BOOST_AUTO_TEST_CASE(keys_are_found_by_their_positions) {
    const std::string_view del[] = {"DEL", "a", "b", "c"};
    const auto keys = keys_of(*find_command("del"), request{del});
    BOOST_TEST((keys == std::vector<std::string_view>{"a", "b", "c"}));
    const std::string_view blpop[] = {"BLPOP", "a", "b", "0"};
    BOOST_TEST((keys_of(*find_command("blpop"), request{blpop}) ==
                std::vector<std::string_view>{"a", "b"}));
    const std::string_view ping[] = {"PING", "a"};
    BOOST_TEST(keys_of(*find_command("ping"), request{ping}).empty());
}

BOOST_AUTO_TEST_CASE(an_owned_request_keeps_its_arguments_after_the_bytes_are_gone) {
    std::string bytes = "SETkey";
    const std::string_view views[] = {std::string_view(bytes).substr(0, 3),
                                      std::string_view(bytes).substr(3), ""};
    const owned_request owned{request{views}};
    bytes.assign(bytes.size(), '?');
    BOOST_TEST(owned.size() == 3u);
    BOOST_TEST((owned.views() == std::vector<std::string_view>{"SET", "key", ""}));
}

BOOST_AUTO_TEST_CASE(what_looks_and_what_tries_may_be_repeated_and_nothing_else) {
    const auto may_be = [](std::vector<std::string_view> words) {
        return may_be_repeated(*find_command(words[0]), request{words});
    };
    BOOST_TEST(may_be({"GET", "k"}));
    BOOST_TEST(may_be({"EXISTS", "a", "b"}));
    BOOST_TEST(may_be({"SET", "k", "t", "NX"}));
    BOOST_TEST(may_be({"SET", "k", "t", "PX", "1000", "nx"}));
    BOOST_TEST(!may_be({"SET", "k", "t"}));
    BOOST_TEST(!may_be({"SET", "k", "t", "PX", "1000"}));
    BOOST_TEST(!may_be({"SET", "k", "t", "XX", "PX", "1000"}));
    BOOST_TEST(!may_be({"SET", "k", "t", "NX", "GET"}));
    BOOST_TEST(!may_be({"SET", "k", "t", "IFEQ", "NX"}));
    BOOST_TEST(!may_be({"SET", "k", "t", "NX", "XX"}));
    BOOST_TEST(!may_be({"DEL", "k"}));
    BOOST_TEST(!may_be({"GETDEL", "k"}));
    BOOST_TEST(!may_be({"EVAL", "return 1", "1", "k"}));
}
