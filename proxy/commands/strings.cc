#include <algorithm>
#include <limits>
#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/expiry.hh"
#include "proxy/parked_try.hh"
#include "proxy/services.hh"
#include "proxy/value_digest.hh"
#include "shards/lock_service.hh"

/// Plain locks as Redis' strings: SET with all of its options, GET, and the compare commands.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;
using shards::set_condition;

/// The conditions that compare with the value, of SET and of DELEX.
struct comparison_word {
    std::string_view word;
    set_condition condition;
    bool by_digest;
};

const comparison_word* find_comparison(std::string_view word) {
    static constexpr comparison_word words[] = {
        {"ifeq", set_condition::if_equal, false},
        {"ifne", set_condition::if_not_equal, false},
        {"ifdeq", set_condition::if_equal, true},
        {"ifdne", set_condition::if_not_equal, true},
    };
    const auto* found = std::ranges::find_if(
        words, [word](const comparison_word& one) { return equals_ignoring_case(word, one.word); });
    return found == std::end(words) ? nullptr : found;
}

/// A condition on the digest of a value, as one on the value itself, which is all that the table
/// knows: nothing else can come between the two.
struct digest_condition {
    bool holds;
    std::optional<std::string> value{};  ///< that is there now

    set_condition condition() const {
        return value ? set_condition::if_equal : set_condition::if_absent;
    }
};

/// Nothing if it cannot be told; then that has been said.
std::optional<digest_condition> look_at_digest(const key_call& call, std::string_view comparand,
                                               set_condition wanted) {
    const auto digest = parse_digest(comparand);
    if (!digest) {
        call.reply.error("ERR must be exactly 16 hexadecimal characters");
        return std::nullopt;
    }
    const auto value = call.table().get(call.key(1), call.now);
    if (!value) {
        reply_lock_error(call.reply, value.error());
        return std::nullopt;
    }
    const bool equal = *value && digest_of(**value) == *digest;
    return digest_condition{.holds = equal == (wanted == set_condition::if_equal),
                            .value = *value ? std::optional(std::string(**value)) : std::nullopt};
}

/// SET's options in any order and case. What does not fit together is a syntax error, as in Redis.
struct set_options {
    set_condition condition = set_condition::always;
    std::string_view comparand{};
    bool by_digest = false;  ///< the comparand is one of the value's digest
    bool get = false;
    bool keep_ttl = false;
    std::string_view expiry{};
    time_unit unit = time_unit::milliseconds;
    time_origin origin = time_origin::now;
    bool has_expiry = false;

    bool parse(const request& args, size_t first) {
        for (size_t i = first; i < args.size(); ++i) {
            const std::string_view word = args[i];
            const bool has_next = i + 1 < args.size();
            if (equals_ignoring_case(word, "nx")) {
                if (!choose(set_condition::if_absent)) {
                    return false;
                }
            } else if (equals_ignoring_case(word, "xx")) {
                if (!choose(set_condition::if_present)) {
                    return false;
                }
            } else if (const auto* compare = find_comparison(word); compare && has_next) {
                if (!choose(compare->condition, compare->by_digest)) {
                    return false;
                }
                comparand = args[++i];
            } else if (equals_ignoring_case(word, "get")) {
                get = true;
            } else if (equals_ignoring_case(word, "keepttl")) {
                if (has_expiry) {
                    return false;
                }
                keep_ttl = true;
            } else if (!parse_expiry(word, has_next ? args[i + 1] : std::string_view{}, has_next)) {
                return false;
            } else {
                ++i;
            }
        }
        return true;
    }

private:
    bool choose(set_condition wanted, bool of_digest = false) {
        if (condition != set_condition::always && (condition != wanted || by_digest != of_digest)) {
            return false;
        }
        condition = wanted;
        by_digest = of_digest;
        return true;
    }

    /// The same option may come again, and then the last one counts; another one may not.
    bool parse_expiry(std::string_view word, std::string_view number, bool has_number) {
        struct option {
            std::string_view word;
            time_unit unit;
            time_origin origin;
        };
        constexpr option options[] = {
            {"ex", time_unit::seconds, time_origin::now},
            {"px", time_unit::milliseconds, time_origin::now},
            {"exat", time_unit::seconds, time_origin::epoch},
            {"pxat", time_unit::milliseconds, time_origin::epoch},
        };
        const auto* found = std::ranges::find_if(
            options, [word](const option& one) { return equals_ignoring_case(word, one.word); });
        if (found == std::end(options) || !has_number || keep_ttl ||
            (has_expiry && (unit != found->unit || origin != found->origin))) {
            return false;
        }
        unit = found->unit;
        origin = found->origin;
        has_expiry = true;
        expiry = number;
        return true;
    }
};

/// False if the number is no good; then that has been said, in the name of the command.
bool read_expiry(const key_call& call, std::string_view command, std::string_view text,
                 time_unit unit, time_origin origin, shards::expiry_change& expiry) {
    const auto number = protocol::parse_integer(text);
    if (!number) {
        reply_not_an_integer(call.reply);
        return false;
    }
    const auto when = *number > 0 ? to_instant(*number, unit, origin, call.now) : std::nullopt;
    if (!when) {
        call.reply.error({"ERR invalid expire time in '", command, "' command"});
        return false;
    }
    expiry = shards::expiry_change::at(*when);
    return true;
}

