#include "proxy/link_handshake.hh"

#include <boost/test/unit_test.hpp>

#include "protocol/reply_parser.hh"
#include "protocol/request_parser.hh"

using namespace lockkeeper;
using namespace lockkeeper::proxy;

namespace {

struct two_proxies {
    own_card caller_card{.id = "lk1", .address = "a:1", .fingerprint = "f"};
    own_card callee_card{.id = "lk2", .address = "b:1", .fingerprint = "f"};
    std::string caller_secret = "a secret of all proxies";
    std::string callee_secret = caller_secret;

    /// What is said until somebody has enough; the reason, or "" if the link is up.
    std::string meet() {
        link_caller caller(caller_card, caller_secret);
        link_callee callee(callee_card, callee_secret);
        std::string said = caller.hello();
        transcript += said;
        for (bool is_link = false;;) {
            protocol::request_parser parser;
            BOOST_REQUIRE((parser.parse(said).outcome == protocol::request_outcome::request));
            const auto& args = parser.request();
            protocol::output bytes;
            protocol::reply_writer writer(bytes);
            if (args[1] == "HELLO") {
                callee.on_hello(args, writer);
            } else {
                is_link = callee.on_prove(args, writer);
            }
            transcript += bytes.view();
            protocol::reply_parser replies;
            BOOST_REQUIRE((replies.parse(bytes.view()).outcome == protocol::reply_outcome::reply));
            auto answered = caller.on_reply(replies.take());
            if (!answered) {
                BOOST_TEST(!is_link);
                return answered.error();
            }
            if (answered->empty()) {
                BOOST_TEST(is_link);
                BOOST_TEST(callee.caller() == "lk1");
                BOOST_TEST(caller.callee() == "lk2");
                return "";
            }
            said = *answered;
            transcript += said;
        }
    }

    std::string transcript;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(two_who_know_the_secret_are_linked, two_proxies) {
    BOOST_TEST(meet() == "");
}

BOOST_FIXTURE_TEST_CASE(the_secret_is_never_said, two_proxies) {
    meet();
    BOOST_TEST(transcript.size() > 200u);
    BOOST_TEST(!transcript.contains(caller_secret));
}

BOOST_FIXTURE_TEST_CASE(no_two_greetings_are_alike, two_proxies) {
    meet();
    const std::string first = std::exchange(transcript, {});
    meet();
    BOOST_TEST(first != transcript);
}

BOOST_FIXTURE_TEST_CASE(another_secret_is_no_proof, two_proxies) {
    callee_secret = "another secret of theirs";
    BOOST_TEST(meet() == "it has another secret (proxies.secret)");
}

BOOST_FIXTURE_TEST_CASE(another_fleet_is_refused_before_anything_is_proved, two_proxies) {
    callee_card.fingerprint = "g";
    BOOST_TEST(meet().contains("belongs to another fleet"));
}

BOOST_FIXTURE_TEST_CASE(reasons_not_to_talk_are_sorted, two_proxies) {
    callee_secret = "another secret of theirs";
    BOOST_TEST(sort_of_refusal(meet()) == "secret");
    BOOST_TEST(sort_of_refusal(wrong_secret) == "secret");
    callee_card.fingerprint = "g";
    BOOST_TEST(sort_of_refusal(meet()) == "fleet");
    BOOST_TEST(sort_of_refusal("it is this proxy itself") == "other");
    link_callee callee(callee_card, callee_secret);
    protocol::output bytes;
    protocol::reply_writer writer(bytes);
    const std::string nonce(32, '0');
    const std::vector<std::string_view> words{"LK.LINK", "HELLO", "99", "lk1", "v", "f", nonce};
    BOOST_TEST(!callee.on_hello(protocol::request{words}, writer));
    BOOST_TEST(sort_of_refusal(bytes.view()) == "version");
}

BOOST_FIXTURE_TEST_CASE(one_does_not_link_with_oneself, two_proxies) {
    callee_card.id = "lk1";
    BOOST_TEST(meet() == "it is this proxy itself");
}

BOOST_FIXTURE_TEST_CASE(who_is_no_proxy_is_recognised, two_proxies) {
    link_caller caller(caller_card, caller_secret);
    BOOST_TEST(caller.on_reply(protocol::reply::error("ERR unknown command 'LK.LINK'")).error() ==
               "it is no Lockkeeper proxy, or an older one");
    BOOST_TEST(caller.on_reply(protocol::reply::simple("PONG")).error() ==
               "it is no Lockkeeper proxy");
    BOOST_TEST(caller.on_reply(protocol::reply::error("ERR LINK other\r\nwords")).error() ==
               "it refuses us: ERR LINK other  words");
}

BOOST_FIXTURE_TEST_CASE(a_proof_without_a_greeting_is_none, two_proxies) {
    link_callee callee(callee_card, callee_secret);
    protocol::output bytes;
    protocol::reply_writer writer(bytes);
    const std::vector<std::string_view> words{"LK.LINK", "PROVE", ""};
    BOOST_TEST(!callee.on_prove(protocol::request{words}, writer));
    BOOST_TEST(bytes.view().starts_with("-NOAUTH"));
}
