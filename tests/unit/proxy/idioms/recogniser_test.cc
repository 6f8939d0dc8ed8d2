#include "proxy/idioms/recogniser.hh"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::proxy::idioms;

namespace {

constexpr std::string_view canonical_release_sha = "b70c2384248f88e6b75b9f89241a180f856ad852";
constexpr std::string_view reentrant_acquire_sha = "149c5a8bf18676fd99e9e6e24923bd64d9b62f94";
constexpr std::string_view batch_renewal_sha = "6a3d31570dc6f4b0bd32bcdc8e75667747c6f635";
constexpr std::string_view read_batch_renewal_sha = "d6564f42b98d6eece0e940a478ee248f80b8a90a";
constexpr std::string_view read_group_renewal_sha = "38d2b478dfbe264ab67c221b7e4be62245f00ba0";
constexpr std::string_view permits_acquire_sha = "992c96b09a3d8ea0b37f5dc12e5347a44d93909d";

/// The idiom as a user might write it down; no library has this text.
constexpr std::string_view homemade_release = R"(
    -- only the holder may open the lock
    local holder = redis.call("GET", KEYS[1]);
    if (holder == ARGV[1]) then
        return redis.call("DEL", KEYS[1]);
    else
        return 0;
    end;
)";
constexpr std::string_view stranger = "return redis.call('incr', KEYS[1])";

const known_script& listed(std::string_view sha) {
    const known_script* script = by_sha(sha);
    BOOST_REQUIRE(script != nullptr);
    return *script;
}

}  // namespace

BOOST_AUTO_TEST_CASE(listed_scripts_are_found_by_their_sha_in_either_case) {
    const known_script& script = listed(canonical_release_sha);
    BOOST_TEST((script.op == operation::release_if_owner));
    BOOST_TEST((script.replies == reply_map::one_zero));
    BOOST_TEST(script.arguments.index_of(role::token).value() == 0U);
    std::string upper(canonical_release_sha);
    std::ranges::transform(upper, upper.begin(),
                           [](char c) { return c >= 'a' ? c - 'a' + 'A' : c; });
    BOOST_TEST(by_sha(upper) == &script);
}

BOOST_AUTO_TEST_CASE(other_shas_are_unknown) {
    BOOST_TEST(by_sha("0000000000000000000000000000000000000000") == nullptr);
    BOOST_TEST(by_sha("ffffffffffffffffffffffffffffffffffffffff") == nullptr);
    BOOST_TEST(by_sha("b70c2384") == nullptr);
    BOOST_TEST(by_sha("") == nullptr);
}

BOOST_AUTO_TEST_CASE(the_tables_are_sorted_and_without_doubles) {
    for (const auto& table : {scripts_by_sha(), scripts_by_normal_form()}) {
        BOOST_TEST(!table.empty());
        const auto not_rising = std::ranges::adjacent_find(
            table, [](const auto& left, const auto& right) { return left.sha >= right.sha; });
        BOOST_TEST((not_rising == table.end()));
        for (const auto& entry : table) {
            BOOST_REQUIRE(entry.script != nullptr);
        }
    }
}

BOOST_AUTO_TEST_CASE(all_libraries_are_there) {
    for (std::string_view library :
         {"redis-py", "node-redlock", "redsync", "bsm/redislock", "redis-semaphore",
          "Spring Integration", "ShedLock", "Laravel", "RedLock.net", "DistributedLock.Redis",
          "lock4j", "redlock-py", "redlock-rb", "aioredlock", "pottery", "python-redis-lock",
          "Redisson", "rueidislock", "rslock"}) {
        const auto found = std::ranges::find_if(scripts_by_sha(), [&](const auto& entry) {
            return entry.script->library.find(library) != std::string_view::npos;
        });
        BOOST_TEST((found != scripts_by_sha().end()), library);
    }
}

BOOST_AUTO_TEST_CASE(a_text_is_recognised_byte_for_byte) {
    const auto known = recognise(
        "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else "
        "return 0 end");
    BOOST_TEST(to_hex(known.sha) == canonical_release_sha);
    BOOST_TEST(known.script == by_sha(canonical_release_sha));
}

BOOST_AUTO_TEST_CASE(a_text_in_other_clothes_is_recognised_by_its_normal_form) {
    const auto known = recognise(homemade_release);
    BOOST_TEST(by_sha(known.sha) == nullptr);
    BOOST_REQUIRE(known.script != nullptr);
    BOOST_TEST((known.script->op == operation::release_if_owner));
    BOOST_TEST((known.script->replies == reply_map::one_zero));
}

