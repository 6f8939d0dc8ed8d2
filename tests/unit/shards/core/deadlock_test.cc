#include "shards/core/deadlock.hh"

#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>

using namespace lockkeeper::shards;

namespace {

constexpr auto held = wait_reason::held;
constexpr auto one_of = wait_reason::one_of;
constexpr auto in_front = wait_reason::in_front;

/// Wait `number`, the newer the greater, of one owner for others.
struct script {
    std::vector<wait_edge> edges;

    script& wait(uint64_t number, uint64_t owner, std::initializer_list<uint64_t> for_whom,
                 wait_reason why = held) {
        for (const uint64_t other : for_whom) {
            edges.push_back({.waiter = owner,
                             .holder = other,
                             .why = why,
                             .since = instant{static_cast<int64_t>(number)},
                             .wait = number});
        }
        return *this;
    }
};

using circle = std::vector<uint64_t>;

std::vector<circle> found_in(const std::vector<wait_edge>& edges) {
    std::vector<circle> circles;
    for (deadlock& each : find_deadlocks(edges)) {
        circles.push_back(std::move(each.waits));
    }
    return circles;
}

using circles = std::vector<circle>;

/// Who will never go on, found the slow way: nobody is free but those who have to be.
std::set<uint64_t> stuck_in(const std::vector<wait_edge>& edges) {
    std::map<uint64_t, std::vector<wait_edge>> waits;
    std::set<uint64_t> stuck;
    for (const wait_edge& edge : edges) {
        waits[edge.wait].push_back(edge);
        stuck.insert(edge.waiter);
    }
    const auto ends = [&stuck](const std::vector<wait_edge>& wait) {
        uint64_t needs = 0;
        uint64_t has = 0;
        for (const wait_edge& edge : wait) {
            const bool is_free = !stuck.contains(edge.holder);
            if (edge.why == one_of) {
                needs = edge.needs;
                has += is_free ? edge.gives : 0;
            } else if (!is_free && !(edge.why == in_front && edge.holder == edge.waiter)) {
                return false;
            }
        }
        return has >= needs;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const uint64_t owner : std::set(stuck)) {
            const bool goes_on = std::ranges::all_of(waits, [&](const auto& each) {
                return each.second.front().waiter != owner || ends(each.second);
            });
            if (goes_on) {
                stuck.erase(owner);
                changed = true;
            }
        }
    }
    return stuck;
}

/// How many groups of owners, of two or with an edge to itself, can all reach each other.
size_t tangles_of(const std::vector<wait_edge>& edges) {
    std::map<uint64_t, std::set<uint64_t>> reach;
    for (const wait_edge& edge : edges) {
        if (edge.why != in_front || edge.waiter != edge.holder) {
            reach[edge.waiter].insert(edge.holder);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& [from, targets] : reach) {
            for (const uint64_t over : std::set(targets)) {
                const auto further = reach.find(over);
                if (further != reach.end() && further->first != from) {
                    const size_t before = targets.size();
                    targets.insert(further->second.begin(), further->second.end());
                    changed |= targets.size() != before;
                }
            }
        }
    }
    std::set<uint64_t> seen;
    size_t tangles = 0;
    for (const auto& [owner, targets] : reach) {
        if (!targets.contains(owner) || seen.contains(owner)) {
            continue;
        }
        ++tangles;
        for (const uint64_t other : targets) {
            if (reach.contains(other) && reach.at(other).contains(owner)) {
                seen.insert(other);
            }
        }
    }
    return tangles;
}

/// Says what is wrong with a circle; empty if nothing is.
std::string problem_of(const circle& waits, const std::vector<wait_edge>& edges) {
    std::map<uint64_t, std::vector<wait_edge>> by_wait;
    for (const wait_edge& edge : edges) {
        by_wait[edge.wait].push_back(edge);
    }
    std::set<uint64_t> owners;
    for (size_t i = 0; i < waits.size(); ++i) {
        const auto& own = by_wait.at(waits[i]);
        const uint64_t next = by_wait.at(waits[(i + 1) % waits.size()]).front().waiter;
        if (std::ranges::find(own, next, &wait_edge::holder) == own.end()) {
            return "a wait that is not for the owner of the next";
        }
        if (own.front().since > by_wait.at(waits[0]).front().since) {
            return "the first is not the newest";
        }
        if (!owners.insert(own.front().waiter).second) {
            return "an owner twice";
        }
    }
    return waits.empty() ? "nobody in it" : "";
}

