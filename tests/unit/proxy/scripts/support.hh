#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/output.hh"
#include "protocol/reply_writer.hh"
#include "proxy/idioms/recogniser.hh"
#include "proxy/scripts/run.hh"
#include "shards/core/lock_table.hh"

/// A table, a clock, and scripts called by the first digits of their SHA-1.
namespace lockkeeper::proxy::scripts {

using words = std::vector<std::string_view>;

inline const idioms::known_script& script_with(std::string_view first_digits) {
    for (const auto& listed : idioms::scripts_by_sha()) {
        if (idioms::to_hex(listed.sha).starts_with(first_digits)) {
            return *listed.script;
        }
    }
    throw std::invalid_argument("no such script: " + std::string(first_digits));
}

/// One reply on one line: `:1`, `nil`, `+OK`, `"text"`, `[:1 :0]`, `-ERR ...`.
inline std::string shown(std::string_view& rest) {
    const size_t end = rest.find("\r\n");
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(end + 2);
    if (line == "$-1") {
        return "nil";
    }
    if (line[0] == '$') {
        const auto size = std::stoul(line.substr(1));
        const std::string text = "\"" + std::string(rest.substr(0, size)) + "\"";
        rest.remove_prefix(size + 2);
        return text;
    }
    if (line[0] != '*') {
        return line;
    }
    std::string all = "[";
    for (auto left = std::stoul(line.substr(1)); left > 0; --left) {
        all += shown(rest) + (left > 1 ? " " : "");
    }
    return all + "]";
}

struct world {
    shards::key_hasher hasher{{.low = 0x0123456789abcdef, .high = 42}};
    shards::lock_table table;
    explicit world(shards::policy_book policies = shards::policy_book())
        : table({}, std::move(policies)) {}

    shards::instant now = shards::instant{} + std::chrono::hours(1);
    int64_t wall_ms = 1'800'000'000'000;
    uint64_t client = 0;  ///< who calls
    effects out;

    ~world() { BOOST_TEST(table.verify().value_or("") == ""); }

    shards::lock_key key(std::string_view name) const {
        return {.database = 0, .name = name, .hash = hasher.place(name).bucket};
    }

    std::string run_script(const idioms::known_script& script, const words& keys,
                           const words& arguments) {
        BOOST_TEST_REQUIRE((idioms::check_call(script, keys.size(), arguments.size()) ==
                            idioms::call_check::fits));
        out = {};
        const auto done = run({.script = script,
                               .keys = keys,
                               .arguments = arguments,
                               .database = 0,
                               .hasher = hasher,
                               .table = table,
                               .now = now,
                               .wall_ms = wall_ms,
                               .out = out,
                               .client = client});
        if (!done) {
            return failed(done.error());
        }
        protocol::output bytes;
        protocol::reply_writer writer(bytes);
        write_reply(writer, script, *done, out.each);
        std::string_view rest = bytes.view();
        return shown(rest);
    }
    std::string eval(std::string_view sha, const words& keys, const words& arguments) {
        return run_script(script_with(sha), keys, arguments);
    }

    static std::string failed(const failure& why) {
        if (!why.table) {
            return "-" + std::string(why.text);
        }
        switch (*why.table) {
            case shards::lock_error::wrong_type:
                return "-WRONGTYPE";
            case shards::lock_error::key_too_long:
                return "-KEYTOOLONG";
            case shards::lock_error::too_many_locks:
                return "-TOOMANYLOCKS";
            case shards::lock_error::too_many_members:
                return "-TOOMANYMEMBERS";
            case shards::lock_error::not_an_integer:
                return "-NOTINTEGER";
            case shards::lock_error::overflow:
                return "-OVERFLOW";
            default:
                return "-UNEXPECTED";
        }
    }

    // The keys, seen from outside.
    void set(std::string_view name, std::string_view value, int64_t ttl_ms = 0) {
        const auto expiry =
            ttl_ms == 0 ? shards::expiry_change::never()
                        : shards::expiry_change::at(now + std::chrono::milliseconds(ttl_ms));
        table.set({.key = key(name), .value = value, .expiry = expiry}, now).value();
    }
    void set_hash(std::string_view name, std::string_view field, std::string_view value,
                  int64_t ttl_ms = 0) {
        table.hash_set(key(name), {field, value}, now).value();
        if (ttl_ms != 0) {
            table.expire({.key = key(name), .when = now + std::chrono::milliseconds(ttl_ms)}, now);
        }
    }
    void set_list(std::string_view name) {
        const std::string_view element = "x";
        table.list_push(key(name), shards::list_end::back, {&element, 1}, now).value();
    }
    std::string get(std::string_view name) {
        return std::string(table.get(key(name), now).value().value_or("<absent>"));
    }
    std::string field(std::string_view name, std::string_view field) {
        return std::string(table.hash_get(key(name), field, now).value().value_or("<absent>"));
    }
    bool exists(std::string_view name) { return table.exists(key(name), now); }
    /// PTTL.
    int64_t left(std::string_view name) {
        const auto life = table.lifetime_of(key(name), now);
        if (!life.present) {
            return -2;
        }
        return life.until ? std::chrono::ceil<std::chrono::milliseconds>(*life.until - now).count()
                          : -1;
    }
    void remove(std::string_view name) { table.remove(key(name), now); }
    void pass(int64_t milliseconds) {
        now = now + std::chrono::milliseconds(milliseconds);
        wall_ms += milliseconds;
    }
    /// `channel<-payload`, with `s:` before a shard's channel; several are joined by a blank.
    std::string published() const {
        std::string all;
        for (const auto& one : out.announcements) {
            const bool shard = one.where == shards::announcement::space::shard_channel;
            all += (all.empty() ? "" : " ") + std::string(shard ? "s:" : "") + one.channel + "<-" +
                   one.payload;
        }
        return all;
    }
};

inline constexpr std::string_view not_integer = "-ERR value is not an integer or out of range";
inline constexpr std::string_view bad_set = "-ERR invalid expire time in 'set' command";
inline constexpr std::string_view bad_pexpire_text =
    "-ERR invalid expire time in 'pexpire' command";

}  // namespace lockkeeper::proxy::scripts
