#include "proxy/idioms/lua_normal_form.hh"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lockkeeper::proxy::idioms;

namespace {

void check_same(std::string_view left, std::string_view right) {
    const auto form = lua_normal_form(left);
    BOOST_TEST_CONTEXT(left << "\n  and\n" << right) {
        BOOST_TEST(form.has_value());
        BOOST_TEST((form == lua_normal_form(right)));
    }
}

void check_different(std::string_view left, std::string_view right) {
    const auto one = lua_normal_form(left);
    const auto other = lua_normal_form(right);
    BOOST_TEST_CONTEXT(left << "\n  and\n" << right) {
        BOOST_TEST((one.has_value() || other.has_value()));
        BOOST_TEST((one != other));
    }
}

constexpr std::string_view compare_and_delete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 "
    "end";

}  // namespace

BOOST_AUTO_TEST_CASE(layout_and_comments_do_not_matter) {
    check_same(compare_and_delete, R"(
        -- whose is it?
        if redis.call('get',KEYS[1])==ARGV[1] then  --[[ ours ]]
            return redis.call('del',KEYS[1])
        else
            return 0
        end
    )");
    check_same("return 1\r\n", "\t return\n1;");
}

BOOST_AUTO_TEST_CASE(quotes_and_escapes_do_not_matter) {
    check_same(
        compare_and_delete,
        "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call([[del]], KEYS[1]) "
        "else return 0 end");
    check_same(R"(return 'a"b')", R"(return "a\"b")");
    check_different("return 'a'", "return 'A'");
    check_different("return 'a'", "return a");
}

BOOST_AUTO_TEST_CASE(semicolons_do_not_matter_where_lua_does_not_need_them) {
    check_same("local a = 1; return a;", "local a = 1 return a");
    check_same("return {1; 2}", "return {1, 2}");
    // Without the semicolon this is a call of f.
    check_different("local a = f; (g)()", "local a = f (g)()");
}

BOOST_AUTO_TEST_CASE(names_of_local_variables_do_not_matter) {
    check_same("local token = redis.call('get', KEYS[1]) return token",
               "local v = redis.call('get', KEYS[1]) return v");
    check_same("for i, key in ipairs(KEYS) do redis.call('del', key) end",
               "for _, k in ipairs(KEYS) do redis.call('del', k) end");
    check_same("local function f(a, b) return a + b end return f(1, 2)",
               "local function sum(x, y) return x + y end return sum(1, 2)");
}

BOOST_AUTO_TEST_CASE(which_variable_it_is_does_matter) {
    check_different("local a, b = 1, 2 return a", "local a, b = 1, 2 return b");
    check_different("local a = KEYS[1] return a", "local a = KEYS[1] return b");
    check_different("local a = 1 local b = 2 return a", "local a = 1 local a = 2 return a");
}

BOOST_AUTO_TEST_CASE(names_that_are_not_local_keep_their_meaning) {
    check_different("return KEYS[1]", "return ARGV[1]");
    check_different("return tonumber(1)", "return tostring(1)");
    // A field is no variable, even if a variable has its name.
    check_same("local call = 1 return redis.call('get', call)",
               "local a = 1 return redis.call('get', a)");
    check_same("local x = 1 return {x = x}.x", "local y = 1 return {x = y}.x");
    check_different("local x = 1 return {x = x}", "local y = 1 return {y = y}");
}

BOOST_AUTO_TEST_CASE(a_local_that_hides_redis_or_keys_is_not_taken_for_them) {
    check_different("local redis = x return redis.call('GET', 1)",
                    "local redis = x return redis.call('get', 1)");
    check_different("local redis = x return redis.call(1)", "return redis.call(1)");
    check_different("local KEYS = ARGV return redis.call('del', KEYS[1])",
                    "local k = ARGV return redis.call('del', KEYS[1])");
}

BOOST_AUTO_TEST_CASE(parentheses_around_a_condition_do_not_matter) {
    check_same("if (a == b) then return 1 elseif ((c)) then return 2 end",
               "if a == b then return 1 elseif c then return 2 end");
    check_same("while (a) do f() end", "while a do f() end");
    check_different("if (a or b) and c then return 1 end", "if a or b and c then return 1 end");
    check_different("if (a) and (b) then return 1 end", "if (a and b) then return 1 end");
    check_different("return (f())", "return f()");
}

BOOST_AUTO_TEST_CASE(case_of_commands_and_options_does_not_matter) {
    check_same("return redis.call('GET', KEYS[1])", "return redis.call('get', KEYS[1])");
    check_same("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'Px', ARGV[2])",
               "return redis.call('set', KEYS[1], ARGV[1], 'nx', 'PX', ARGV[2])");
    // Data, not options.
    check_different("return redis.call('set', KEYS[1], 'NX')",
                    "return redis.call('set', KEYS[1], 'nx')");
    check_different("return redis.call('hset', KEYS[1], 'f', 'NX')",
                    "return redis.call('hset', KEYS[1], 'f', 'nx')");
    check_different("return redis.call('a' .. 'B')", "return redis.call('a' .. 'b')");
}

BOOST_AUTO_TEST_CASE(a_protected_call_counts_as_a_call) {
    check_same("redis.pcall('del', KEYS[1])", "redis.call('del', KEYS[1])");
    check_different("redis.log('del', KEYS[1])", "redis.call('del', KEYS[1])");
}

BOOST_AUTO_TEST_CASE(what_is_done_does_matter) {
    check_different(
        compare_and_delete,
        "if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.call('del', KEYS[1]) else "
        "return 0 end");
    check_different(
        compare_and_delete,
        "if redis.call('get', KEYS[1]) == ARGV[2] then return redis.call('del', KEYS[1]) else "
        "return 0 end");
    check_different(
        compare_and_delete,
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else "
        "return 1 end");
    check_different("return 12", "return 1 2");
    check_different("return 'a', 'b'", "return 'a\\', \\'b'");
}

BOOST_AUTO_TEST_CASE(texts_that_are_no_lua_have_no_form) {
    for (std::string_view text :
         {"", "  \n", "-- nothing", "return (1", "return 1)", "return ({)}", "'", "return 'a",
          "#!lua name=x\nreturn 1", "--[[", "return \x01"}) {
        BOOST_TEST(!lua_normal_form(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(texts_beyond_the_limits_have_no_form) {
    const std::string fits = "return 1" + std::string(normal_form_text_max - 8, ' ');
    BOOST_TEST(lua_normal_form(fits).has_value());
    BOOST_TEST(!lua_normal_form(fits + " ").has_value());

    std::string tokens;
    for (size_t i = 0; i < normal_form_tokens_max; ++i) {
        tokens += "a ";
    }
    BOOST_TEST(lua_normal_form(tokens).has_value());
    BOOST_TEST(!lua_normal_form(tokens + "a").has_value());
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_only_long) {
    const size_t depth = normal_form_tokens_max / 2 - 4;
    const std::string nested =
        "if " + std::string(depth, '(') + "a" + std::string(depth, ')') + " then return end";
    check_same(nested, "if a then return end");
    BOOST_TEST(!lua_normal_form(std::string(normal_form_text_max, '(')).has_value());
    BOOST_TEST(!lua_normal_form(std::string(normal_form_text_max, '[')).has_value());
}

BOOST_AUTO_TEST_CASE(the_form_itself_is_pinned_because_its_hashes_are_data) {
    const auto form =
        lua_normal_form("local a = redis.pcall('GET', KEYS[1]); if (a == \"x\") then return 1 end");
    BOOST_REQUIRE(form.has_value());
    BOOST_TEST(
        *form ==
        "local $0 = redis . call ( \"3:get , KEYS [ 1 ] ) if $0 == \"1:x then return 1 end ");
    BOOST_TEST((lua_normal_hash("return 1") == sha1("return 1 ")));
}
