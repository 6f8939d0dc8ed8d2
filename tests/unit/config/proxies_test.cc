#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "config/load.hh"

using namespace lockkeeper::config;

namespace {

constexpr std::string_view stripes = "stripes: [{name: a, masters: [redis://h]}]\n";
constexpr std::string_view secret = "secret: 0123456789abcdef";

std::string mistake_in(std::string_view text) {
    const auto loaded = parse(std::string(stripes) + std::string(text), "f.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded.error().size(), 1u);
    return loaded.error().front().show();
}

std::string with(std::string_view more) {
    return "proxies: {" + std::string(secret) + ", " + std::string(more) + "}\n";
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_secret_proxies_know_nothing_of_each_other) {
    BOOST_TEST(!parse(stripes, "f")->proxies);
}

BOOST_AUTO_TEST_CASE(a_secret_is_enough) {
    const auto loaded =
        parse(std::string(stripes) + "proxies: {" + std::string(secret) + "}\n", "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->proxies->secret == "0123456789abcdef");
    BOOST_TEST(!loaded->proxies->advertise);
    BOOST_TEST(loaded->proxies->peers.empty());
}

BOOST_AUTO_TEST_CASE(an_address_and_peers_are_read) {
    const auto loaded = parse(
        std::string(stripes) + with("advertise: 10.0.0.7:7000, peers: [a.b:1, '[::1]:2']"), "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(show_endpoint(*loaded->proxies->advertise) == "10.0.0.7:7000");
    BOOST_REQUIRE_EQUAL(loaded->proxies->peers.size(), 2u);
    BOOST_TEST(show_endpoint(loaded->proxies->peers[0]) == "a.b:1");
    BOOST_TEST(show_endpoint(loaded->proxies->peers[1]) == "[::1]:2");
}

BOOST_AUTO_TEST_CASE(the_own_address_may_come_from_the_environment) {
    const auto advertised = [](const char* value, std::string_view reference) {
        setenv("LOCKKEEPER_TEST_POD", value, 1);
        const auto loaded = parse(
            std::string(stripes) + with("advertise: 'env:" + std::string(reference) + "'"), "f");
        BOOST_REQUIRE(loaded.has_value());
        return show_endpoint(*loaded->proxies->advertise);
    };
    BOOST_TEST(advertised("10.1.2.3:7000", "LOCKKEEPER_TEST_POD") == "10.1.2.3:7000");
    BOOST_TEST(advertised("10.1.2.3", "LOCKKEEPER_TEST_POD:6380") == "10.1.2.3:6380");
    BOOST_TEST(advertised("fd00::7", "LOCKKEEPER_TEST_POD:6380") == "[fd00::7]:6380");
    BOOST_TEST(advertised("[fd00::7]", "LOCKKEEPER_TEST_POD:6380") == "[fd00::7]:6380");

    BOOST_TEST(mistake_in(with("advertise: 'env:LOCKKEEPER_TEST_NONE:6380'")) ==
               "f.yaml:2:48: 'advertise': the environment has no 'LOCKKEEPER_TEST_NONE', or an "
               "empty one");
    setenv("LOCKKEEPER_TEST_POD", "10.1.2.3", 1);
    BOOST_TEST(mistake_in(with("advertise: 'env:LOCKKEEPER_TEST_POD'")) ==
               "f.yaml:2:48: 'advertise': env:LOCKKEEPER_TEST_POD does not make host:port, as in "
               "10.0.0.7:6380; env:NAME stands for both, env:NAME:6380 for the host");
    BOOST_TEST(mistake_in(with("advertise: 'env:LOCKKEEPER_TEST_POD:x'"))
                   .contains("env:LOCKKEEPER_TEST_POD:x does not make host:port"));
    // Those of others are the same for everybody.
    BOOST_TEST(mistake_in(with("peers: ['env:LOCKKEEPER_TEST_POD:6380']"))
                   .contains("'peers' needs the form host:port"));
}

BOOST_AUTO_TEST_CASE(links_may_be_encrypted) {
    const std::string tls = "tls: {port: 7443, certificate: c, key: k}\n";
    const auto loaded = parse(std::string(stripes) + tls + with("tls: true, tls_ca: /a b"), "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->proxies->tls);
    BOOST_TEST(loaded->proxies->tls_ca == "/a b");
    BOOST_TEST(to_yaml(*loaded).contains("tls: true"));
    BOOST_TEST(mistake_in(with("tls: true")).contains("needs 'tls' with a port"));
    BOOST_TEST(mistake_in(tls + with("tls: perhaps")).contains("true or false"));
    BOOST_TEST(mistake_in(tls + with("tls_ca: /a")).contains("no effect without"));
    BOOST_TEST(mistake_in(tls + with("tls: true, tls_ca: []")).contains("the path of a PEM file"));
}

BOOST_AUTO_TEST_CASE(the_secret_is_not_shown) {
    const auto loaded = parse(std::string(stripes) + with("advertise: h:1"), "f");
    const std::string shown = to_yaml(*loaded);
    BOOST_TEST(!shown.contains("0123456789abcdef"));
    BOOST_TEST(shown.contains("advertise: "));
}

BOOST_AUTO_TEST_CASE(a_missing_or_short_secret_is_a_mistake) {
    BOOST_TEST(mistake_in("proxies: {advertise: h:1}\n").contains("needs a 'secret'"));
    BOOST_TEST(mistake_in("proxies: {secret: short}\n").contains("needs 16 to 1024 bytes"));
}

BOOST_AUTO_TEST_CASE(a_secret_may_stand_elsewhere) {
    ::setenv("LK_TEST_SECRET", "fedcba9876543210", 1);
    const auto loaded =
        parse(std::string(stripes) + "proxies: {secret: 'env:LK_TEST_SECRET'}\n", "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->proxies->secret == "fedcba9876543210");
    BOOST_TEST(mistake_in("proxies: {secret: 'env:LK_NO_SUCH_SECRET'}\n").contains("'secret': "));
}

BOOST_AUTO_TEST_CASE(an_address_needs_a_port) {
    BOOST_TEST(mistake_in(with("advertise: 10.0.0.7")).contains("needs the form host:port"));
    BOOST_TEST(mistake_in(with("advertise: 'h:1/2'")).contains("needs the form host:port"));
    BOOST_TEST(mistake_in(with("peers: [h]")).contains("needs the form host:port"));
}

BOOST_AUTO_TEST_CASE(peers_are_a_list_without_repetitions) {
    BOOST_TEST(mistake_in(with("peers: h:1")).contains("'peers' is a list"));
    BOOST_TEST(mistake_in(with("peers: [h:1, h:1]")).contains("given twice"));
}

BOOST_AUTO_TEST_CASE(an_unknown_option_is_a_mistake_with_a_hint) {
    BOOST_TEST(mistake_in(with("advertize: h:1")).contains("did you mean 'advertise'?"));
}

BOOST_AUTO_TEST_CASE(without_masters_there_is_no_fleet) {
    const auto loaded = parse("proxies: {" + std::string(secret) + "}\n", "f");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_TEST(loaded.error().front().text.contains("no effect without 'stripes'"));
}

BOOST_AUTO_TEST_CASE(who_listens_everywhere_must_say_where_it_is_reached) {
    BOOST_TEST(mistake_in("server: {address: 0.0.0.0}\nproxies: {" + std::string(secret) + "}\n")
                   .contains("needs 'advertise', as in 10.0.0.7:6380"));
}
