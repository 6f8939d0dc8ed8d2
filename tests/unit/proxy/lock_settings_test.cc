#include "proxy/lock_settings.hh"

#include <boost/test/unit_test.hpp>

#include "config/load.hh"

using namespace lockkeeper;
using namespace std::chrono_literals;

namespace {

constexpr shards::instant now = shards::instant{} + 1h;

config::config read(std::string_view text) {
    return config::parse(text, "f.yaml").value();
}

/// Fails to compile when a policy gets another member, and with it the question what it is in the
/// file.
bool same(const shards::lock_policy& one, const shards::lock_policy& other) {
    const auto& [pollers, park, starvation_after, renew, max_hold, grace, lock_delay, max_waiters,
                 deadlocks, store] = one;
    return pollers == other.pollers && park == other.park &&
           starvation_after == other.starvation_after && renew == other.renew &&
           max_hold == other.max_hold && grace == other.grace && lock_delay == other.lock_delay &&
           max_waiters == other.max_waiters && deadlocks == other.deadlocks && store == other.store;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_defaults_of_the_file_are_those_of_the_lock_table) {
    const shards::lock_table_options table = proxy::table_options({}, now);
    BOOST_TEST(table.databases == shards::lock_table_options{}.databases);
    BOOST_TEST(table.key_bytes_max == shards::lock_table_options{}.key_bytes_max);
    BOOST_TEST(table.keys_max == shards::lock_table_options{}.keys_max);
    BOOST_TEST(table.members_max == shards::lock_table_options{}.members_max);
    BOOST_TEST((table.grants_from == shards::start_of_time));
    const shards::waiting_room_options room = proxy::room_options({});
    BOOST_TEST(room.waiters_max == shards::waiting_room_options{}.waiters_max);
    BOOST_TEST(room.lines_max == shards::waiting_room_options{}.lines_max);
}

BOOST_AUTO_TEST_CASE(a_policy_that_says_nothing_is_the_same_as_no_policy) {
    const auto none = proxy::policies({});
    const auto silent = proxy::policies(read("policies: [{keys: '*'}]"));
    BOOST_TEST(same(none.of("k"), shards::lock_policy{}));
    BOOST_TEST(same(silent.of("k"), shards::lock_policy{}));
}

BOOST_AUTO_TEST_CASE(every_rule_of_the_file_arrives) {
    const auto book = proxy::policies(read(
        "policies:\n"
        "  - {keys: a, pollers: park, park: 7ms, starvation_after: 8s, renew: true, max_hold: 9m,\n"
        "     grace: 10s, lock_delay: 11s, max_waiters: 12, deadlocks: refuse, store: token}\n"
        "  - {keys: b, pollers: reserve}\n"));
    BOOST_TEST(same(book.of("a"), {.pollers = shards::poller_rule::park,
                                   .park = 7ms,
                                   .starvation_after = 8s,
                                   .renew = true,
                                   .max_hold = 9min,
                                   .grace = 10s,
                                   .lock_delay = 11s,
                                   .max_waiters = 12,
                                   .deadlocks = shards::deadlock_rule::refuse,
                                   .store = shards::store_rule::token}));
    BOOST_TEST(same(book.of("b"), {.pollers = shards::poller_rule::reserve}));
    BOOST_TEST(book.any_parks());
    BOOST_TEST(book.any_renews());
    BOOST_TEST(book.any_delays());
}

BOOST_AUTO_TEST_CASE(the_first_pattern_that_matches_decides) {
    const auto book =
        proxy::policies(read("policies:\n"
                             "  - {keys: ['order:vip:*', 'x'], max_waiters: 1}\n"
                             "  - {keys: 'order:*', max_waiters: 2}\n"
                             "  - {keys: '*', max_waiters: 3}\n"));
    BOOST_TEST(book.of("order:vip:7").max_waiters == 1u);
    BOOST_TEST(book.of("x").max_waiters == 1u);
    BOOST_TEST(book.of("order:7").max_waiters == 2u);
    BOOST_TEST(book.of("y").max_waiters == 3u);
}

BOOST_AUTO_TEST_CASE(limits_of_the_file_arrive) {
    const auto settings = read("limits: {key_bytes: 100B, locks: 5, waiters: 6, queues: 7}");
    BOOST_TEST(proxy::table_options(settings, now).key_bytes_max == 100u);
    BOOST_TEST(proxy::table_options(settings, now).keys_max == 5u);
    BOOST_TEST(proxy::room_options(settings).waiters_max == 6u);
    BOOST_TEST(proxy::room_options(settings).lines_max == 7u);
}

BOOST_AUTO_TEST_CASE(a_delay_after_the_start_counts_from_the_start) {
    const auto settings = read("embedded: {start_delay: 30s}");
    BOOST_TEST((proxy::table_options(settings, now).grants_from == now + 30s));
}