BOOST_AUTO_TEST_CASE(the_common_idioms_are_recognised_with_their_own_replies) {
    const struct {
        std::string_view text;
        operation op;
        reply_map replies;
    } wanted[] = {
        {"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
         operation::release_if_owner, reply_map::one_nil},
        {"if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('unlink', KEYS[1]) "
         "return 1",
         operation::release_if_owner, reply_map::one_zero},
        {"local v = redis.call('get', KEYS[1]) if v == ARGV[1] then return redis.call('del', "
         "KEYS[1]) "
         "elseif v == false then return -1 else return 0 end",
         operation::release_if_owner, reply_map::one_zero_minus},
        {"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], "
         "ARGV[2]) "
         "else return 0 end",
         operation::extend_if_owner, reply_map::one_zero},
        {"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire', KEYS[1], "
         "ARGV[2]) "
         "else return 0 end",
         operation::extend_if_owner, reply_map::one_zero},
        {"return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])",
         operation::acquire_if_absent, reply_map::ok_nil},
        {"return redis.call('set', KEYS[1], ARGV[1], 'EX', ARGV[2], 'NX')",
         operation::acquire_if_absent, reply_map::ok_nil},
        {"if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('expire', KEYS[1], "
         "ARGV[2]) "
         "return 1 else return 0 end",
         operation::acquire_if_absent, reply_map::one_zero},
    };
    for (const auto& each : wanted) {
        const auto known = recognise(each.text);
        BOOST_TEST_CONTEXT(each.text) {
            BOOST_REQUIRE(known.script != nullptr);
            BOOST_TEST((known.script->op == each.op));
            BOOST_TEST((known.script->replies == each.replies));
        }
    }
}

BOOST_AUTO_TEST_CASE(milliseconds_and_seconds_are_told_apart) {
    const auto milliseconds =
        recognise("return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])");
    const auto seconds =
        recognise("return redis.call('set', KEYS[1], ARGV[1], 'nx', 'ex', ARGV[2])");
    BOOST_REQUIRE(milliseconds.script != nullptr);
    BOOST_REQUIRE(seconds.script != nullptr);
    BOOST_TEST(milliseconds.script->arguments.has(role::ttl_ms));
    BOOST_TEST(seconds.script->arguments.has(role::ttl_s));
}