void set(const key_call& call) {
    set_options options;
    if (!options.parse(call.args, 3)) {
        return reply_syntax_error(call.reply);
    }
    auto expiry = options.keep_ttl ? shards::expiry_change::keep() : shards::expiry_change::never();
    if (options.has_expiry &&
        !read_expiry(call, "set", options.expiry, options.unit, options.origin, expiry)) {
        return;
    }
    std::optional<digest_condition> digest;
    if (options.by_digest) {
        digest = look_at_digest(call, options.comparand, options.condition);
        if (!digest) {
            return;
        }
        if (!digest->holds) {
            return options.get && digest->value ? call.reply.bulk(*digest->value)
                                                : call.reply.null();
        }
        options.condition = digest->condition();
        options.comparand = digest->value ? std::string_view(*digest->value) : std::string_view();
    }
    const auto outcome = call.table().set({.key = call.key(1),
                                           .value = call.args[2],
                                           .condition = options.condition,
                                           .comparand = options.comparand,
                                           .expiry = expiry,
                                           .want_previous = options.get,
                                           .client = call.client},
                                          call.now);
    if (!outcome) {
        return reply_lock_error(call.reply, outcome.error());
    }
    if (options.get) {
        outcome->previous ? call.reply.bulk(*outcome->previous) : call.reply.null();
    } else if (outcome->stored) {
        call.reply.ok();
    } else {
        call.reply.null();
    }
}

// ---- tries that are held back -------------------------------------------------------------------

/// Only `SET key owner NX` with a time to live from now is a try that may wait in line: one without
/// an end would live by the connection there.
std::optional<shards::lock_order> read_try(client& who, const request& args) {
    set_options options;
    if (!options.parse(args, 3) || options.condition != set_condition::if_absent || options.get ||
        options.keep_ttl || options.origin != time_origin::now || !options.has_expiry) {
        return std::nullopt;
    }
    const auto ttl = ttl_of_try(options.expiry, options.unit == time_unit::seconds
                                                    ? std::chrono::seconds(1)
                                                    : std::chrono::milliseconds(1));
    if (!ttl) {
        return std::nullopt;
    }
    return shards::lock_order{.database = who.database,
                              .key = std::string(args[1]),
                              .owner = std::string(args[2]),
                              .client = who.id,
                              .ttl = ttl,
                              .may_own = true};  // and is told so, if it cannot know
}

/// A try with the same token is the same try. Any other SET would overwrite the lock of whoever has
/// taken it meanwhile, and with GET the answer would not be the first one.
bool set_is_repeatable(const request& args) {
    set_options options;
    return options.parse(args, 3) && options.condition == set_condition::if_absent && !options.get;
}

/// XX and comparisons are not fulfilled where there is nothing.
bool set_finds_out_by_trying(const request& args) {
    set_options options;
    return options.parse(args, 3) && (options.condition == set_condition::always ||
                                      options.condition == set_condition::if_absent);
}

bool set_may_park(client& who, const request& args) {
    return time_to_park(who, args[1], args[2]) && read_try(who, args);
}

ss::future<> set_in_time(client& who, owned_request args) {
    const auto views = args.views();
    auto order = read_try(who, request{views});
    const auto how_long = time_to_park(who, views[1], views[2]);
    if (!order || !how_long) {
        co_await run_unparked(who, args, views[1]);
        co_return;
    }
    switch (co_await park(who, args, std::move(*order), *how_long)) {
        case parked_end::granted:
            who.reply.ok();
            break;
        case parked_end::refused:
            co_await run_unparked(who, args, views[1]);
            break;
        case parked_end::answered:
            break;
    }
}

void setnx(const key_call& call) {
    const auto outcome = call.table().set({.key = call.key(1),
                                           .value = call.args[2],
                                           .condition = set_condition::if_absent,
                                           .client = call.client},
                                          call.now);
    outcome ? call.reply.integer(outcome->stored ? 1 : 0)
            : reply_lock_error(call.reply, outcome.error());
}

void set_for(const key_call& call, std::string_view command, time_unit unit) {
    shards::expiry_change expiry;
    if (!read_expiry(call, command, call.args[2], unit, time_origin::now, expiry)) {
        return;
    }
    const auto outcome =
        call.table().set({.key = call.key(1), .value = call.args[3], .expiry = expiry}, call.now);
    outcome ? call.reply.ok() : reply_lock_error(call.reply, outcome.error());
}
void setex(const key_call& call) {
    set_for(call, "setex", time_unit::seconds);
}
void psetex(const key_call& call) {
    set_for(call, "psetex", time_unit::milliseconds);
}

void get(const key_call& call) {
    const auto value = call.table().get(call.key(1), call.now);
    if (!value) {
        return reply_lock_error(call.reply, value.error());
    }
    *value ? call.reply.bulk(**value) : call.reply.null();
}

