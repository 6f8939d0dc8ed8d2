// Users of a real redis-server who may do more or less.
#include "shards/masters/rights.hh"

#include <seastar/testing/thread_test_case.hh>

#include "tests/support/fake_master.hh"
#include "tests/unit/shards/masters/live.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;

namespace {

/// What a user with these rules may not.
std::string missing(std::vector<std::string> rules) {
    std::vector<std::string> options = {"--user", "me", "on", ">secret"};
    options.insert(options.end(), rules.begin(), rules.end());
    redis_process server(options);
    server.start().get();
    live_master master(options_for(fmt::format("redis://me:secret@127.0.0.1:{}", server.port())));
    master.events.until_connected().get();
    auto found = find_missing_right(master.link, "main", long_enough).get();
    live_master other(server);
    other.events.until_connected().get();
    BOOST_TEST(other.ask("DBSIZE").as_integer().value() == 0);
    return found.value_or("nothing");
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace

SEASTAR_THREAD_TEST_CASE(who_may_do_everything_lacks_nothing) {
    BOOST_TEST(missing({"~*", "+@all"}) == "nothing");
}

SEASTAR_THREAD_TEST_CASE(the_rights_of_the_documentation_are_enough) {
    BOOST_TEST(missing({"~*", "+@connection", "+@transaction", "+@scripting", "+@string", "+@hash",
                        "+@keyspace", "-@dangerous", "+info", "+role", "+time", "+config|get"}) ==
               "nothing");
}

SEASTAR_THREAD_TEST_CASE(a_command_that_is_not_allowed_is_found) {
    for (const std::string command : {"set", "get", "pttl", "pexpire", "del", "unlink", "hset",
                                      "hmget", "hgetall", "hincrby", "hdel", "evalsha", "script"}) {
        const auto found = missing({"~*", "+@all", "-" + command});
        BOOST_TEST(found.starts_with("NOPERM"), found);
        BOOST_TEST(contains(found, command), found);
    }
}

SEASTAR_THREAD_TEST_CASE(keys_of_ours_that_are_not_allowed_are_found) {
    BOOST_TEST(missing({"~lock:*", "+@all"}).starts_with("NOPERM"));
    BOOST_TEST(missing({"%R~*", "+@all"}).starts_with("NOPERM"));
    BOOST_TEST(missing({"~lock:*", "~lk:*", "+@all"}) == "nothing");
}

SEASTAR_THREAD_TEST_CASE(without_transactions_nothing_is_asked_because_it_would_be_done) {
    const auto found = missing({"~*", "+@all", "-multi"});
    BOOST_TEST(contains(found, "multi"), found);
    fake_master master;
    master.connect();
    auto asked = find_missing_right(master, "main", long_enough);
    BOOST_TEST((master.front().commands == std::vector<fake_master::words>{{"MULTI"}}));
    master.answer({protocol::reply::error("NOPERM no")});
    BOOST_TEST(asked.get().value() == "NOPERM no");
    BOOST_TEST(master.waiting_requests() == 0U);
}
