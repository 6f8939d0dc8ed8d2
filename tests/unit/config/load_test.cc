#include "config/load.hh"

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "config/options.hh"

using namespace lockkeeper::config;

namespace {

/// The one mistake that a text must have.
std::string mistake_in(std::string_view text) {
    const auto loaded = parse(text, "f.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded.error().size(), 1u);
    return loaded.error().front().show();
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_empty_file_means_the_defaults) {
    for (const char* text : {"", "\n", "# nothing\n", "server:\n"}) {
        const auto loaded = parse(text, "f.yaml");
        BOOST_REQUIRE(loaded.has_value());
        BOOST_TEST(to_yaml(*loaded) == to_yaml(config{}));
    }
}

BOOST_AUTO_TEST_CASE(values_of_the_file_replace_defaults) {
    const auto loaded =
        parse("server:\n  port: 7000\nlimits:\n  argument_bytes: 1MiB\n  idle: 5m\n", "f.yaml");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->server.port == 7000);
    BOOST_TEST(loaded->limits.argument_bytes == 1024u * 1024u);
    BOOST_TEST(loaded->limits.idle.count() == 300'000);
    BOOST_TEST(loaded->server.address == config{}.server.address);
}

BOOST_AUTO_TEST_CASE(http_is_turned_off_by_a_word_or_by_its_port) {
    BOOST_TEST(parse("http: off\n", "f.yaml")->http.port == 0);
    BOOST_TEST(parse("http: {port: 0}\n", "f.yaml")->http.port == 0);
    BOOST_TEST(parse("http: {port: 9999}\n", "f.yaml")->http.port == 9999);
    BOOST_TEST(mistake_in("http: on\n") ==
               "f.yaml:1:7: 'http' must hold options, as in 'address:'");
}

BOOST_AUTO_TEST_CASE(an_unknown_option_is_named_with_its_place_and_the_nearest_known_one) {
    BOOST_TEST(mistake_in("server:\n  prot: 1\n") ==
               "f.yaml:2:3: unknown option 'prot' in 'server'; did you mean 'port'?");
    BOOST_TEST(mistake_in("sever:\n  port: 1\n") ==
               "f.yaml:1:1: unknown section 'sever'; did you mean 'server'?");
}

BOOST_AUTO_TEST_CASE(an_option_nobody_could_have_meant_lists_what_is_known) {
    BOOST_TEST(mistake_in("shutdown:\n  xyzzy: 1\n") ==
               "f.yaml:2:3: unknown option 'xyzzy' in 'shutdown'; known here: deadline, delay");
}

BOOST_AUTO_TEST_CASE(a_value_out_of_bounds_says_which_are_accepted) {
    BOOST_TEST(mistake_in("server:\n  port: 65536\n") ==
               "f.yaml:2:9: 'port': 65536 is not between 1 and 65535 (accepted: 1 to 65535)");
    BOOST_TEST(mistake_in("server:\n  port: 0\n") ==
               "f.yaml:2:9: 'port': 0 is not between 1 and 65535 (accepted: 1 to 65535)");
    BOOST_TEST(mistake_in("limits:\n  idle: 25h\n") ==
               "f.yaml:2:9: 'idle': 25h is not between 0 and 24h (accepted: 0 to 24h)");
}

BOOST_AUTO_TEST_CASE(bounds_themselves_are_accepted) {
    BOOST_TEST(parse("server: {port: 1}", "f").has_value());
    BOOST_TEST(parse("server: {port: 65535}", "f").has_value());
    BOOST_TEST(parse("limits: {idle: 24h, argument_bytes: 1KiB}", "f").has_value());
}

BOOST_AUTO_TEST_CASE(all_mistakes_are_reported_in_the_order_of_the_file) {
    const auto loaded = parse("server:\n  port: x\n  prot: 1\nlimits:\n  idle: 5\n", "f.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded.error().size(), 3u);
    BOOST_TEST(loaded.error()[0].line == 2);
    BOOST_TEST(loaded.error()[1].line == 3);
    BOOST_TEST(loaded.error()[2].line == 5);
}

BOOST_AUTO_TEST_CASE(a_repeated_option_or_section_is_a_mistake) {
    BOOST_TEST(mistake_in("server:\n  port: 1\n  port: 2\n") ==
               "f.yaml:3:3: 'port' is given twice");
    BOOST_TEST(mistake_in("server:\n  port: 1\nserver:\n  port: 2\n") ==
               "f.yaml:3:1: 'server' is given twice");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_shape_is_refused_with_its_place) {
    BOOST_TEST(!parse("- a\n- b\n", "f").has_value());
    BOOST_TEST(!parse("just text", "f").has_value());
    BOOST_TEST(!parse("server: 5\n", "f").has_value());
    BOOST_TEST(!parse("server:\n  port: [1, 2]\n", "f").has_value());
    BOOST_TEST(!parse("server:\n  port: {a: 1}\n", "f").has_value());
    BOOST_TEST(!parse("server: {port: 1", "f").has_value());
    BOOST_TEST(!parse("? [a]\n: b\n", "f").has_value());
    BOOST_TEST(!parse("server:\n\tport: 1\n", "f").has_value());
}

BOOST_AUTO_TEST_CASE(the_example_file_shows_the_defaults) {
    const auto loaded = load(LOCKKEEPER_EXAMPLE_CONFIG);
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(to_yaml(*loaded) == to_yaml(config{}));
}

BOOST_AUTO_TEST_CASE(the_example_file_shows_every_option) {
    std::ifstream file(LOCKKEEPER_EXAMPLE_CONFIG);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (const option& known : options()) {
        BOOST_TEST(text.find("\n  " + std::string(known.name) + ": ") != std::string::npos,
                   known.name);
    }
}

BOOST_AUTO_TEST_CASE(text_reads_back_whatever_is_in_it) {
    for (const std::string text :
         {"it's", "a\"b\\c", "\t\x7f", "null", "# no comment", "- a", "a: b", "*", "&a", "@x", "[",
          "a:", "\xc3\xa4", " a ", "!tag", "%", "|", ">"}) {
        config changed;
        changed.data = redis_address{};
        changed.data->host = "h";
        changed.locks = {text};
        changed.server.redis_version = text;
        changed.masters.tls_ca = text;
        const auto again = parse(to_yaml(changed), "f");
        BOOST_REQUIRE(again.has_value());
        BOOST_TEST(again->locks.front() == text);
        BOOST_TEST(again->server.redis_version == text);
        BOOST_TEST(again->masters.tls_ca == text);
    }
}

BOOST_AUTO_TEST_CASE(what_is_printed_reads_back_as_the_same_configuration) {
    config changed;
    changed.server.port = 1234;
    changed.limits.query_bytes = 3 * 1024 * 1024;
    changed.shutdown.deadline = milliseconds(2'250);
    const auto again = parse(to_yaml(changed), "f");
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(to_yaml(*again) == to_yaml(changed));
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_says_so) {
    const auto loaded = load("/nowhere/lockkeeper.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_TEST(loaded.error().front().show() ==
               "/nowhere/lockkeeper.yaml: cannot be read: No such file or directory");
}

BOOST_AUTO_TEST_CASE(an_argument_that_could_never_be_read_is_a_mistake) {
    BOOST_TEST(mistake_in("limits: {argument_bytes: 8MiB}") ==
               "f.yaml: limits.argument_bytes is larger than limits.query_bytes: such an argument "
               "could never be "
               "read; raise query_bytes");
}

BOOST_AUTO_TEST_CASE(an_upstream_for_data_is_read_with_the_patterns_of_locks) {
    const auto loaded =
        parse("data: redis://app:p%40ss@db.internal:6380/3\nlocks: ['lock:*', '*:lock']\n", "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_REQUIRE(loaded->data.has_value());
    BOOST_TEST(loaded->data->host == "db.internal");
    BOOST_TEST(loaded->data->port == 6380);
    BOOST_TEST(loaded->data->database == 3u);
    BOOST_TEST(loaded->data->user == "app");
    BOOST_TEST(loaded->data->password == "p@ss");
    BOOST_TEST(loaded->locks.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_password_is_never_shown) {
    const auto loaded = parse("data: redis://app:geheim@db\n", "f");
    BOOST_TEST(to_yaml(*loaded).find("geheim") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(locks_without_data_are_a_mistake) {
    BOOST_TEST(mistake_in("locks: ['lock:*']\n") ==
               "f.yaml:1:8: 'locks' has no effect without 'data': every key is a lock then");
    BOOST_TEST(!parse("data: redis://x\nlocks: []\n", "f").has_value());
    BOOST_TEST(!parse("data: redis://x\nlocks: lock\n", "f").has_value());
    BOOST_TEST(!parse("data: [redis://x]\n", "f").has_value());
}
