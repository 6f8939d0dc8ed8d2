/// Every order of events of a small fleet, without any clock: three masters, one key, two attempts
/// at it; votes that take effect and answers that arrive in any order, keys that vanish at any
/// moment, connections that break, raises that come late. Random schedules do not find the errors
/// that are refuted here; two of them look right at first sight.
///
/// The property: no fence is given twice; the blocks of two attempts do not overlap; and an attempt
/// that began after another was granted has the higher fences. That must hold however early or late
/// keys end, so there is no time in this model but for the two milliseconds that a round waits for
/// votes that may be equal, which pass whenever they like.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "seen_states.hh"
#include "shards/core/planted.hh"
#include "shards/core/quorum_round.hh"
#include "shards/core/renewal_round.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;
using lockkeeper::sim::seen_states;
using lockkeeper::sim::state_digest;

namespace {

constexpr size_t masters = 3;
constexpr size_t attempts = 2;
constexpr instant before{};
constexpr instant hedged = before + 2ms;

/// What is searched.
struct scope {
    uint32_t block = 1;
    bool counts_when_busy = false;  ///< as the MULTI form of a vote does
    bool answers_travel = true;     ///< an answer may arrive later than the vote took effect
    bool links_break = false;
    bool renews = false;  ///< the first attempt goes on to take a second block
    int highest_start = 3;
};

/// A question to a master, and its answer on the way back.
enum class mail : uint8_t { none, asked, granted, busy, done };

struct attempt {
    attempt(const scope& what, size_t)
        : round({.masters = masters, .lease = 1h, .block = what.block, .patience = 1h},
                voter_set::first(masters), before) {
        votes.fill(mail::asked);
    }

    instant now() const { return waited ? hedged : before; }

    template <typename Sink>
    void fold(Sink& sink) const {
        round.fold(sink);
        uint64_t word = waited | renewal_waited << 1 | began_after_other << 2 | broken << 3;
        for (size_t m = 0; m < masters; ++m) {
            word = word << 3 | static_cast<uint64_t>(votes[m]);
            word = word << 3 | static_cast<uint64_t>(renewals[m]);
        }
        sink(word);
        word = 0;
        for (size_t m = 0; m < masters; ++m) {
            word = word << 16 | uint64_t{values[m]} << 8 | raises[m][0];
            word = word << 4 | (raises[m][1] & 15);
        }
        sink(word);
        sink(uint64_t{granted.has_value()} | uint64_t{renewed.has_value()} << 1);
        if (renewal) {
            renewal->fold(sink);
        }
        if (renewed) {
            sink(renewed->last);
        }
    }

    quorum_round round;
    std::optional<renewal_round> renewal;
    std::array<mail, masters> votes{};
    std::array<mail, masters> renewals{};
    std::array<uint8_t, masters> values{};                 ///< in answers on their way
    std::array<std::array<uint8_t, 2>, masters> raises{};  ///< asked for, in order; 0: none
    std::optional<fence_block> granted;
    std::optional<fence_block> renewed;
    bool waited = false;
    bool renewal_waited = false;
    bool began_after_other = false;
    uint64_t broken = 0;  ///< a connection has
};

struct world {
    world(const scope& what, std::array<uint8_t, masters> start)
        : counter(start), who{attempt(what, 0), attempt(what, 1)} {}

    state_digest digest() const {
        state_digest result;
        for (size_t m = 0; m < masters; ++m) {
            result(uint64_t{holder[m]} << 8 | counter[m]);
        }
        for (const auto& one : who) {
            one.fold(result);
        }
        return result;
    }

    std::array<uint8_t, masters> holder{};  ///< attempt + 1, or 0
    std::array<uint8_t, masters> counter;
    std::array<attempt, attempts> who;
};

struct finding {
    size_t states = 0;
    std::string violation;  ///< empty: none
};

class search {
public:
    explicit search(const scope& what) : _scope(what) {}

    finding run() {
        const int top = _scope.highest_start;
        for (int a = 0; a <= top; ++a) {
            for (int b = 0; b <= top; ++b) {
                for (int c = 0; c <= top; ++c) {
                    // Only the differences matter.
                    if (std::min({a, b, c}) == 0 && _found.violation.empty()) {
                        explore({static_cast<uint8_t>(a), static_cast<uint8_t>(b),
                                 static_cast<uint8_t>(c)});
                    }
                }
            }
        }
        return _found;
    }

private:
    void explore(std::array<uint8_t, masters> start) {
        seen_states seen;
        world first(_scope, start);
        seen.insert(first.digest());
        _open = {first};
        while (!_open.empty() && _found.violation.empty()) {
            const world here = std::move(_open.back());
            _open.pop_back();
            _next.clear();
            successors(here);
            for (auto& there : _next) {
                if (seen.insert(there.digest())) {
                    judge(there, start);
                    _open.push_back(std::move(there));
                }
            }
        }
        _found.states += seen.size();
    }

