#include "shards/fence_ceiling.hh"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/when_all.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/util/tmp_file.hh>

#include "shards/core/fence_record.hh"

using namespace lockkeeper::shards;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t clock_now = 1'790'000'000;
constexpr uint64_t by_clock = fences_by_clock(clock_now);

/// A folder for one test.
class folder {
public:
    folder() : _path(std::filesystem::temp_directory_path() / "lockkeeper-fences-XXXXXX") {
        BOOST_REQUIRE(::mkdtemp(_path.data()) != nullptr);
    }
    ~folder() { std::filesystem::remove_all(_path); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    const std::string& path() const { return _path; }
    std::string file(std::string_view name = "fence-ceiling") const {
        return _path + "/" + std::string(name);
    }
    std::string text() const {
        std::ifstream file_text(file());
        return {std::istreambuf_iterator<char>(file_text), {}};
    }
    uint64_t written() const { return parse_fence_record(text()).value(); }
    void write(std::string_view text) const { std::ofstream(file()) << text; }

private:
    std::string _path;
};

/// What a start says that does not succeed.
ss::future<std::string> refusal(std::string path, uint64_t unix_seconds) {
    fence_ceiling fences;
    std::string words;
    try {
        co_await fences.start(path, unix_seconds);
    } catch (const std::system_error& problem) {
        // The caller takes these for a port in use.
        BOOST_FAIL("a system_error: " << problem.what());
    } catch (const std::runtime_error& problem) {
        words = problem.what();
    }
    co_await fences.stop();
    co_return words;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

SEASTAR_TEST_CASE(without_a_folder_fences_begin_at_the_clock_and_have_no_ceiling) {
    fence_ceiling fences;
    BOOST_TEST(co_await fences.start("", clock_now) == by_clock);
    BOOST_TEST(fences.ceiling() == fence_limit);
    BOOST_TEST(co_await fences.raise(by_clock + 5) == fence_limit);
    co_await fences.stop();
}

SEASTAR_TEST_CASE(the_first_start_in_a_folder_begins_at_the_clock_and_writes_its_ceiling_down) {
    const folder state;
    fence_ceiling fences;
    BOOST_TEST(co_await fences.start(state.path(), clock_now) == by_clock);
    BOOST_TEST(fences.ceiling() == by_clock + fence_block);
    BOOST_TEST(state.text() == show_fence_record(by_clock + fence_block));
    co_await fences.stop();
}

SEASTAR_TEST_CASE(a_restart_goes_on_above_everything_given_whatever_the_clock_says) {
    const folder state;
    uint64_t highest = 0;
    for (const uint64_t seconds : {clock_now, clock_now, clock_now - 1'000'000, uint64_t{0}}) {
        fence_ceiling fences;
        const uint64_t floor = co_await fences.start(state.path(), seconds);
        BOOST_TEST(floor >= highest);
        BOOST_TEST(co_await fences.raise(floor + 3 * fence_block) == floor + 3 * fence_block);
        highest = fences.ceiling();
        co_await fences.stop();
    }
    BOOST_TEST(highest == by_clock + 12 * fence_block);
    fence_ceiling fences;
    BOOST_TEST(co_await fences.start(state.path(), clock_now + 1'000) ==
               fences_by_clock(clock_now + 1'000));
    co_await fences.stop();
}

SEASTAR_TEST_CASE(no_ceiling_is_told_that_is_not_in_the_file) {
    const folder state;
    fence_ceiling fences;
    uint64_t wanted = co_await fences.start(state.path(), clock_now);
    for (int i = 0; i < 20; ++i) {
        wanted += fence_block / 2 * (1 + i % 4);
        const uint64_t told = co_await fences.raise(wanted);
        BOOST_TEST(told >= wanted);
        BOOST_TEST(state.written() == told);
    }
    co_await fences.stop();
}

SEASTAR_TEST_CASE(a_raise_makes_room_for_a_whole_block_and_serves_those_who_ask_meanwhile) {
    const folder state;
    fence_ceiling fences;
    const uint64_t floor = co_await fences.start(state.path(), clock_now);
    std::vector<ss::future<uint64_t>> asked;
    for (uint64_t i = 1; i <= 10; ++i) {
        asked.push_back(fences.raise(floor + fence_block + i));
    }
    const auto told = co_await ss::when_all_succeed(asked.begin(), asked.end());
    for (const uint64_t ceiling : told) {
        BOOST_TEST(ceiling == floor + 2 * fence_block);
    }
    BOOST_TEST(state.written() == floor + 2 * fence_block);
    co_await fences.stop();
}

SEASTAR_TEST_CASE(
    a_ceiling_that_cannot_be_written_stays_and_a_restart_is_above_all_that_was_given) {
    const folder state;
    fence_ceiling fences;
    const uint64_t floor = co_await fences.start(state.path(), clock_now);
    fence_counter given(floor, fences.ceiling());
    std::filesystem::create_directory(state.file("fence-ceiling.new"));
    bool failed = false;
    try {
        co_await fences.raise(floor + 2 * fence_block);
    } catch (const std::system_error&) {
        failed = true;
    }
    BOOST_TEST(failed);
    BOOST_TEST(fences.ceiling() == floor + fence_block);
    while (given.next()) {
    }
    BOOST_TEST(given.last() == floor + fence_block);
    co_await fences.stop();

    std::filesystem::remove(state.file("fence-ceiling.new"));
    fence_ceiling again;
    BOOST_TEST(co_await again.start(state.path(), clock_now) >= given.last());
    co_await again.stop();
}

SEASTAR_TEST_CASE(a_crash_before_the_new_file_has_its_name_leaves_the_old_one) {
    const folder state;
    fence_ceiling fences;
    const uint64_t floor = co_await fences.start(state.path(), clock_now);
    co_await fences.stop();
    std::ofstream(state.file("fence-ceiling.new")) << "lockkeeper fences up to 18";
    fence_ceiling again;
    BOOST_TEST(co_await again.start(state.path(), clock_now) == floor + fence_block);
    BOOST_TEST(!std::filesystem::exists(state.file("fence-ceiling.new")));
    co_await again.stop();
}

SEASTAR_TEST_CASE(a_folder_that_cannot_be_used_says_why) {
    const folder state;
    const std::string missing = state.file("missing");
    BOOST_TEST(co_await refusal(missing, clock_now) ==
               "embedded.state: the folder " + missing +
                   " cannot be used: No such file or directory");
    state.write("x");
    BOOST_TEST(co_await refusal(state.file(), clock_now) ==
               "embedded.state: the folder " + state.file() + " cannot be used: Not a directory");
    // Root may write to whatever has a mode that forbids it, but not here.
    BOOST_TEST(contains(co_await refusal("/proc", clock_now), "the folder /proc cannot be used: "));
}

SEASTAR_TEST_CASE(a_folder_in_which_no_file_can_be_written_says_why) {
    const folder state;
    std::filesystem::create_directory(state.file("fence-ceiling.new"));
    BOOST_TEST(co_await refusal(state.path(), clock_now) ==
               "embedded.state: the folder " + state.path() + " cannot be used: Is a directory");
}

SEASTAR_TEST_CASE(a_damaged_file_is_refused_and_left_as_it_is) {
    const folder state;
    for (const std::string& text :
         {std::string(), std::string("1876951040000000\n"), show_fence_record(7).substr(1),
          show_fence_record(7) + "\n", std::string(10'000, '\0')}) {
        state.write(text);
        const auto words = co_await refusal(state.path(), clock_now);
        BOOST_TEST(contains(words, state.file() + " is damaged ("), words);
        BOOST_TEST(contains(words, "remove it if they may go on from the wall clock"), words);
        BOOST_TEST(state.text() == text);
    }
}

SEASTAR_TEST_CASE(two_servers_cannot_share_a_folder) {
    const folder state;
    fence_ceiling fences;
    const uint64_t floor = co_await fences.start(state.path(), clock_now);
    BOOST_TEST(co_await refusal(state.path(), clock_now) ==
               "embedded.state: the folder " + state.path() +
                   " cannot be used: another server uses it; give each a folder of its own");
    BOOST_TEST(state.written() == floor + fence_block);
    co_await fences.stop();
    // The file stays, the lock does not.
    fence_ceiling again;
    BOOST_TEST(co_await again.start(state.path(), clock_now) == floor + fence_block);
    co_await again.stop();
}

SEASTAR_TEST_CASE(a_clock_beyond_all_fences_is_refused) {
    BOOST_TEST(contains(co_await refusal("", uint64_t{1} << 33), "after the year 2242"));
}

SEASTAR_TEST_CASE(the_last_fences_of_all_are_given_and_no_more) {
    const folder state;
    state.write(show_fence_record(fence_limit - 10));
    fence_ceiling fences;
    BOOST_TEST(co_await fences.start(state.path(), clock_now) == fence_limit - 10);
    BOOST_TEST(fences.ceiling() == fence_limit);
    BOOST_TEST(co_await fences.raise(fence_limit + 1) == fence_limit);
    fence_counter last(fence_limit - 10, fences.ceiling());
    fence_supply supply(last, fences);
    supply.look();
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(last.next().has_value());
    }
    BOOST_TEST(!last.next().has_value());
    co_await supply.stop();
    co_await fences.stop();
}

SEASTAR_TEST_CASE(stopping_waits_for_a_raise_under_way_and_ends_what_comes_later) {
    const folder state;
    fence_ceiling fences;
    const uint64_t floor = co_await fences.start(state.path(), clock_now);
    auto raising = fences.raise(floor + 2 * fence_block);
    co_await fences.stop();
    BOOST_TEST(raising.available());
    BOOST_TEST(co_await std::move(raising) == floor + 2 * fence_block);
    BOOST_CHECK_THROW(co_await fences.raise(floor + 9 * fence_block), ss::gate_closed_exception);
}

namespace {

/// One core's counter, beside the ceiling of core 0.
struct core {
    core(uint64_t floor, fence_ceiling& ceiling)
        : fences(floor, ceiling.ceiling()), supply(fences, ceiling) {}

    /// Gives `count` fences, looking now and then, as a core does on its timer.
    ss::future<> give(uint64_t count) {
        while (count > 0) {
            for (int i = 0; i < 10'000 && count > 0 && fences.next(); ++i) {
                --count;
            }
            supply.look();
            co_await ss::sleep(100us);
        }
    }
    ss::future<> stop() { return supply.stop(); }

    fence_counter fences;
    fence_supply supply;
};

}  // namespace

SEASTAR_TEST_CASE(every_core_is_supplied_before_it_runs_out_and_the_file_is_above_all_of_them) {
    const folder state;
    fence_ceiling ceiling;
    const uint64_t floor = co_await ceiling.start(state.path(), clock_now);
    ss::sharded<core> cores;
    co_await cores.start(floor, std::ref(ceiling));
    co_await cores.invoke_on_all(
        [](core& each) { return each.give((ss::this_shard_id() + 1) * 3 * fence_block / 2); });
    const uint64_t highest = co_await cores.map_reduce0(
        [](core& each) { return each.fences.last(); }, uint64_t{0},
        [](uint64_t one, uint64_t other) { return std::max(one, other); });
    BOOST_TEST(highest == floor + ss::smp::count * 3 * fence_block / 2);
    BOOST_TEST(state.written() >= highest);
    co_await cores.stop();
    co_await ceiling.stop();
}

SEASTAR_TEST_CASE(a_core_asks_only_when_half_a_block_is_used) {
    const folder state;
    fence_ceiling ceiling;
    const uint64_t floor = co_await ceiling.start(state.path(), clock_now);
    core one(floor, ceiling);
    for (uint64_t i = 0; i < fence_block / 2; ++i) {
        BOOST_REQUIRE(one.fences.next().has_value());
    }
    one.supply.look();
    one.supply.look();
    BOOST_TEST(one.fences.left() == fence_block / 2);
    BOOST_TEST(one.fences.next().has_value());
    one.supply.look();
    while (one.fences.left() < fence_block / 2) {
        co_await ss::sleep(1ms);
    }
    BOOST_TEST(state.written() == floor + 2 * fence_block);
    co_await one.stop();
    one.supply.look();
    co_await ceiling.stop();
}
