#include "config/users.hh"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/load.hh"

using namespace lockkeeper::config;

namespace {

std::string mistake_in(std::string_view text) {
    const auto loaded = parse(text, "f.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded.error().size(), 1u);
    return loaded.error().front().show();
}

std::string mistake_in_user(std::string_view inside) {
    return mistake_in("users:\n  - name: a\n    " + std::string(inside) + "\n");
}

/// A file that is gone after the test.
class secret_file {
public:
    explicit secret_file(std::string_view text)
        : _path(std::filesystem::temp_directory_path() /
                ("lockkeeper-secret-" + std::to_string(::getpid()))) {
        std::ofstream(_path) << text;
    }
    ~secret_file() { std::filesystem::remove(_path); }
    std::string path() const { return _path.string(); }

private:
    std::filesystem::path _path;
};

}  // namespace

BOOST_AUTO_TEST_CASE(users_are_read_in_their_order) {
    setenv("LOCKKEEPER_TEST_PASSWORD", "from the environment", 1);
    const secret_file file("from a file\n");
    const auto loaded = parse(
        "users:\n"
        "  - name: billing\n"
        "    passwords: [env:LOCKKEEPER_TEST_PASSWORD, 'file:" +
            file.path() +
            "', "
            "'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08']\n"
            "    rules: '~billing:*   +@all'\n"
            "    connections: 10\n"
            "    rate: 500\n"
            "  - {name: guest, rules: [nopass, '+get %R~*']}\n",
        "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded->users.size(), 2u);
    const user_options& first = loaded->users[0];
    BOOST_TEST(first.name == "billing");
    BOOST_REQUIRE_EQUAL(first.passwords.size(), 3u);
    BOOST_TEST((first.passwords[0].digest == sha256_of("from the environment")));
    BOOST_TEST((first.passwords[1].digest == sha256_of("from a file")));
    BOOST_TEST((first.passwords[2].digest == sha256_of("test")));
    BOOST_REQUIRE_EQUAL(first.rules.size(), 2u);
    BOOST_TEST(first.rules[1].text == "+@all");
    BOOST_TEST(first.connections == 10u);
    BOOST_TEST(first.rate == 500u);
    BOOST_TEST(loaded->users[1].rules.size() == 3u);

    const std::string shown = to_yaml(*loaded);
    BOOST_TEST(shown.find("from ") == std::string::npos);
    const auto again = parse(shown, "again");
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(to_yaml(*again) == shown);
}

BOOST_AUTO_TEST_CASE(mistakes_are_told_with_their_place_and_without_the_secret) {
    BOOST_TEST(mistake_in_user("passwords: hunter2") ==
               "f.yaml:3:16: 'passwords': no password stands in this file itself; use env:NAME, "
               "file:/path or sha256:DIGITS");
    BOOST_TEST(mistake_in_user("rules: '>hunter2'") ==
               "f.yaml:3:12: 'rules': no password stands in this file itself; use 'passwords', as "
               "in passwords: [env:NAME]");
    BOOST_TEST(mistake_in_user("passwords: env:LOCKKEEPER_NO_SUCH_VARIABLE") ==
               "f.yaml:3:16: 'passwords': the environment has no 'LOCKKEEPER_NO_SUCH_VARIABLE', or "
               "an empty one");
    BOOST_TEST(mistake_in_user("passwords: file:/nowhere/secret") ==
               "f.yaml:3:16: 'passwords': '/nowhere/secret' cannot be read: No such file or "
               "directory");
    BOOST_TEST(mistake_in_user("passwords: sha256:12")
                   .starts_with("f.yaml:3:16: 'passwords': sha256: needs 64 hexadecimal digits"));
    BOOST_TEST(mistake_in_user("rule: on") ==
               "f.yaml:3:5: unknown option 'rule' in a user; did you mean 'rules'?");
    BOOST_TEST(mistake_in_user("rate: many") ==
               "f.yaml:3:11: 'rate': 'many' is not a whole number");
    BOOST_TEST(mistake_in("users: [{rules: on}]").starts_with("f.yaml:1:9: a user needs a name"));
    BOOST_TEST(mistake_in("users: {a: b}").starts_with("f.yaml:1:8: 'users' is a list"));
    BOOST_TEST(mistake_in("users: [{name: a}, {name: a}]") ==
               "f.yaml:1:27: there are two users 'a'");
    BOOST_TEST(mistake_in("users: [{name: 'a b'}]") ==
               "f.yaml:1:16: the name of a user is 1 to 64 letters, digits and signs, without "
               "blanks");
}

BOOST_AUTO_TEST_CASE(an_empty_secret_is_none) {
    const secret_file file("\n");
    BOOST_TEST(mistake_in_user("passwords: 'file:" + file.path() + "'")
                   .ends_with("cannot be read: it is empty"));
}

BOOST_AUTO_TEST_CASE(masters_share_credentials_that_stand_outside) {
    setenv("LOCKKEEPER_TEST_PASSWORD", "of the masters", 1);
    const auto loaded = parse(
        "stripes: [{name: a, masters: [redis://one, redis://me:own@two, "
        "'redis://:env:LOCKKEEPER_TEST_PASSWORD@three']}]\n"
        "masters: {user: proxy, password: env:LOCKKEEPER_TEST_PASSWORD}\n",
        "f");
    BOOST_REQUIRE(loaded.has_value());
    const auto& masters = loaded->stripes[0].masters;
    BOOST_TEST(masters[0].user == "proxy");
    BOOST_TEST(masters[0].password == "of the masters");
    BOOST_TEST(masters[1].password == "own");
    BOOST_TEST(masters[2].user.empty());
    BOOST_TEST(masters[2].password == "of the masters");
    BOOST_TEST(to_yaml(*loaded).find("of the masters") == std::string::npos);
    BOOST_TEST(mistake_in("masters: {password: hunter2}") ==
               "f.yaml:1:21: 'password': no secret stands in this file itself (accepted: env:NAME "
               "or file:/path)");
}

BOOST_AUTO_TEST_CASE(a_selector_is_one_rule_however_it_is_written) {
    const auto loaded = parse(
        "users:\n"
        "  - name: a\n"
        "    rules: '~x (+get ~a:*)  ( +set\t~b )  (+del) -@all (open'\n",
        "f.yaml");
    BOOST_REQUIRE(loaded.has_value());
    std::vector<std::string> rules;
    for (const placed_text& rule : loaded->users.front().rules) {
        rules.push_back(rule.text);
    }
    const std::vector<std::string> expected = {"~x",     "(+get ~a:*)", "( +set\t~b )",
                                               "(+del)", "-@all",       "(open"};
    BOOST_TEST(rules == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_password_in_a_selector_is_not_shown_either) {
    for (const char* rule : {"(>hunter2 +get)", "( +get >hunter2 )", "(+get\t<hunter2)"}) {
        const auto said = mistake_in_user("rules: \"" + std::string(rule) + "\"");
        BOOST_TEST(said.find("no password stands in this file itself") != std::string::npos, said);
        BOOST_TEST(said.find("hunter2") == std::string::npos, said);
    }
}
