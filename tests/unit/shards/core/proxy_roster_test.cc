#include "shards/core/proxy_roster.hh"

#include <boost/test/unit_test.hpp>

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr instant start = start_of_time + 1000s;

proxy_card card(std::string id, uint64_t beat) {
    return {.id = std::move(id),
            .address = "10.0.0.1:6380",
            .version = "0.1.0",
            .fingerprint = "f",
            .beat = beat};
}

using reading = std::vector<std::vector<proxy_card>>;

struct three_masters {
    proxy_roster roster{{.own_id = "me", .masters = 3, .patience = 3s, .memory = 60s}};

    void read(const reading& answers, instant now) { roster.on_reading(answers, now); }
    void read_all(uint64_t beat, instant now) {
        read({{card("you", beat)}, {card("you", beat)}, {card("you", beat)}}, now);
    }
    bool knows(std::string_view id) const { return roster.members().contains(id); }
    bool is_alive(std::string_view id) const { return roster.members().find(id)->second.alive; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_card_is_read_as_it_was_written) {
    const auto written = card("lk1", 17);
    BOOST_TEST((parse_proxy_card("lk1", to_text(written)) == written));
}

BOOST_AUTO_TEST_CASE(what_is_no_card_is_not_taken_for_one) {
    for (const std::string_view text :
         {"", "17", "17 a:1 0.1", "x a:1 0.1 f", "17  0.1 f", "17 a:1 0.1 f more", "17 a:1 0.1 f ",
          "-1 a:1 0.1 f", "17 a\n:1 0.1 f", "99999999999999999999 a:1 0.1 f"}) {
        BOOST_TEST(!parse_proxy_card("lk1", text), text);
    }
    BOOST_TEST(!parse_proxy_card("", "17 a:1 0.1 f"));
    BOOST_TEST(!parse_proxy_card("l k", "17 a:1 0.1 f"));
    BOOST_TEST(!parse_proxy_card("lk1", "17 a:1 0.1 " + std::string(1000, 'f')));
}

BOOST_FIXTURE_TEST_CASE(a_proxy_is_alive_while_its_beat_goes_on, three_masters) {
    read_all(1, start);
    BOOST_TEST(is_alive("you"));
    read_all(2, start + 2s);
    read_all(2, start + 4s);
    BOOST_TEST(is_alive("you"));
    read_all(2, start + 5s);
    BOOST_TEST(!is_alive("you"));
    read_all(3, start + 6s);
    BOOST_TEST(is_alive("you"));
}

BOOST_FIXTURE_TEST_CASE(one_does_not_meet_oneself, three_masters) {
    read({{card("me", 1)}, {card("me", 1)}, {card("me", 1)}}, start);
    BOOST_TEST(roster.members().empty());
}

BOOST_FIXTURE_TEST_CASE(a_majority_must_have_the_card, three_masters) {
    read({{card("liar", 5)}, {}, {}}, start);
    BOOST_TEST(!knows("liar"));
    read({{card("you", 5)}, {card("you", 4)}, {}}, start);
    BOOST_TEST(knows("you"));
    BOOST_TEST(roster.members().find("you")->second.card.beat == 4u);
}

BOOST_FIXTURE_TEST_CASE(one_master_alone_keeps_nobody_alive, three_masters) {
    read_all(1, start);
    for (uint64_t beat = 2; beat < 10; ++beat) {
        read({{card("you", beat)}, {card("you", 1)}, {card("you", 1)}}, start + beat * 1s);
    }
    BOOST_TEST(!is_alive("you"));
}

BOOST_FIXTURE_TEST_CASE(a_card_that_is_there_twice_counts_once, three_masters) {
    read({{card("you", 1), card("you", 1)}, {}, {}}, start);
    BOOST_TEST(!knows("you"));
}

BOOST_FIXTURE_TEST_CASE(a_minority_of_answers_proves_nothing_but_time_goes_on, three_masters) {
    read_all(1, start);
    read({{card("you", 2)}}, start + 1s);
    BOOST_TEST(roster.members().find("you")->second.card.beat == 1u);
    read({}, start + 3s);
    BOOST_TEST(!is_alive("you"));
}

BOOST_FIXTURE_TEST_CASE(who_is_dead_for_long_is_forgotten_and_cleaned_up, three_masters) {
    read_all(1, start);
    read_all(1, start + 60s);
    BOOST_TEST(!knows("you"));
    BOOST_TEST((roster.take_forgotten() == std::vector<std::string>{"you"}));
    BOOST_TEST(roster.take_forgotten().empty());
}

BOOST_FIXTURE_TEST_CASE(strangers_cannot_fill_the_roster_without_end, three_masters) {
    std::vector<proxy_card> many;
    for (int i = 0; i < 1000; ++i) {
        many.push_back(card("p" + std::to_string(i), 1));
    }
    read({many, many, many}, start);
    BOOST_TEST(roster.members().size() == 256u);
}
