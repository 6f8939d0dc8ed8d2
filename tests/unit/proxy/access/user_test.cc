#include "proxy/access/user.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::proxy::access;
using lockkeeper::config::sha256_of;

namespace {

const catalogue commands;

user made_of(std::initializer_list<std::string_view> rules) {
    user one("someone");
    for (const std::string_view rule : rules) {
        const auto applied = one.apply(rule, commands);
        BOOST_REQUIRE_MESSAGE(applied.has_value(), rule << ": " << applied.error());
    }
    return one;
}

std::string refusal_of(std::string_view rule) {
    user one("someone");
    const auto applied = one.apply(rule, commands);
    BOOST_REQUIRE(!applied.has_value());
    return applied.error();
}

/// What stands outside of parentheses.
selector basics(const user& one) {
    return one.selectors().front();
}

bool allows(const user& one, std::string_view command) {
    return basics(one).allows(commands.find(command).value());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_user_may_do_nothing) {
    const user one("someone");
    BOOST_TEST(!one.is_enabled());
    BOOST_TEST(one.needs_password());
    BOOST_TEST(!one.accepts(sha256_of("")));
    for (const catalogued& command : commands.all()) {
        BOOST_TEST(!allows(one, command.name));
    }
    BOOST_TEST(!basics(one).allows_unknown());
    BOOST_TEST(!basics(one).allows_key("k", key_need::mention));
    BOOST_TEST(!one.allows_channel("c"));
    BOOST_TEST(one.describe() == "user someone off resetchannels -@all");
}

BOOST_AUTO_TEST_CASE(everything_is_everything) {
    const user one = made_of({"on", "nopass", "~*", "&*", "+@all"});
    BOOST_TEST(one.may_do_everything());
    BOOST_TEST(one.accepts(sha256_of("whatever")));
    BOOST_TEST(one.describe() == "user someone on nopass ~* &* +@all");
}

BOOST_AUTO_TEST_CASE(whatever_is_missing_is_not_everything) {
    BOOST_TEST(!made_of({"~*", "&*", "+@all", "-get"}).may_do_everything());
    BOOST_TEST(!made_of({"~*", "&*", "+@all", "-get", "+get"}).may_do_everything());
    BOOST_TEST(!made_of({"~*", "&a", "+@all"}).may_do_everything());
    BOOST_TEST(!made_of({"~a", "&*", "+@all"}).may_do_everything());
    BOOST_TEST(!made_of({"%R~*", "&*", "+@all"}).may_do_everything());
}

BOOST_AUTO_TEST_CASE(a_password_lets_in_and_another_does_not) {
    user one("someone");
    one.add_password(sha256_of("first"));
    one.add_password(sha256_of("second"));
    BOOST_TEST(one.accepts(sha256_of("first")));
    BOOST_TEST(one.accepts(sha256_of("second")));
    BOOST_TEST(!one.accepts(sha256_of("third")));
    BOOST_REQUIRE(one.apply("resetpass", commands).has_value());
    BOOST_TEST(!one.accepts(sha256_of("first")));
}

BOOST_AUTO_TEST_CASE(a_digest_is_a_password) {
    const user one = made_of({"#9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"});
    BOOST_TEST(one.accepts(sha256_of("test")));
    BOOST_TEST(one.passwords().front() ==
               "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
}

BOOST_AUTO_TEST_CASE(categories_and_commands_apply_in_their_order) {
    const user one = made_of({"+@all", "-@dangerous", "+info", "-get"});
    BOOST_TEST(allows(one, "set"));
    BOOST_TEST(!allows(one, "flushall"));
    BOOST_TEST(!allows(one, "client|kill"));
    BOOST_TEST(!allows(one, "lk.break"));
    BOOST_TEST(allows(one, "info"));
    BOOST_TEST(!allows(one, "get"));
    BOOST_TEST(!basics(one).allows_unknown());
    BOOST_TEST(basics(one).command_rules() == "+@all -@dangerous +info -get");
}

BOOST_AUTO_TEST_CASE(the_native_verbs_are_a_category) {
    const user one = made_of({"+@lock", "-@admin"});
    for (const std::string_view verb : {"lk.acquire", "lk.release", "lk.extend", "lk.fence"}) {
        BOOST_TEST(allows(one, verb));
    }
    BOOST_TEST(!allows(one, "lk.break"));
    BOOST_TEST(!allows(one, "get"));
}

BOOST_AUTO_TEST_CASE(a_command_brings_its_subcommands) {
    const user one = made_of({"+client", "-client|kill"});
    BOOST_TEST(allows(one, "client|id"));
    BOOST_TEST(!allows(one, "client|kill"));
    const user other = made_of({"+client|id"});
    BOOST_TEST(allows(other, "client|id"));
    BOOST_TEST(!allows(other, "client|list"));
    BOOST_TEST(!allows(other, "client"));
}

BOOST_AUTO_TEST_CASE(the_last_word_about_a_command_is_the_one_that_is_shown) {
    BOOST_TEST(basics(made_of({"+get", "-get", "+GET"})).command_rules() == "-@all +get");
    BOOST_TEST(basics(made_of({"+get", "+@all"})).command_rules() == "+@all");
    BOOST_TEST(basics(made_of({"+get", "-@all"})).command_rules() == "-@all");
}

BOOST_AUTO_TEST_CASE(keys_may_be_read_written_or_both) {
    const user one = made_of({"~both:*", "%R~read:*", "%W~write:*"});
    BOOST_TEST(basics(one).allows_key("both:1", key_need::both));
    BOOST_TEST(basics(one).allows_key("read:1", key_need::read));
    BOOST_TEST(!basics(one).allows_key("read:1", key_need::write));
    BOOST_TEST(!basics(one).allows_key("read:1", key_need::both));
    BOOST_TEST(basics(one).allows_key("write:1", key_need::write));
    BOOST_TEST(!basics(one).allows_key("write:1", key_need::read));
    BOOST_TEST(basics(one).allows_key("write:1", key_need::mention));
    BOOST_TEST(!basics(one).allows_key("other", key_need::mention));
    BOOST_TEST(basics(one).key_rules() == "~both:* %R~read:* %W~write:*");
}

BOOST_AUTO_TEST_CASE(rights_to_the_same_keys_add_up) {
    const user one = made_of({"%R~a:*", "%W~a:*"});
    BOOST_TEST(basics(one).allows_key("a:1", key_need::both));
    BOOST_TEST(basics(one).key_rules() == "~a:*");
    BOOST_TEST(!basics(made_of({"%R~a:*", "%W~a*"})).allows_key("a:1", key_need::both));
}

BOOST_AUTO_TEST_CASE(a_pattern_of_channels_is_allowed_by_the_same_pattern_only) {
    const user one = made_of({"&news:*"});
    BOOST_TEST(one.allows_channel("news:sport"));
    BOOST_TEST(!one.allows_channel("other"));
    BOOST_TEST(one.allows_channel_pattern("news:*"));
    BOOST_TEST(!one.allows_channel_pattern("news:s*"));
    BOOST_TEST(!one.allows_channel_pattern("*"));
}

BOOST_AUTO_TEST_CASE(mistakes_say_what_to_write) {
    BOOST_TEST(refusal_of("+gett") == "there is no such command; did you mean 'get'?");
    BOOST_TEST(refusal_of("+client|kil") ==
               "there is no such command; did you mean 'client|kill'?");
    BOOST_TEST(refusal_of("+@lok") == "there is no such category; did you mean '@lock'?");
    BOOST_TEST(refusal_of("%X~a").starts_with("keys are %R~pattern"));
    BOOST_TEST(refusal_of("%~a").starts_with("keys are %R~pattern"));
    BOOST_TEST(refusal_of("#12").starts_with("the password hash must be"));
    BOOST_TEST(refusal_of("(+get ~a") == "a selector ends with ')', as in (~lock:* +get)");
    BOOST_TEST(refusal_of("(~a +gett)") ==
               "'+gett': there is no such command; did you mean 'get'?");
    BOOST_TEST(refusal_of("(nopass)").starts_with("'nopass': not a rule"));
    BOOST_TEST(refusal_of("((+get))").starts_with("'(+get)': not a rule"));
    BOOST_TEST(refusal_of("foo").starts_with("not a rule"));
    user one = made_of({"~*"});
    BOOST_TEST(one.apply("~a", commands).error() ==
               "every key is allowed already; 'resetkeys' starts again");
}

BOOST_AUTO_TEST_CASE(a_reset_user_is_a_new_one) {
    const user one = made_of({"on", "nopass", "~*", "&*", "+@all", "reset"});
    BOOST_TEST(one.describe() == user("someone").describe());
}

BOOST_AUTO_TEST_CASE(selectors_stand_beside_what_is_outside_of_them) {
    const user one = made_of({"~a:*", "+set", "(%R~b:* &news +get)", "( +@all )"});
    BOOST_REQUIRE(one.selectors().size() == 3U);
    const selector& first = one.selectors()[1];
    BOOST_TEST(first.allows(commands.find("get").value()));
    BOOST_TEST(!first.allows(commands.find("set").value()));
    BOOST_TEST(first.allows_key("b:1", key_need::read));
    BOOST_TEST(!first.allows_key("b:1", key_need::write));
    BOOST_TEST(!first.allows_key("a:1", key_need::read));
    BOOST_TEST(!basics(one).allows_key("b:1", key_need::read));
    BOOST_TEST(one.allows_channel("news"));
    BOOST_TEST(!one.may_do_everything());
    BOOST_TEST(one.describe() ==
               "user someone off ~a:* resetchannels -@all +set (%R~b:* resetchannels &news -@all "
               "+get) (resetchannels +@all)");
}

BOOST_AUTO_TEST_CASE(a_selector_that_allows_everything_is_everything) {
    BOOST_TEST(made_of({"+get", "(~* &* +@all)"}).may_do_everything());
    BOOST_TEST(!made_of({"~*", "(&* +@all)"}).may_do_everything());
}

BOOST_AUTO_TEST_CASE(selectors_are_few_and_can_be_cleared) {
    user one = made_of({"~a"});
    for (int i = 0; i < 16; ++i) {
        BOOST_TEST(one.apply("(+get)", commands).has_value());
    }
    BOOST_TEST(one.apply("(+get)", commands).error() == "more than 16 selectors");
    BOOST_TEST(one.apply("clearselectors", commands).has_value());
    BOOST_TEST(one.describe() == "user someone off ~a resetchannels -@all");
}
