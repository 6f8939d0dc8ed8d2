#include "proxy/idioms/known_script.hh"

#include <boost/test/unit_test.hpp>
#include <initializer_list>

#include "proxy/idioms/recogniser.hh"

using namespace lockkeeper::proxy::idioms;

namespace {

/// Calls `check` for every script in the table, with its name in the message of a failure.
template <typename Check>
void for_each_script(Check check) {
    for (const auto& table : {scripts_by_sha(), scripts_by_normal_form()}) {
        for (const auto& [sha, script] : table) {
            BOOST_TEST_CONTEXT(to_hex(sha) << ' ' << script->library << ' ' << script->script) {
                check(*script);
            }
        }
    }
}

bool knows(const known_script& script, role wanted) {
    return script.keys.has(wanted) || script.arguments.has(wanted);
}

bool is_one_of(operation op, std::initializer_list<operation> list) {
    for (operation each : list) {
        if (each == op) {
            return true;
        }
    }
    return false;
}

constexpr layout plain{.roles = {role::lock, role::channel}, .count = 2, .group = 0};
constexpr layout many{.roles = {role::lease_ms, role::owner}, .count = 2, .group = 1};
constexpr layout pairs{.roles = {role::lock, role::holds_prefix}, .count = 2, .group = 2};

}  // namespace

BOOST_AUTO_TEST_CASE(a_layout_tells_where_a_role_stands) {
    static_assert(plain.index_of(role::channel) == 1);
    static_assert(!plain.index_of(role::latch).has_value());
    static_assert(!layout{}.has(role::unused));
    BOOST_TEST(!plain.repeats());
}

BOOST_AUTO_TEST_CASE(a_layout_counts_the_groups_of_a_call) {
    static_assert(plain.groups_in(2) == 0);
    static_assert(many.groups_in(1) == 0);
    static_assert(many.groups_in(2) == 1);
    static_assert(many.groups_in(5) == 4);
    static_assert(pairs.groups_in(6) == 3);
    BOOST_TEST(pairs.repeats());
}

BOOST_AUTO_TEST_CASE(every_script_names_the_key_it_is_about) {
    for_each_script([](const known_script& script) {
        if (is_one_of(script.op, {operation::force_release_all, operation::probe})) {
            return;
        }
        const role first = script.op == operation::fair_leave ? role::queue : role::lock;
        BOOST_REQUIRE(script.keys.count > 0);
        BOOST_TEST((script.keys.roles[0] == first));
    });
}

BOOST_AUTO_TEST_CASE(every_script_names_who_asks_if_its_operation_compares_owners) {
    for_each_script([](const known_script& script) {
        if (script.op <= operation::take_over || script.op == operation::ttl_if_owner) {
            BOOST_TEST((knows(script, role::token) || knows(script, role::value)));
        }
        if (script.op >= operation::acquire_all && script.op <= operation::ttl_all) {
            BOOST_TEST(script.keys.repeats());
            BOOST_TEST((knows(script, role::token) || knows(script, role::value)));
        }
        if (is_one_of(script.op,
                      {operation::reentrant_acquire, operation::reentrant_release,
                       operation::reentrant_renew, operation::read_acquire,
                       operation::write_acquire, operation::write_release, operation::fair_try,
                       operation::fair_acquire, operation::fair_release})) {
            BOOST_TEST(knows(script, role::owner));
            BOOST_TEST(knows(script, role::lease_ms));
        }
    });
}

BOOST_AUTO_TEST_CASE(an_expiry_is_told_once) {
    for_each_script([](const known_script& script) {
        if (is_one_of(script.op, {operation::acquire_if_absent, operation::acquire_or_renew,
                                  operation::extend_if_owner, operation::extend_or_create,
                                  operation::take_over, operation::acquire_all,
                                  operation::acquire_or_renew_all, operation::extend_all,
                                  operation::expire_keys})) {
            const int told = knows(script, role::ttl_ms) + knows(script, role::ttl_s) +
                             knows(script, role::add_ms) + knows(script, role::at_ms);
            BOOST_TEST(told == 1);
        }
    });
}

BOOST_AUTO_TEST_CASE(roles_that_need_each_other_come_together) {
    for_each_script([](const known_script& script) {
        BOOST_TEST(knows(script, role::latch) == knows(script, role::latch_ms));
        BOOST_TEST(knows(script, role::value) == knows(script, role::token_length));
        const bool publishes = knows(script, role::channel) || knows(script, role::channel_prefix);
        if (knows(script, role::publish_command) || knows(script, role::message)) {
            BOOST_TEST(publishes);
        }
        if (knows(script, role::channel_prefix)) {
            BOOST_TEST(knows(script, role::queue));
        }
        if (knows(script, role::signal_ms)) {
            BOOST_TEST(knows(script, role::signal));
        }
    });
}

BOOST_AUTO_TEST_CASE(operations_and_reply_maps_have_names) {
    BOOST_TEST(name_of(operation::acquire_if_absent) == "acquire_if_absent");
    BOOST_TEST(name_of(operation::probe) == "probe");
    BOOST_TEST(name_of(reply_map::one_zero) == "one_zero");
    BOOST_TEST(name_of(reply_map::left_or_zero) == "left_or_zero");
}
