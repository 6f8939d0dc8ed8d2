#include "proxy/wake_ups.hh"

#include <deque>
#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>
#include <seastar/util/closeable.hh>
#include <seastar/util/later.hh>

using namespace lockkeeper;
using namespace lockkeeper::proxy;

namespace {

struct ear final : subscriber {
    size_t heard = 0;

    void deliver(const message&) override { ++heard; }
    std::string_view address() const override { return "127.0.0.1"; }
};

/// The listeners of one core.
struct ears {
    std::deque<ear> all;

    ss::future<> stop() { return ss::make_ready_future<>(); }
};

/// Runs in a Seastar thread. Listeners are spread over all cores.
struct house {
    static constexpr const char* channel = "news";

    ss::sharded<shards::lock_service> locks;
    ss::sharded<pubsub> messages;
    ss::sharded<clients> everyone;
    ss::sharded<ears> listening;
    ss::sharded<wake_ups> wakers;
    bool is_stopped = false;

    house() {
        locks.start(shards::hash_seed{1, 2}, shards::lock_table_options{}).get();
        messages.start().get();
        everyone.start().get();
        listening.start().get();
        wakers.start(std::ref(locks), std::ref(messages), std::ref(everyone)).get();
    }
    ~house() {
        stop_waking();
        listening.stop().get();
        everyone.stop().get();
        messages.stop().get();
        locks.stop().get();
    }
    void stop_waking() {
        if (!std::exchange(is_stopped, true)) {
            wakers.stop().get();
        }
    }

    void listen(size_t count) {
        for (size_t i = 0; i < count; ++i) {
            on_core(i, [this](ears& here) {
                messages.local().subscribe(channel_kind::channel, channel, here.all.emplace_back());
            });
        }
    }
    void leave(size_t which) {
        on_core(which, [this, which](ears& here) {
            messages.local().unsubscribe(channel_kind::channel, channel,
                                         here.all[which / ss::smp::count]);
        });
    }
    size_t heard(size_t which) {
        size_t times = 0;
        on_core(which,
                [&times, which](ears& here) { times = here.all[which / ss::smp::count].heard; });
        return times;
    }
    size_t heard_by_all(size_t count) {
        size_t times = 0;
        for (size_t i = 0; i < count; ++i) {
            times += heard(i);
        }
        return times;
    }
    template <typename Work>
    void on_core(size_t number, Work work) {
        listening.invoke_on(static_cast<ss::shard_id>(number % ss::smp::count), work).get();
    }

    void take(const std::string& key) {
        locks
            .invoke_on(locks.local().core_of(key),
                       [key](shards::lock_service& here) {
                           here.table()
                               .set({.key = here.key(0, key), .value = "me"}, shards::read_clock())
                               .value();
                       })
            .get();
    }
    void announce(const std::string& key) {
        wakers.local().announce(
            {.channel = channel, .payload = "0", .frees = shards::freed_lock{.key = key}});
    }
    size_t open_rounds() {
        return everyone
            .map_reduce0(
                [](const clients& core) {
                    return core.counted.woken.rounds - core.counted.woken.rounds_ended;
                },
                size_t{0}, std::plus<>())
            .get();
    }
    void wait_until_all_is_told(size_t rounds) {
        const auto begun = [this] {
            return everyone
                .map_reduce0([](const clients& core) { return core.counted.woken.rounds; },
                             size_t{0}, std::plus<>())
                .get();
        };
        while (begun() < rounds || open_rounds() > 0) {
            ss::yield().get();
        }
    }
};

}  // namespace

SEASTAR_THREAD_TEST_CASE(one_is_told_of_a_lock_that_is_taken_at_once) {
    house here;
    here.listen(5);
    here.take("k");
    here.announce("k");
    here.wait_until_all_is_told(1);
    BOOST_TEST(here.heard(0) == 1u);
    BOOST_TEST(here.heard_by_all(5) == 1u);
}

SEASTAR_THREAD_TEST_CASE(all_are_told_once_of_a_lock_that_stays_free) {
    for (const size_t count : {0u, 1u, 2u, 3u, 7u, 8u, 100u}) {
        house here;
        here.listen(count);
        here.announce("k");
        here.wait_until_all_is_told(1);
        for (size_t i = 0; i < count; ++i) {
            BOOST_TEST(here.heard(i) == 1u);
        }
    }
}

SEASTAR_THREAD_TEST_CASE(turns_go_round_over_all_cores) {
    house here;
    here.listen(4);
    here.take("k");
    for (size_t i = 0; i < 8; ++i) {
        here.announce("k");
        here.wait_until_all_is_told(i + 1);
        BOOST_TEST(here.heard(i % 4) == i / 4 + 1);
    }
    BOOST_TEST(here.heard_by_all(4) == 8u);
}

SEASTAR_THREAD_TEST_CASE(who_leaves_while_others_are_told_is_not_missed) {
    house here;
    here.listen(6);
    here.announce("k");
    for (const size_t gone : {1u, 2u, 5u}) {
        here.leave(gone);
    }
    here.wait_until_all_is_told(1);
    for (const size_t stayed : {0u, 3u, 4u}) {
        BOOST_TEST(here.heard(stayed) == 1u);
    }
}

SEASTAR_THREAD_TEST_CASE(the_next_release_of_a_lock_takes_the_place_of_the_one_before) {
    house here;
    here.listen(40);
    constexpr size_t releases = 20;
    for (size_t i = 0; i < releases; ++i) {
        here.announce("k");
    }
    here.wait_until_all_is_told(releases);
    // Each release tells one at most before the next one comes, and the last one tells all.
    BOOST_TEST(here.heard_by_all(40) >= 40u);
    BOOST_TEST(here.heard_by_all(40) < 40u + releases);
}

SEASTAR_THREAD_TEST_CASE(beyond_the_limit_of_rounds_a_release_is_told_to_all_at_once) {
    house here;
    here.listen(4 * ss::smp::count);
    std::vector<std::string> keys;
    for (size_t i = 0; keys.size() <= 10'000; ++i) {
        std::string key = "lock:" + std::to_string(i);
        if (here.locks.local().core_of(key) == ss::this_shard_id()) {
            keys.push_back(std::move(key));
        }
    }
    const std::string last = keys.back();
    keys.pop_back();
    for (const std::string& key : keys) {
        here.announce(key);  // the thread goes on, so that none of them ends meanwhile
    }
    const auto& mine = here.everyone.local().counted.woken;
    BOOST_TEST(mine.rounds == 10'000u);
    const auto heard_here = [&] {
        size_t times = 0;
        for (const ear& one : here.listening.local().all) {
            times += one.heard;
        }
        return times;
    };
    const size_t before = heard_here();
    here.announce(last);
    BOOST_TEST(mine.rounds == 10'000u);
    BOOST_TEST(heard_here() == before + 4);
}

SEASTAR_THREAD_TEST_CASE(it_stops_idle_and_busy) {
    house idle;
    idle.stop_waking();
    house busy;
    busy.listen(1'000);
    for (int i = 0; i < 100; ++i) {
        busy.announce("lock:" + std::to_string(i));
    }
    busy.stop_waking();
    BOOST_TEST(busy.heard_by_all(1'000) < 100'000u);
}
