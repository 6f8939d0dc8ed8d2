#include "shards/core/bound_grants.hh"

#include <boost/test/unit_test.hpp>

#include "support.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

lock_entry::owner entry_of(std::string_view name, uint32_t database = 0) {
    return lock_entry::make(key_of(name, database), std::string("owner"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_client_has_what_was_bound_to_it_and_nothing_else) {
    bound_grants all;
    const auto a = entry_of("a"), b = entry_of("b"), c = entry_of("c");
    all.add(1, *a, {1s});
    all.add(1, *b, {2s});
    all.add(2, *c, {3s});
    BOOST_TEST(a->has(lock_entry::bound));
    BOOST_TEST(all.contains(1, *a));
    BOOST_TEST(!all.contains(2, *a));
    size_t seen = 0;
    while (const auto item = all.take_one(1)) {
        BOOST_TEST((item->what.after == (item->entry == a.get() ? 1s : 2s)));
        ++seen;
    }
    BOOST_TEST(seen == 2U);
    BOOST_TEST(all.size() == 1U);
    BOOST_TEST(!all.take_one(3).has_value());
}

BOOST_AUTO_TEST_CASE(the_latest_grace_counts) {
    bound_grants all;
    const auto a = entry_of("a");
    all.add(1, *a, {1s});
    all.add(1, *a, {5s});
    BOOST_TEST((all.take_one(1)->what.after == 5s));
    BOOST_TEST(!all.take_one(1).has_value());
}

BOOST_AUTO_TEST_CASE(what_was_removed_is_gone) {
    bound_grants all;
    const auto a = entry_of("a");
    all.add(1, *a, {1s});
    BOOST_TEST(!all.remove(2, *a));
    BOOST_TEST(all.remove(1, *a));
    BOOST_TEST(!all.remove(1, *a));
    BOOST_TEST(all.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_flushed_database_is_forgotten) {
    bound_grants all;
    const auto here = entry_of("a", 0), there = entry_of("a", 1);
    all.add(1, *here, {1s});
    all.add(1, *there, {1s});
    all.remove_database(0);
    BOOST_TEST((all.take_one(1)->entry == there.get()));
    BOOST_TEST(all.size() == 0U);
}
