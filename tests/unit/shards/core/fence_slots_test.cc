#include "shards/core/fence_slots.hh"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace lockkeeper::shards;
using namespace std::string_view_literals;

/// If this fails then two versions in one fleet would count the fences of a key in two places, and
/// fences would go backwards.
BOOST_AUTO_TEST_CASE(known_keys_have_known_slots_for_ever) {
    struct pin {
        std::string_view key;
        uint32_t slot;
    };
    constexpr pin pins[] = {
        {"", 215},
        {"a", 41545},
        {"lock", 27674},
        {"order:1", 29418},
        {"order:2", 4085},
        {"user:1000", 698},
        {"{user1000}.following", 62947},
        {"{user1000}.followers", 38086},
        {"redisson_lock__channel:{L}", 4662},
        {"\x00\xff"sv, 60744},
    };
    for (const auto& [key, slot] : pins) {
        BOOST_TEST(fence_slot(key) == slot, "key " << key << " has slot " << fence_slot(key));
    }
}

BOOST_AUTO_TEST_CASE(the_whole_key_counts_not_its_tag) {
    BOOST_TEST(fence_slot("{user1000}.following") != fence_slot("{user1000}.followers"));
}

BOOST_AUTO_TEST_CASE(slots_are_used_evenly) {
    std::vector<int> uses(fence_slots);
    constexpr int keys = 20 * fence_slots;
    for (int i = 0; i < keys; ++i) {
        ++uses[fence_slot("lock:" + std::to_string(i))];
    }
    double chi_square = 0;
    for (const int count : uses) {
        chi_square += (count - 20.0) * (count - 20.0) / 20.0;
    }
    // 65,535 degrees of freedom: mean 65,535, standard deviation 362.
    BOOST_TEST(chi_square > 65'535 - 5 * 362);
    BOOST_TEST(chi_square < 65'535 + 5 * 362);
}

BOOST_AUTO_TEST_CASE(the_floor_leaves_a_million_fences_a_second_and_fits_into_a_double) {
    constexpr uint64_t now = 1'760'000'000;
    BOOST_TEST(fence_floor(now + 1) - fence_floor(now) == 1U << 20);
    BOOST_TEST(fence_floor(now) < fences_end);
    BOOST_TEST(static_cast<uint64_t>(static_cast<double>(fences_end - 1)) == fences_end - 1);
}