std::vector<wait_edge> without(std::vector<wait_edge> edges, const circles& found) {
    std::erase_if(edges, [&found](const wait_edge& edge) {
        return std::ranges::any_of(
            found, [&edge](const circle& each) { return each.front() == edge.wait; });
    });
    return edges;
}

/// A few owners, so that circles are likely; edges of a wait stand together, waits in any order.
std::vector<wait_edge> random_waits(std::mt19937& random, bool with_permits) {
    const auto below = [&random](uint64_t n) { return random() % n; };
    const uint64_t owners = 2 + below(10);
    std::vector<uint64_t> numbers(1 + below(14));
    std::ranges::generate(numbers, [n = uint64_t{0}]() mutable { return ++n; });
    std::ranges::shuffle(numbers, random);
    script all;
    for (const uint64_t number : numbers) {
        const uint64_t owner = below(owners);
        const auto why = with_permits && below(2) == 0 ? one_of : held;
        const size_t first = all.edges.size();
        uint64_t permits = 0;
        for (uint64_t i = 0; i < 1 + below(3); ++i) {
            all.wait(number, owner, {below(owners + 2)}, why);
            if (why == one_of) {
                all.edges.back().gives = 1 + below(3);
                permits += all.edges.back().gives;
            }
        }
        if (why == one_of) {
            const uint64_t needs = 1 + below(permits);
            for (size_t i = first; i < all.edges.size(); ++i) {
                all.edges[i].needs = needs;
            }
        }
        if (below(3) == 0) {
            all.wait(number, owner, {below(owners)}, in_front);
        }
    }
    return all.edges;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_waits_nobody_is_stuck) {
    BOOST_TEST(find_deadlocks({}).empty());
}

BOOST_AUTO_TEST_CASE(a_row_of_owners_is_no_circle) {
    BOOST_TEST(found_in(script().wait(1, 'a', {'b'}).wait(2, 'b', {'c'}).edges).empty());
    // Two ways to the same owner.
    BOOST_TEST(
        found_in(script().wait(1, 'a', {'b', 'c'}).wait(2, 'b', {'d'}).wait(3, 'c', {'d'}).edges)
            .empty());
}

BOOST_AUTO_TEST_CASE(two_owners_that_wait_for_each_other_are_found_and_the_newer_wait_comes_first) {
    const auto both = script().wait(7, 'a', {'b'}).wait(9, 'b', {'a'}).edges;
    BOOST_TEST((found_in(both) == circles{{9, 7}}));
    const auto reverse = script().wait(9, 'a', {'b'}).wait(7, 'b', {'a'}).edges;
    BOOST_TEST((found_in(reverse) == circles{{9, 7}}));
}

BOOST_AUTO_TEST_CASE(a_circle_is_told_in_the_order_of_waiting) {
    const auto edges = script().wait(1, 'a', {'b'}).wait(2, 'c', {'a'}).wait(3, 'b', {'c'}).edges;
    // b waits for c, c for a, a for b.
    BOOST_TEST((found_in(edges) == circles{{3, 2, 1}}));
}

BOOST_AUTO_TEST_CASE(who_hangs_on_a_circle_is_not_part_of_it) {
    const auto edges = script()
                           .wait(1, 'a', {'b'})
                           .wait(2, 'b', {'a'})
                           .wait(3, 'c', {'a'})
                           .wait(4, 'd', {'c'})
                           .edges;
    BOOST_TEST((found_in(edges) == circles{{2, 1}}));
}

