#include "proxy/access/roll.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper;
using namespace lockkeeper::proxy::access;

namespace {

const catalogue commands;

std::vector<user> users_of(std::string_view yaml) {
    const auto settings = config::parse(yaml, "f.yaml");
    BOOST_REQUIRE(settings.has_value());
    std::vector<config::mistake> mistakes;
    auto all = make_users(*settings, commands, "f.yaml", mistakes);
    BOOST_TEST(mistakes.empty());
    return all;
}

std::string mistake_of(std::string_view yaml) {
    const auto settings = config::parse(yaml, "f.yaml");
    BOOST_REQUIRE(settings.has_value());
    std::vector<config::mistake> mistakes;
    make_users(*settings, commands, "f.yaml", mistakes);
    BOOST_REQUIRE_EQUAL(mistakes.size(), 1u);
    return mistakes.front().show();
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_users_everybody_may_do_everything) {
    const auto all = users_of("");
    BOOST_REQUIRE_EQUAL(all.size(), 1u);
    BOOST_TEST(all[0].name() == "default");
    BOOST_TEST(all[0].is_enabled());
    BOOST_TEST(!all[0].needs_password());
    BOOST_TEST(all[0].may_do_everything());
}

BOOST_AUTO_TEST_CASE(with_users_the_default_one_is_off_unless_it_is_among_them) {
    const auto all = users_of("users: [{name: a, rules: 'nopass +@all'}]");
    BOOST_REQUIRE_EQUAL(all.size(), 2u);
    BOOST_TEST(!all[0].is_enabled());
    BOOST_TEST(all[1].is_enabled());
    BOOST_TEST(users_of("users: [{name: default, rules: 'nopass +@all'}]")[0].is_enabled());
}

BOOST_AUTO_TEST_CASE(rules_that_make_no_sense_are_told_with_their_place) {
    BOOST_TEST(mistake_of("users:\n  - name: a\n    rules: 'nopass +gett'\n") ==
               "f.yaml:3:12: user 'a': '+gett': there is no such command; did you mean 'get'?");
    BOOST_TEST(mistake_of("users:\n  - name: a\n    rules: '+get'\n") ==
               "f.yaml:2:5: user 'a' has no password, so nobody can log in; give passwords, or say "
               "'nopass' or 'off' in its rules");
}
