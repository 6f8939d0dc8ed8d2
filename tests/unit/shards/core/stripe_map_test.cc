#include "shards/core/stripe_map.hh"

#include <array>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace lockkeeper::shards;
using namespace std::string_view_literals;

namespace {

std::string name_for(const stripe_map& stripes, std::string_view key) {
    return stripes.name(stripes.stripe_of(key));
}

}  // namespace

/// If this fails then a fleet of two versions would look for the same lock in different places.
BOOST_AUTO_TEST_CASE(known_keys_live_on_known_stripes_for_ever) {
    struct pin {
        std::string_view key;
        std::string_view stripe;
    };
    constexpr pin pins[] = {
        {"", "west"},
        {"a", "west"},
        {"lock", "west"},
        {"order:1", "north"},
        {"order:2", "south"},
        {"order:3", "west"},
        {"user:1000", "west"},
        {"user:1001", "west"},
        {"invoice:2024-01", "south"},
        {"job-lock:prod:report", "north"},
        {"redlock:x", "south"},
        {"{user1000}.following", "north"},
        {"{user1000}.followers", "north"},
        {"user1000", "north"},
        {"foo{}{bar}", "south"},
        {"foo{{bar}}zap", "west"},
        {"foo{bar}{zap}", "west"},
        {"{open", "west"},
        {"close}", "north"},
        {"\x00\xff"sv, "south"},
        {"mutex:checkout", "south"},
        {"redisson_unlock_latch:{L}:00", "west"},
        {"L", "west"},
        {"caf\xc3\xa9", "north"},
    };
    const stripe_map stripes({"north", "south", "west"});
    for (const auto& [key, stripe] : pins) {
        BOOST_TEST(name_for(stripes, key) == stripe, "key " << key);
    }
}

BOOST_AUTO_TEST_CASE(the_order_of_the_list_does_not_matter) {
    const stripe_map one({"north", "south", "west"});
    const stripe_map other({"west", "north", "south"});
    for (int i = 0; i < 1'000; ++i) {
        const auto key = "k" + std::to_string(i);
        BOOST_TEST(name_for(one, key) == name_for(other, key));
    }
}

BOOST_AUTO_TEST_CASE(every_stripe_has_its_share_of_the_keys) {
    std::vector<std::string> names;
    for (int i = 0; i < 10; ++i) {
        names.push_back("stripe-" + std::to_string(i));
    }
    const stripe_map stripes(names);
    std::vector<int> keys(10);
    for (int i = 0; i < 100'000; ++i) {
        ++keys[stripes.stripe_of("lock:" + std::to_string(i))];
    }
    for (const int each : keys) {
        BOOST_TEST(each > 9'500);
        BOOST_TEST(each < 10'500);
    }
}

BOOST_AUTO_TEST_CASE(a_new_stripe_takes_its_share_and_moves_nothing_else) {
    const stripe_map before({"a", "b", "c", "d"});
    const stripe_map after({"a", "b", "c", "d", "e"});
    int moved = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto key = "lock:" + std::to_string(i);
        if (name_for(before, key) != name_for(after, key)) {
            ++moved;
            BOOST_TEST(name_for(after, key) == "e");
        }
    }
    BOOST_TEST(moved > 3'600);
    BOOST_TEST(moved < 4'400);
}

BOOST_AUTO_TEST_CASE(one_stripe_has_everything) {
    const stripe_map stripes({"only"});
    BOOST_TEST(stripes.stripe_of("x") == 0U);
    BOOST_TEST(stripes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(no_stripes_and_equal_names_are_refused) {
    BOOST_CHECK_THROW(stripe_map({}), std::invalid_argument);
    BOOST_CHECK_THROW(stripe_map({"a", "b", "a"}), std::invalid_argument);
}