    void successors(const world& here) {
        for (size_t m = 0; m < masters; ++m) {
            if (here.holder[m] != 0) {
                then(here).holder[m] = 0;  // the key is gone
            }
        }
        for (size_t a = 0; a < attempts; ++a) {
            const attempt& one = here.who[a];
            if (one.round.state() == round_state::open) {
                acquire_successors(here, a);
            } else if (one.renewal && !one.renewed) {
                renew_successors(here, a);
            }
            raise_successors(here, a);
        }
    }

    world& then(const world& here) { return _next.emplace_back(here); }

    void acquire_successors(const world& here, size_t a) {
        const attempt& one = here.who[a];
        for (size_t m = 0; m < masters; ++m) {
            if (one.votes[m] == mail::asked) {
                world& next = then(here);
                vote_takes_effect(next, a, m);
                if (!_scope.answers_travel) {
                    vote_arrives(next, a, m);
                }
            }
            if (one.votes[m] == mail::granted || one.votes[m] == mail::busy) {
                vote_arrives(then(here), a, m);
            }
            if (_scope.links_break && one.broken == 0) {
                // What was asked may or may not take effect later: here, not.
                world& next = then(here);
                attempt& mine = next.who[a];
                mine.broken = 1;
                mine.votes[m] = mail::done;
                mine.raises[m] = {};
                took(next, a, mine.round.on_link_lost(static_cast<master_index>(m), mine.now()));
            }
        }
        if (!one.waited && one.round.wake_at() == hedged) {
            world& next = then(here);
            attempt& mine = next.who[a];
            mine.waited = true;
            took(next, a, mine.round.on_time(hedged));
        }
    }

    void vote_takes_effect(world& next, size_t a, size_t m) const {
        attempt& mine = next.who[a];
        const attempt& other = next.who[1 - a];
        const bool first =
            std::ranges::all_of(mine.votes, [](mail at) { return at == mail::asked; });
        if (first && other.granted) {
            mine.began_after_other = true;
        }
        const bool free = next.holder[m] == 0;
        if (free || _scope.counts_when_busy) {
            next.counter[m] += static_cast<uint8_t>(_scope.block);
        }
        if (free) {
            next.holder[m] = static_cast<uint8_t>(a + 1);
            mine.values[m] = next.counter[m];
        }
        mine.votes[m] = free ? mail::granted : mail::busy;
    }

    void vote_arrives(world& next, size_t a, size_t m) const {
        attempt& mine = next.who[a];
        const vote answer =
            mine.votes[m] == mail::granted ? vote::granted(mine.values[m]) : vote::busy();
        mine.votes[m] = mail::done;
        mine.values[m] = 0;
        took(next, a, mine.round.on_vote(static_cast<master_index>(m), answer, mine.now()));
    }

    void took(world& next, size_t a, const round_step& step) const {
        attempt& mine = next.who[a];
        ask_to_raise(mine, step.raise, step.raise_to);
        if (step.state == round_state::won) {
            mine.granted = mine.round.block();
            if (_scope.renews && a == 0) {
                mine.renewal.emplace(
                    renewal_terms{
                        .masters = masters, .lease = 1h, .block = _scope.block, .patience = 1h},
                    voter_set::first(masters), before);
                mine.renewals.fill(mail::asked);
            }
        }
    }

    void took(world& next, size_t a, const renewal_step& step) const {
        attempt& mine = next.who[a];
        ask_to_raise(mine, step.raise, step.raise_to);
        if (step.block) {
            mine.renewed = step.block;
        }
    }

    static void ask_to_raise(attempt& mine, voter_set whom, uint64_t to) {
        for (const master_index m : whom) {
            auto& asked = mine.raises[m];
            asked[asked[0] == 0 ? 0 : 1] = static_cast<uint8_t>(to);
        }
    }

    void raise_successors(const world& here, size_t a) {
        const attempt& one = here.who[a];
        for (size_t m = 0; m < masters; ++m) {
            if (one.raises[m][0] == 0) {
                continue;
            }
            world& next = then(here);
            attempt& mine = next.who[a];
            const uint8_t to = mine.raises[m][0];
            mine.raises[m] = {mine.raises[m][1], 0};
            const bool ours = next.holder[m] == a + 1 || planted(fault::raise_without_owner_check);
            if (ours) {
                next.counter[m] = std::max(next.counter[m], to);
            }
            const auto from = static_cast<master_index>(m);
            if (mine.round.state() == round_state::open) {
                took(next, a, mine.round.on_raised(from, to, ours, mine.now()));
            } else if (mine.renewal) {
                const instant now = mine.renewal_waited ? hedged : before;
                took(next, a, mine.renewal->on_raised(from, to, ours, now, end_of_time));
            }
        }
    }

