#include <boost/test/unit_test.hpp>

#include "config/load.hh"

using namespace lockkeeper::config;

namespace {

std::string mistake_in(std::string_view text) {
    const auto loaded = parse(text, "f.yaml");
    BOOST_REQUIRE(!loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded.error().size(), 1u);
    return loaded.error().front().show();
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_stripes_there_are_none) {
    BOOST_TEST(parse("", "f")->stripes.empty());
}

BOOST_AUTO_TEST_CASE(stripes_are_read_in_their_order) {
    const auto loaded = parse(
        "stripes:\n"
        "  - name: north\n"
        "    masters: [redis://a:7001, 'redis://app:p%40ss@b:7002/3', rediss://c]\n"
        "  - masters: ['redis://[::1]:7004']\n"
        "    name: south\n",
        "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_REQUIRE_EQUAL(loaded->stripes.size(), 2u);
    const auto& north = loaded->stripes[0];
    BOOST_TEST(north.name == "north");
    BOOST_REQUIRE_EQUAL(north.masters.size(), 3u);
    BOOST_TEST(north.masters[0].port == 7001);
    BOOST_TEST(north.masters[1].password == "p@ss");
    BOOST_TEST(north.masters[1].database == 3u);
    BOOST_TEST(north.masters[2].tls);
    BOOST_TEST(loaded->stripes[1].name == "south");
    BOOST_TEST(loaded->stripes[1].masters[0].host == "::1");
}

BOOST_AUTO_TEST_CASE(one_master_may_serve_two_stripes) {
    BOOST_TEST(
        parse("stripes: [{name: a, masters: [redis://h]}, {name: b, masters: [redis://h]}]", "f")
            .has_value());
}

BOOST_AUTO_TEST_CASE(an_even_number_of_masters_is_a_mistake) {
    BOOST_TEST(mistake_in("stripes:\n  - name: a\n    masters: [redis://a, redis://b]\n") ==
               "f.yaml:3:14: 2 masters bear no more failures than 1 do; use 1, 3 or 5");
}

BOOST_AUTO_TEST_CASE(too_many_masters_are_a_mistake) {
    std::string text = "stripes:\n  - name: a\n    masters: [redis://h0";
    for (int i = 1; i < 11; ++i) {
        text += ", redis://h" + std::to_string(i);
    }
    BOOST_TEST(mistake_in(text + "]\n") ==
               "f.yaml:3:14: 11 masters, at most 9: every lock asks "
               "all of them; add stripes instead");
}

BOOST_AUTO_TEST_CASE(a_master_twice_in_a_stripe_is_a_mistake) {
    BOOST_TEST(mistake_in("stripes:\n  - name: a\n    masters: [redis://h:1, redis://x:y@h:1/2, "
                          "redis://h:3]\n") ==
               "f.yaml:3:28: master h:1 is given twice: it has one vote");
}

BOOST_AUTO_TEST_CASE(an_address_that_makes_no_sense_is_named_without_its_password) {
    const auto text = mistake_in("stripes:\n  - name: a\n    masters: ['redis://u:geheim@h:x']\n");
    BOOST_TEST(text == "f.yaml:3:15: a master: ':x' is not a port");
    BOOST_TEST(mistake_in("stripes: [{name: a, masters: ['http://u:geheim@h']}]").find("geheim") ==
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(two_stripes_of_one_name_are_a_mistake) {
    BOOST_TEST(mistake_in("stripes:\n"
                          "  - {name: a, masters: [redis://h]}\n"
                          "  - {name: a, masters: [redis://i]}\n") ==
               "f.yaml:3:12: there are two stripes 'a': a key could not tell them apart");
}

BOOST_AUTO_TEST_CASE(names_are_plain_words) {
    for (const char* name : {"''", "'a b'", "'{a}'", "'a:b'", "[a]"}) {
        const auto text =
            mistake_in("stripes: [{name: " + std::string(name) + ", masters: [redis://h]}]");
        BOOST_TEST(text.find("the name of a stripe is 1 to 64 letters") != std::string::npos, text);
    }
}

BOOST_AUTO_TEST_CASE(stripes_of_another_shape_are_refused) {
    for (const char* text :
         {"stripes: a", "stripes: []", "stripes: {a: b}", "stripes: [a]", "stripes: [{name: a}]",
          "stripes: [{masters: [redis://h]}]", "stripes: [{name: a, masters: []}]",
          "stripes: [{name: a, masters: redis://h}]", "stripes: [{name: a, masters: [[x]]}]"}) {
        BOOST_TEST(!parse(text, "f").has_value(), text);
    }
    BOOST_TEST(mistake_in("stripes:\n  - {name: a, master: [redis://h], masters: [redis://h]}\n") ==
               "f.yaml:2:15: unknown option 'master' in a stripe; did you mean 'masters'?");
}

BOOST_AUTO_TEST_CASE(what_is_printed_reads_back_but_for_passwords) {
    const auto loaded = parse(
        "stripes: [{name: a, masters: [redis://h:1, rediss://i, redis://u:geheim@j/2]}]", "f");
    BOOST_REQUIRE(loaded.has_value());
    const std::string text = to_yaml(*loaded);
    BOOST_TEST(text.find("geheim") == std::string::npos);
    const auto again = parse(text, "f");
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(to_yaml(*again) == text);
}

BOOST_AUTO_TEST_CASE(options_of_leases_and_masters_are_read) {
    const auto loaded = parse(
        "leases: {slack: 1s, max_ttl: 20s, untimed: 6s}\n"
        "masters: {timeout: 100ms, admission: quick, fence_recovery: strict, tls_ca: ca.pem}\n",
        "f");
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->leases.max_ttl.count() == 20'000);
    BOOST_TEST((loaded->masters.admission == first_admission::quick));
    BOOST_TEST((loaded->masters.fence_recovery == fence_recovery::strict));
    BOOST_TEST(loaded->masters.tls_ca == "ca.pem");
}

BOOST_AUTO_TEST_CASE(a_word_that_is_no_choice_lists_the_choices) {
    BOOST_TEST(
        mistake_in("masters: {fence_recovery: never}\n") ==
        "f.yaml:1:27: 'fence_recovery': 'never' is not one of them (accepted: clock or strict)");
}

BOOST_AUTO_TEST_CASE(options_that_contradict_each_other_are_a_mistake) {
    BOOST_TEST(mistake_in("leases: {max_ttl: 10s}\n").find("leases.untimed is longer") !=
               std::string::npos);
    BOOST_TEST(mistake_in("masters: {silence: 100ms}\n").find("masters.silence is shorter") !=
               std::string::npos);
}