BOOST_AUTO_TEST_CASE(circles_that_share_nobody_are_told_each) {
    const auto edges = script()
                           .wait(1, 'a', {'b'})
                           .wait(4, 'b', {'a'})
                           .wait(2, 'c', {'d'})
                           .wait(3, 'd', {'c'})
                           .edges;
    auto found = found_in(edges);
    std::ranges::sort(found);
    BOOST_TEST((found == circles{{3, 2}, {4, 1}}));
}

BOOST_AUTO_TEST_CASE(of_circles_with_an_owner_in_common_the_newest_is_told_first) {
    const auto edges = script()
                           .wait(1, 'b', {'a'})
                           .wait(2, 'c', {'a'})
                           .wait(5, 'a', {'b', 'c'})
                           .wait(6, 'd', {'b'})
                           .edges;
    BOOST_TEST((found_in(edges) == circles{{5, 1}}));
    BOOST_TEST(found_in(without(edges, {{5, 1}})).empty());
}

BOOST_AUTO_TEST_CASE(a_wait_for_several_readers_is_a_wait_for_each_of_them) {
    const auto edges = script().wait(1, 'w', {'r', 's', 't'}).wait(2, 's', {'w'}).edges;
    BOOST_TEST((found_in(edges) == circles{{2, 1}}));
}

BOOST_AUTO_TEST_CASE(an_owner_that_waits_for_what_it_holds_is_a_circle_of_its_own) {
    BOOST_TEST((found_in(script().wait(1, 'a', {'a', 'b'}).edges) == circles{{1}}));
}

BOOST_AUTO_TEST_CASE(an_owner_behind_itself_in_a_queue_is_no_circle) {
    const auto edges =
        script().wait(1, 'a', {'x'}).wait(2, 'a', {'x'}).wait(2, 'a', {'a'}, in_front).edges;
    BOOST_TEST(found_in(edges).empty());
}

BOOST_AUTO_TEST_CASE(the_order_of_a_queue_can_close_a_circle) {
    // x holds k and reads; a wants to write k; b wants to read it and stands behind a; x waits for
    // what b holds.
    const auto edges =
        script().wait(1, 'a', {'x'}).wait(2, 'b', {'a'}, in_front).wait(3, 'x', {'b'}).edges;
    BOOST_TEST((found_in(edges) == circles{{3, 2, 1}}));
}

BOOST_AUTO_TEST_CASE(a_permit_is_to_be_had_as_long_as_one_holder_goes_on) {
    const auto edges = script().wait(1, 'a', {'b', 'c'}, one_of).wait(2, 'b', {'a'}).edges;
    BOOST_TEST(found_in(edges).empty());
    auto all = script().wait(1, 'a', {'b', 'c'}, one_of).wait(2, 'b', {'a'}).wait(3, 'c', {'a'});
    BOOST_TEST((found_in(all.edges) == circles{{3, 1}}));
}

BOOST_AUTO_TEST_CASE(fewer_permits_than_are_wanted_are_not_enough) {
    // Of a semaphore of four a holds three and c one; b wants all four, and a waits for b.
    auto edges = script().wait(1, 'a', {'b'}).wait(2, 'b', {'a', 'c'}, one_of).edges;
    edges[1].gives = 3;
    edges[1].needs = edges[2].needs = 4;
    BOOST_TEST((found_in(edges) == circles{{2, 1}}));
    edges[1].needs = edges[2].needs = 1;
    BOOST_TEST(found_in(edges).empty());
}

BOOST_AUTO_TEST_CASE(a_permit_that_is_to_be_had_does_not_help_a_place_in_the_queue) {
    const auto edges = script()
                           .wait(1, 'b', {'x'})
                           .wait(2, 'a', {'c', 'd'}, one_of)
                           .wait(2, 'a', {'b'}, in_front)
                           .wait(3, 'x', {'a'})
                           .wait(4, 'd', {'a'})
                           .edges;
    // c goes on, so it is the queue that a is stuck in, and d hangs on it.
    BOOST_TEST((found_in(edges) == circles{{3, 2, 1}}));
}

