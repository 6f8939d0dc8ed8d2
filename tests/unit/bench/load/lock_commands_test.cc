#include "bench/load/lock_commands.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::bench;
using namespace std::chrono_literals;
using lockkeeper::protocol::output;

namespace {

constexpr lock_name lock{.key = "k", .token = "t"};
const script_hashes scripts{.release = "aaaa", .renew = "bbbb"};

std::unique_ptr<const lock_commands> words_of(protocol_kind protocol) {
    return make_lock_commands(protocol, 30'000ms, scripts);
}

/// The arguments of one command, with blanks between.
template <typename Write>
std::string written(Write write) {
    output out;
    write(out);
    std::string text;
    std::string_view bytes = out.view();
    while (!bytes.empty()) {
        const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
        if (line.front() != '*' && line.front() != '$') {
            text += (text.empty() ? "" : " ") + std::string(line);
        }
        bytes.remove_prefix(line.size() + 2);
    }
    return text;
}

scanned_reply reply(std::string_view bytes) {
    scanned_reply scanned;
    BOOST_REQUIRE((scan_reply(bytes, scanned).what == scan_result::outcome::complete));
    return scanned;
}

bool is_yes(const vote& heard) {
    return heard.what == vote::answer::yes;
}
bool is_no(const vote& heard) {
    return heard.what == vote::answer::no;
}
bool is_error(const vote& heard) {
    return heard.what == vote::answer::error;
}

}  // namespace

BOOST_AUTO_TEST_CASE(native_verbs_wait_without_limit_and_name_the_owner) {
    const auto words = words_of(protocol_kind::native);
    BOOST_TEST(written([&](output& out) { words->write_acquire(out, lock); }) ==
               "LK.ACQUIRE k t TTL 30000 WAIT 0");
    BOOST_TEST(written([&](output& out) { words->write_renew(out, lock); }) ==
               "LK.EXTEND k t 30000");
    BOOST_TEST(written([&](output& out) { words->write_release(out, lock); }) == "LK.RELEASE k t");
    BOOST_TEST(words->waits_in_server());
}

BOOST_AUTO_TEST_CASE(a_native_grant_has_three_numbers_of_which_the_first_is_the_fence) {
    const auto words = words_of(protocol_kind::native);
    const vote heard = words->read_acquire(reply("*3\r\n:17\r\n:30000\r\n:1\r\n"));
    BOOST_TEST(is_yes(heard));
    BOOST_TEST((heard.fence == 17u));
    BOOST_TEST(is_no(words->read_acquire(reply("$-1\r\n"))));
    BOOST_TEST(is_no(words->read_acquire(reply("*-1\r\n"))));
    BOOST_TEST(is_no(words->read_acquire(reply("_\r\n"))));
    BOOST_TEST(is_error(words->read_acquire(reply("+OK\r\n"))));
    BOOST_TEST(is_error(words->read_acquire(reply("*2\r\n:17\r\n:30000\r\n"))));
}

BOOST_AUTO_TEST_CASE(a_native_release_is_a_number_for_the_owner_and_nil_for_others) {
    const auto words = words_of(protocol_kind::native);
    BOOST_TEST(is_yes(words->read_release(reply(":0\r\n"))));
    BOOST_TEST(is_no(words->read_release(reply("$-1\r\n"))));
    BOOST_TEST(is_error(words->read_release(reply("+OK\r\n"))));
    BOOST_TEST(is_yes(words->read_renew(reply(":30000\r\n"))));
    BOOST_TEST(is_no(words->read_renew(reply("_\r\n"))));
}

BOOST_AUTO_TEST_CASE(set_nx_releases_and_renews_by_script) {
    for (const auto protocol : {protocol_kind::set_nx, protocol_kind::redlock}) {
        const auto words = words_of(protocol);
        BOOST_TEST(written([&](output& out) { words->write_acquire(out, lock); }) ==
                   "SET k t NX PX 30000");
        BOOST_TEST(written([&](output& out) { words->write_renew(out, lock); }) ==
                   "EVALSHA bbbb 1 k t 30000");
        BOOST_TEST(written([&](output& out) { words->write_release(out, lock); }) ==
                   "EVALSHA aaaa 1 k t");
        BOOST_TEST(!words->waits_in_server());
    }
}

BOOST_AUTO_TEST_CASE(set_nx_is_won_by_ok_alone) {
    const auto words = words_of(protocol_kind::set_nx);
    BOOST_TEST(is_yes(words->read_acquire(reply("+OK\r\n"))));
    BOOST_TEST(!words->read_acquire(reply("+OK\r\n")).fence);
    BOOST_TEST(is_no(words->read_acquire(reply("$-1\r\n"))));
    BOOST_TEST(is_error(words->read_acquire(reply("+QUEUED\r\n"))));
    BOOST_TEST(is_yes(words->read_release(reply(":1\r\n"))));
    BOOST_TEST(is_no(words->read_release(reply(":0\r\n"))));
    BOOST_TEST(is_error(words->read_release(reply("$-1\r\n"))));
}

BOOST_AUTO_TEST_CASE(a_token_is_popped_and_pushed_back) {
    const auto words = words_of(protocol_kind::blpop);
    BOOST_TEST(written([&](output& out) { words->write_acquire(out, lock); }) == "BLPOP k 0");
    BOOST_TEST(written([&](output& out) { words->write_release(out, lock); }) == "RPUSH k token");
    BOOST_TEST(is_yes(words->read_acquire(reply("*2\r\n$1\r\nk\r\n$5\r\ntoken\r\n"))));
    BOOST_TEST(is_no(words->read_acquire(reply("*-1\r\n"))));
    BOOST_TEST(words->waits_in_server());
}

BOOST_AUTO_TEST_CASE(a_second_token_in_the_list_is_not_ours) {
    const auto words = words_of(protocol_kind::blpop);
    BOOST_TEST(is_yes(words->read_release(reply(":1\r\n"))));
    BOOST_TEST(is_no(words->read_release(reply(":2\r\n"))));
}
