#include "shards/core/entry_map.hh"
#include "shards/core/lock_entry.hh"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>

#include "support.hh"

using namespace lockkeeper::shards;

namespace {

void insert(entry_map& map, const std::string& name) {
    map.insert(lock_entry::make(key_of(name), std::string()));
}

lock_entry* find(const entry_map& map, const std::string& name) {
    return map.find(key_of(name).hash.value, name);
}

std::string numbered(int i) {
    return "key:" + std::to_string(i);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_inserted_is_found_at_every_size) {
    entry_map map;
    for (int i = 0; i < 300; ++i) {
        insert(map, numbered(i));
        BOOST_REQUIRE(!map.verify());
        for (int j = 0; j <= i; ++j) {
            BOOST_REQUIRE(find(map, numbered(j)) != nullptr);
        }
        BOOST_REQUIRE(find(map, numbered(i + 1)) == nullptr);
    }
    for (int i = 0; i < 300; ++i) {
        map.take(*find(map, numbered(i)));
        BOOST_REQUIRE(!map.verify());
        BOOST_REQUIRE(find(map, numbered(i)) == nullptr);
        BOOST_REQUIRE(i == 299 || find(map, numbered(299)) != nullptr);
    }
    BOOST_TEST(map.size() == 0U);
}

BOOST_AUTO_TEST_CASE(entries_keep_their_address) {
    entry_map map;
    insert(map, "stays");
    const lock_entry* const address = find(map, "stays");
    for (int i = 0; i < 10'000; ++i) {
        insert(map, numbered(i));
    }
    for (int i = 0; i < 10'000; ++i) {
        map.take(*find(map, numbered(i)));
    }
    BOOST_TEST(find(map, "stays") == address);
}

BOOST_AUTO_TEST_CASE(the_map_is_small_again_once_emptied) {
    entry_map map;
    const size_t before = map.bytes();
    for (int i = 0; i < 100'000; ++i) {
        insert(map, numbered(i));
    }
    BOOST_TEST(map.bytes() > 100'000 * sizeof(void*));
    for (int i = 0; i < 100'000; ++i) {
        map.take(*find(map, numbered(i)));
    }
    BOOST_TEST(map.bytes() <= 2 * before);
}

BOOST_AUTO_TEST_CASE(a_map_can_be_emptied_bit_by_bit) {
    entry_map map;
    std::set<std::string> names;
    for (int i = 0; i < 5'000; ++i) {
        insert(map, numbered(i));
        names.insert(numbered(i));
    }
    while (map.size() > 0) {
        BOOST_REQUIRE(names.erase(std::string(map.take_any()->name())) == 1);
        if (map.size() % 500 == 0) {
            BOOST_REQUIRE(!map.verify());
        }
    }
    BOOST_TEST(names.empty());
}

BOOST_AUTO_TEST_CASE(the_buckets_cover_all_positions_once_at_every_size) {
    entry_map map;
    for (int size = 1; size <= 200; ++size) {
        insert(map, numbered(size));
        std::map<std::string_view, int> visits;
        uint64_t position = 0;
        while (position != entry_map::end_of_positions) {
            const uint64_t next = map.visit_bucket(
                position, [&](const lock_entry& entry) { ++visits[entry.name()]; });
            BOOST_REQUIRE(next > position);
            position = next;
        }
        BOOST_REQUIRE(visits.size() == map.size());
        for (const auto& [name, count] : visits) {
            BOOST_REQUIRE(count == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(names_may_hold_any_bytes_and_none) {
    entry_map map;
    insert(map, "");
    insert(map, std::string("\0a\r\n", 4));
    BOOST_TEST(find(map, "") != nullptr);
    BOOST_TEST(find(map, std::string("\0a\r\n", 4)) != nullptr);
    BOOST_TEST(find(map, std::string("\0a\r", 3)) == nullptr);
}