BOOST_AUTO_TEST_CASE(a_circle_of_permits_that_opens_when_another_is_broken_is_not_told) {
    const auto edges = script()
                           .wait(1, 'x', {'y'})
                           .wait(2, 'y', {'x'})
                           .wait(3, 'a', {'b', 'x'}, one_of)
                           .wait(4, 'b', {'a'})
                           .edges;
    BOOST_TEST((found_in(edges) == circles{{2, 1}}));
    BOOST_TEST(found_in(without(edges, {{2, 1}})).empty());
}

BOOST_AUTO_TEST_CASE(equal_times_are_told_apart_by_the_order_of_the_edges) {
    auto edges = script().wait(1, 'a', {'b'}).wait(2, 'b', {'a'}).edges;
    for (wait_edge& edge : edges) {
        edge.since = instant{5};
    }
    BOOST_TEST((found_in(edges) == circles{{2, 1}}));
    std::ranges::reverse(edges);
    BOOST_TEST((found_in(edges) == circles{{1, 2}}));
}

BOOST_AUTO_TEST_CASE(names_that_differ_in_high_bits_only_are_different_owners) {
    const uint64_t high = uint64_t{1} << 63;
    BOOST_TEST(found_in(script().wait(1, 5, {5 + high}).wait(2, 6, {5}).edges).empty());
    BOOST_TEST((found_in(script().wait(1, 5, {5 + high}).wait(2, 5 + high, {5}).edges) ==
                circles{{2, 1}}));
}

BOOST_AUTO_TEST_CASE(a_circle_of_a_hundred_thousand_owners_is_found_in_full) {
    constexpr uint64_t size = 100'000;
    script all;
    for (uint64_t i = 0; i < size; ++i) {
        // Multiplied by an odd number: names are hashes, and all differ.
        all.wait(i, i * 0x9e3779b97f4a7c15, {((i + 1) % size) * 0x9e3779b97f4a7c15});
    }
    const auto found = found_in(all.edges);
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    BOOST_TEST(found[0].size() == size);
    BOOST_TEST(found[0].front() == size - 1);
    BOOST_TEST(problem_of(found[0], all.edges) == "");
}

BOOST_AUTO_TEST_CASE(
    a_queue_of_a_hundred_thousand_is_no_circle_until_its_holder_waits_for_the_last) {
    constexpr uint64_t size = 100'000;
    script all;
    all.wait(1, 1, {0});
    for (uint64_t i = 2; i < size; ++i) {
        all.wait(i, i, {0}).wait(i, i, {i - 1}, in_front);
    }
    BOOST_TEST(found_in(all.edges).empty());
    all.wait(size, 0, {size - 1});
    // It waits for the last one, which waits for it: the queue between them is the longer way.
    BOOST_TEST((found_in(all.edges) == circles{{size, size - 1}}));
}

BOOST_DATA_TEST_CASE(random_waits_agree_with_the_slow_way, boost::unit_test::data::xrange(2'000),
                     seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    const auto edges = random_waits(random, false);
    const auto found = found_in(edges);
    BOOST_TEST(found.size() == tangles_of(edges));
    BOOST_TEST(found.empty() == stuck_in(edges).empty());
    for (const circle& each : found) {
        BOOST_TEST(problem_of(each, edges) == "");
    }
    BOOST_TEST((found == found_in(edges)));
}

BOOST_DATA_TEST_CASE(who_is_told_to_be_stuck_is_and_breaking_circles_frees_everybody,
                     boost::unit_test::data::xrange(4'000), seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    auto edges = random_waits(random, true);
    for (;;) {
        const auto stuck = stuck_in(edges);
        const auto found = found_in(edges);
        BOOST_TEST(found.empty() == stuck.empty());
        for (const circle& each : found) {
            BOOST_TEST(problem_of(each, edges) == "");
            for (const wait_edge& edge : edges) {
                if (std::ranges::find(each, edge.wait) != each.end()) {
                    BOOST_TEST(stuck.contains(edge.waiter));
                }
            }
        }
        if (found.empty()) {
            break;
        }
        edges = without(edges, found);
    }
}