    void renew_successors(const world& here, size_t a) {
        const attempt& one = here.who[a];
        const instant now = one.renewal_waited ? hedged : before;
        for (size_t m = 0; m < masters; ++m) {
            if (one.renewals[m] != mail::asked) {
                continue;
            }
            world& next = then(here);
            attempt& mine = next.who[a];
            mine.renewals[m] = mail::done;
            renewal_answer answer = renewal_answer::not_ours();
            if (next.holder[m] == a + 1) {
                next.counter[m] += static_cast<uint8_t>(_scope.block);
                answer = renewal_answer::extended(next.counter[m]);
            }
            took(next, a,
                 mine.renewal->on_answer(static_cast<master_index>(m), answer, now, end_of_time));
        }
        if (!one.renewal_waited && one.renewal->wake_at() == hedged) {
            world& next = then(here);
            attempt& mine = next.who[a];
            mine.renewal_waited = true;
            took(next, a, mine.renewal->on_time(hedged, end_of_time));
        }
    }

    static bool above(const fence_block& high, const fence_block& low) {
        return high.first > low.last;
    }

    void judge(const world& there, std::array<uint8_t, masters> start) {
        const attempt& one = there.who[0];
        const attempt& other = there.who[1];
        if (one.granted && one.renewed && !above(*one.renewed, *one.granted)) {
            return report("a renewal's fences are not above the first", there, start);
        }
        if (!one.granted || !other.granted) {
            return;
        }
        const auto apart = [&](const fence_block& a, const fence_block& b) {
            return above(a, b) || above(b, a);
        };
        if (!apart(*one.granted, *other.granted) ||
            (one.renewed && !apart(*one.renewed, *other.granted))) {
            return report("a fence is given twice", there, start);
        }
        if (one.began_after_other && !above(*one.granted, *other.granted)) {
            return report("the later attempt has the lower fences", there, start);
        }
        if (other.began_after_other && !above(*other.granted, *one.granted)) {
            return report("the later attempt has the lower fences", there, start);
        }
    }

    void report(const char* what, const world& there, std::array<uint8_t, masters> start) {
        std::ostringstream text;
        text << what << ": counters began at";
        for (const uint8_t c : start) {
            text << " " << int{c};
        }
        for (const auto& one : there.who) {
            text << "; block " << one.granted->first << ".." << one.granted->last;
        }
        _found.violation = text.str();
    }

    scope _scope;
    finding _found;
    std::vector<world> _open;
    std::vector<world> _next;
};

finding search_with(fault planted_one, const scope& what) {
    planted_fault = planted_one;
    const finding found = search(what).run();
    planted_fault = fault::none;
    return found;
}

constexpr scope renewals{.answers_travel = false, .renews = true, .highest_start = 1};

}  // namespace

BOOST_AUTO_TEST_CASE(no_order_of_events_gives_a_fence_twice_or_out_of_order) {
    const finding found = search_with(fault::none, {});
    BOOST_TEST_MESSAGE("states: " << found.states);
    BOOST_TEST(found.violation == "");
    BOOST_TEST(found.states > 1'000'000);
}

BOOST_AUTO_TEST_CASE(nor_if_votes_count_on_busy_masters_or_blocks_are_larger) {
    const finding found = search_with(
        fault::none,
        {.block = 2, .counts_when_busy = true, .answers_travel = false, .highest_start = 3});
    BOOST_TEST_MESSAGE("states: " << found.states);
    BOOST_TEST(found.violation == "");
}

BOOST_AUTO_TEST_CASE(nor_if_connections_break) {
    const finding found = search_with(
        fault::none, {.answers_travel = false, .links_break = true, .highest_start = 2});
    BOOST_TEST_MESSAGE("states: " << found.states);
    BOOST_TEST(found.violation == "");
}

BOOST_AUTO_TEST_CASE(nor_if_a_renewal_takes_more_fences) {
    const finding found = search_with(fault::none, renewals);
    BOOST_TEST_MESSAGE("states: " << found.states);
    BOOST_TEST(found.violation == "");
}

BOOST_AUTO_TEST_CASE(the_search_refutes_what_is_wrong) {
    for (const fault wrong : {fault::max_without_write_back, fault::raise_without_owner_check,
                              fault::median_of_votes, fault::fence_of_one_voter}) {
        const finding found = search_with(wrong, {});
        BOOST_TEST(found.violation != "", "fault " << static_cast<int>(wrong));
        BOOST_TEST_MESSAGE("fault " << static_cast<int>(wrong) << ": " << found.violation);
    }
    const finding found = search_with(fault::block_of_one_voter, renewals);
    BOOST_TEST(found.violation != "");
    BOOST_TEST_MESSAGE("block of one voter: " << found.violation);
}