BOOST_AUTO_TEST_CASE(near_misses_are_unknown) {
    for (std::string_view text : {
             stranger,
             std::string_view(
                 "if redis.call('get', KEYS[1]) == ARGV[2] then return redis.call('del', KEYS[1]) "
                 "else return 0 end"),
             std::string_view(
                 "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[2]) "
                 "else return 0 end"),
             std::string_view(
                 "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                 "else return 7 end"),
             std::string_view(
                 "redis.call('incr', 'x') if redis.call('get', KEYS[1]) == ARGV[1] then return "
                 "redis.call('del', KEYS[1]) else return 0 end"),
             std::string_view(""),
         }) {
        BOOST_TEST(recognise(text).script == nullptr, text);
    }
}

BOOST_AUTO_TEST_CASE(a_call_must_have_the_layout_of_the_script) {
    const known_script& acquire = listed(reentrant_acquire_sha);
    BOOST_TEST((check_call(acquire, 1, 2) == call_check::fits));
    BOOST_TEST((check_call(acquire, 1, 3) == call_check::fits));
    BOOST_TEST((check_call(acquire, 0, 2) == call_check::wrong_key_count));
    BOOST_TEST((check_call(acquire, 2, 2) == call_check::wrong_key_count));
    BOOST_TEST((check_call(acquire, 1, 1) == call_check::too_few_arguments));
}

BOOST_AUTO_TEST_CASE(a_batch_must_bring_one_owner_for_each_key) {
    const known_script& renewal = listed(batch_renewal_sha);
    BOOST_TEST((check_call(renewal, 1, 2) == call_check::fits));
    BOOST_TEST((check_call(renewal, 100, 101) == call_check::fits));
    BOOST_TEST((check_call(renewal, 3, 3) == call_check::wrong_argument_count));
    BOOST_TEST((check_call(renewal, 3, 5) == call_check::wrong_argument_count));
    BOOST_TEST((check_call(renewal, 0, 2) == call_check::wrong_key_count));

    const known_script& pairs = listed(read_batch_renewal_sha);
    BOOST_TEST((check_call(pairs, 4, 3) == call_check::fits));
    BOOST_TEST((check_call(pairs, 3, 3) == call_check::wrong_key_count));
    BOOST_TEST((check_call(pairs, 4, 4) == call_check::wrong_argument_count));

    const known_script& groups = listed(read_group_renewal_sha);
    BOOST_TEST((check_call(groups, 4, 7) == call_check::fits));
    BOOST_TEST((check_call(groups, 4, 2) == call_check::too_few_arguments));
}

BOOST_AUTO_TEST_CASE(arguments_may_repeat_where_keys_do_not) {
    const known_script& acquire = listed(permits_acquire_sha);
    BOOST_TEST((check_call(acquire, 3, 6) == call_check::fits));
    BOOST_TEST((check_call(acquire, 3, 9) == call_check::fits));
    BOOST_TEST((check_call(acquire, 3, 5) == call_check::too_few_arguments));
}

BOOST_AUTO_TEST_CASE(listed_scripts_are_always_loaded) {
    script_cache cache;
    BOOST_TEST(cache.exists(canonical_release_sha));
    BOOST_TEST(cache.find(canonical_release_sha).loaded);
    BOOST_TEST(cache.find(canonical_release_sha).script == by_sha(canonical_release_sha));
    BOOST_TEST(cache.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_loaded_text_is_found_by_its_sha_afterwards) {
    script_cache cache;
    const std::string sha = to_hex(sha1(homemade_release));
    BOOST_TEST(!cache.exists(sha));
    BOOST_TEST(!cache.find(sha).loaded);
    const auto loaded = cache.load(homemade_release);
    BOOST_TEST(to_hex(loaded.sha) == sha);
    BOOST_REQUIRE(loaded.script != nullptr);
    BOOST_TEST(cache.exists(sha));
    BOOST_TEST(cache.find(sha).script == loaded.script);
    BOOST_TEST(cache.load(homemade_release).script == loaded.script);
    BOOST_TEST(cache.size() == 1U);
}

BOOST_AUTO_TEST_CASE(texts_are_kept_of_what_is_recognised_and_not_listed) {
    script_cache cache;
    const std::string sha = to_hex(cache.load(homemade_release).sha);
    BOOST_TEST(cache.text_of(sha) == homemade_release);
    BOOST_TEST(cache.text_of(to_hex(cache.load(stranger).sha)).empty());
    BOOST_TEST(cache.text_of(canonical_release_sha).empty());
    BOOST_TEST(cache.text_of("no sha").empty());
    const std::string long_one = std::string(homemade_release) + std::string(5000, ' ');
    const auto loaded = cache.load(long_one);
    BOOST_TEST(loaded.script != nullptr);
    BOOST_TEST(cache.text_of(to_hex(loaded.sha)).empty());
    cache.flush();
    BOOST_TEST(cache.text_of(sha).empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_text_is_remembered_as_loaded) {
    script_cache cache;
    const std::string sha = to_hex(cache.load(stranger).sha);
    BOOST_TEST(cache.exists(sha));
    BOOST_TEST(cache.find(sha).loaded);
    BOOST_TEST(cache.find(sha).script == nullptr);
}

BOOST_AUTO_TEST_CASE(a_flush_forgets_what_was_loaded_but_not_what_is_listed) {
    script_cache cache;
    const std::string sha = to_hex(cache.load(stranger).sha);
    cache.flush();
    BOOST_TEST(!cache.exists(sha));
    BOOST_TEST(cache.size() == 0U);
    BOOST_TEST(cache.exists(canonical_release_sha));
}

BOOST_AUTO_TEST_CASE(the_cache_forgets_the_least_recently_used) {
    script_cache cache(2);
    const std::string first = to_hex(cache.load("return 1").sha);
    const std::string second = to_hex(cache.load("return 2").sha);
    BOOST_TEST(cache.find(first).loaded);
    const std::string third = to_hex(cache.load("return 3").sha);
    BOOST_TEST(cache.size() == 2U);
    BOOST_TEST(cache.exists(first));
    BOOST_TEST(!cache.exists(second));
    BOOST_TEST(cache.exists(third));
}

BOOST_AUTO_TEST_CASE(a_flood_of_texts_stays_within_the_limit) {
    script_cache cache;
    for (size_t i = 0; i < 3 * script_cache::scripts_max; ++i) {
        cache.load("return " + std::to_string(i));
    }
    BOOST_TEST(cache.size() == script_cache::scripts_max);
}

BOOST_AUTO_TEST_CASE(asking_whether_a_script_exists_is_no_use_of_it) {
    script_cache cache(2);
    const std::string first = to_hex(cache.load("return 1").sha);
    cache.load("return 2");
    BOOST_TEST(cache.exists(first));
    cache.load("return 3");
    BOOST_TEST(!cache.exists(first));
}
