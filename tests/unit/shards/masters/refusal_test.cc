#include "shards/masters/refusal.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper;
using namespace lockkeeper::shards;
using protocol::reply;

namespace {

refusal of(const char* text) {
    return refusal_of(reply::error(text));
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_redis_says_is_known_by_its_code) {
    BOOST_TEST((of("NOSCRIPT No matching script. Please use EVAL.") == refusal::no_script));
    BOOST_TEST((of("EXECABORT Transaction discarded because of previous errors.") ==
                refusal::exec_aborted));
    BOOST_TEST(
        (of("OOM command not allowed when used memory > 'maxmemory'.") == refusal::out_of_memory));
    BOOST_TEST((of("BUSY Redis is busy running a script.") == refusal::busy));
    BOOST_TEST((of("LOADING Redis is loading the dataset in memory") == refusal::loading));
    BOOST_TEST((of("READONLY You can't write against a read only replica.") == refusal::read_only));
    BOOST_TEST((of("MISCONF Redis is configured to save RDB snapshots") == refusal::not_writing));
    BOOST_TEST((of("NOAUTH Authentication required.") == refusal::no_auth));
    BOOST_TEST((of("NOPERM this user has no permissions") == refusal::no_permission));
    BOOST_TEST((of("MOVED 3999 127.0.0.1:6381") == refusal::moved));
    BOOST_TEST((of("ERR wrong number of arguments for 'get' command") == refusal::other));
}

BOOST_AUTO_TEST_CASE(only_errors_refuse) {
    BOOST_TEST((refusal_of(reply::simple("NOSCRIPT")) == refusal::none));
    BOOST_TEST((refusal_of(reply::bulk("READONLY no")) == refusal::none));
    BOOST_TEST((refusal_of(reply::null()) == refusal::none));
}

BOOST_AUTO_TEST_CASE(a_master_that_became_a_replica_or_logged_us_out_is_greeted_anew) {
    BOOST_TEST(needs_reconnect(refusal::read_only));
    BOOST_TEST(needs_reconnect(refusal::no_auth));
    BOOST_TEST(!needs_reconnect(refusal::busy));
    BOOST_TEST(!needs_reconnect(refusal::none));
}
