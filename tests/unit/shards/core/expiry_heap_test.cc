#include "shards/core/expiry_heap.hh"
#include "shards/core/lock_entry.hh"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "support.hh"

using namespace lockkeeper::shards;

namespace {

lock_entry::owner make_entry(const std::string& name) {
    return lock_entry::make(key_of(name), std::string("token"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_next_to_end_is_on_top) {
    expiry_heap heap;
    const auto a = make_entry("a");
    const auto b = make_entry("b");
    heap.set(*a, instant{20});
    heap.set(*b, instant{10});
    BOOST_TEST(&heap.top() == b.get());
    heap.set(*b, instant{30});
    BOOST_TEST(&heap.top() == a.get());
    heap.remove(*a);
    BOOST_TEST(&heap.top() == b.get());
    BOOST_TEST(!a->has_expiry());
    heap.remove(*b);
    BOOST_TEST(heap.empty());
}

BOOST_AUTO_TEST_CASE(the_heap_stays_a_heap_whatever_is_set_moved_and_removed) {
    std::mt19937_64 random(1);
    std::vector<lock_entry::owner> entries;
    for (int i = 0; i < 500; ++i) {
        entries.push_back(make_entry(std::to_string(i)));
    }
    expiry_heap heap;
    for (int i = 0; i < 20'000; ++i) {
        lock_entry& entry = *entries[random() % entries.size()];
        if (entry.has_expiry() && random() % 3 == 0) {
            heap.remove(entry);
        } else {
            heap.set(entry, instant{static_cast<int64_t>(random() % 1'000)});
        }
        if (i % 50 == 0) {
            BOOST_REQUIRE(!heap.verify());
        }
    }
    instant last = start_of_time;
    while (!heap.empty()) {
        BOOST_REQUIRE((heap.top().expiry >= last));
        last = heap.top().expiry;
        heap.remove(heap.top());
    }
}