void getdel(const key_call& call) {
    const auto value = call.table().get(call.key(1), call.now);
    if (!value) {
        return reply_lock_error(call.reply, value.error());
    }
    if (!*value) {
        return call.reply.null();
    }
    call.reply.bulk(**value);
    call.table().remove(call.key(1), call.now);
}

void strlen(const key_call& call) {
    const auto value = call.table().get(call.key(1), call.now);
    if (!value) {
        return reply_lock_error(call.reply, value.error());
    }
    call.reply.integer(*value ? static_cast<int64_t>((*value)->size()) : 0);
}

void add(const key_call& call, std::string_view text, bool negative) {
    const auto number = protocol::parse_integer(text);
    if (!number) {
        return reply_not_an_integer(call.reply);
    }
    if (negative && *number == std::numeric_limits<int64_t>::min()) {
        return call.reply.error("ERR decrement would overflow");
    }
    const auto sum = call.table().increment(call.key(1), negative ? -*number : *number, call.now);
    sum ? call.reply.integer(*sum) : reply_lock_error(call.reply, sum.error());
}
void incr(const key_call& call) {
    add(call, "1", false);
}
void decr(const key_call& call) {
    add(call, "1", true);
}
void incrby(const key_call& call) {
    add(call, call.args[2], false);
}
void decrby(const key_call& call) {
    add(call, call.args[2], true);
}

void remove_if(const key_call& call, std::string_view comparand, shards::comparison compare) {
    const auto outcome = call.table().remove_if(
        {.key = call.key(1), .comparand = comparand, .compare = compare, .client = call.client},
        call.now);
    outcome ? call.reply.integer(*outcome == shards::compare_outcome::done ? 1 : 0)
            : reply_lock_error(call.reply, outcome.error());
}

void delifeq(const key_call& call) {
    remove_if(call, call.args[2], shards::comparison::equal);
}

void delex(const key_call& call) {
    if (call.args.size() == 2) {
        return call.reply.integer(call.table().remove(call.key(1), call.now) ? 1 : 0);
    }
    const auto* compare = call.args.size() == 4 ? find_comparison(call.args[2]) : nullptr;
    if (!compare) {
        return reply_syntax_error(call.reply);
    }
    if (!compare->by_digest) {
        return remove_if(call, call.args[3],
                         compare->condition == set_condition::if_equal
                             ? shards::comparison::equal
                             : shards::comparison::not_equal);
    }
    const auto digest = look_at_digest(call, call.args[3], compare->condition);
    if (digest) {
        digest->holds && digest->value ? remove_if(call, *digest->value, shards::comparison::equal)
                                       : call.reply.integer(0);
    }
}

void digest(const key_call& call) {
    const auto value = call.table().get(call.key(1), call.now);
    if (!value) {
        return reply_lock_error(call.reply, value.error());
    }
    if (!*value) {
        return call.reply.null();
    }
    const value_digest text = digest_of(**value);
    call.reply.bulk({text.data(), text.size()});
}

constexpr uint32_t reads = flag_readonly | flag_fast;
constexpr uint32_t writes = flag_write | flag_fast;
constexpr uint32_t grows = flag_write | flag_grows;
constexpr key_positions first{1, 1, 1};

constexpr command_spec table[] = {
    {.name = "decr",
     .least = 2,
     .most = 2,
     .flags = grows | flag_fast,
     .keys = first,
     .on_keys = decr},
    {.name = "decrby",
     .least = 3,
     .most = 3,
     .flags = grows | flag_fast,
     .keys = first,
     .on_keys = decrby},
    {.name = "delex", .least = 2, .most = -1, .flags = writes, .keys = first, .on_keys = delex},
    {.name = "delifeq", .least = 3, .most = 3, .flags = writes, .keys = first, .on_keys = delifeq},
    {.name = "digest", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = digest},
    {.name = "get", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = get},
    {.name = "getdel", .least = 2, .most = 2, .flags = writes, .keys = first, .on_keys = getdel},
    {.name = "incr",
     .least = 2,
     .most = 2,
     .flags = grows | flag_fast,
     .keys = first,
     .on_keys = incr},
    {.name = "incrby",
     .least = 3,
     .most = 3,
     .flags = grows | flag_fast,
     .keys = first,
     .on_keys = incrby},
    {.name = "psetex", .least = 4, .most = 4, .flags = grows, .keys = first, .on_keys = psetex},
    {.name = "set",
     .least = 3,
     .most = -1,
     .flags = grows | flag_takes_lock,
     .keys = first,
     .on_keys = set,
     .in_time = set_in_time,
     .may_wait = set_may_park,
     .is_repeatable = set_is_repeatable,
     .finds_out_by_trying = set_finds_out_by_trying},
    {.name = "setex", .least = 4, .most = 4, .flags = grows, .keys = first, .on_keys = setex},
    {.name = "setnx",
     .least = 3,
     .most = 3,
     .flags = grows | flag_fast,
     .keys = first,
     .on_keys = setnx},
    {.name = "strlen", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = strlen},
};

}  // namespace

std::span<const command_spec> string_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
