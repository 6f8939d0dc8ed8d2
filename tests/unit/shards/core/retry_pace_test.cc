#include "shards/core/retry_pace.hh"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_split_vote_is_tried_again_after_a_short_random_while) {
    std::mt19937_64 random(1);
    std::chrono::nanoseconds least = 1h;
    std::chrono::nanoseconds most = 0ns;
    for (int i = 0; i < 10'000; ++i) {
        const auto wait = retry_pace::after(0, random(), false, std::nullopt);
        least = std::min(least, wait);
        most = std::max(most, wait);
    }
    BOOST_TEST((least >= 2ms && least < 3ms));
    BOOST_TEST((most < 40ms && most > 39ms));
}

BOOST_AUTO_TEST_CASE(waits_grow_with_every_loss_up_to_a_bound) {
    const auto first = retry_pace::after(0, 12'345'678, false, std::nullopt);
    BOOST_TEST((retry_pace::after(1, 12'345'678, false, std::nullopt) == 2 * first));
    BOOST_TEST((retry_pace::after(4, 12'345'678, false, std::nullopt) == 16 * first));
    BOOST_TEST((retry_pace::after(1'000'000, 12'345'678, false, std::nullopt) == 16 * first));
}

BOOST_AUTO_TEST_CASE(a_key_that_is_held_is_looked_at_no_more_than_twenty_times_a_second) {
    std::mt19937_64 random(2);
    for (uint32_t losses = 0; losses < 10; ++losses) {
        for (int i = 0; i < 1'000; ++i) {
            const auto left = std::chrono::nanoseconds(random() % 100'000'000);
            BOOST_TEST((retry_pace::after(losses, random(), true, left) >= 50ms));
            BOOST_TEST((retry_pace::after(losses, random(), true, std::nullopt) >= 50ms));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_known_end_is_not_slept_through) {
    const uint64_t random = 37'999'999;  // the longest wait
    BOOST_TEST((retry_pace::after(4, random, true, std::nullopt) > 600ms));
    const auto wait = retry_pace::after(4, random, true, 200ms);
    BOOST_TEST((wait >= 200ms && wait <= 210ms));
}
