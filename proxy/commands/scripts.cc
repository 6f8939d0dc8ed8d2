#include <seastar/core/coroutine.hh>
#include <seastar/coroutine/as_future.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/commands/subcommands.hh"
#include "proxy/errand.hh"
#include "proxy/expiry.hh"
#include "proxy/parked_try.hh"
#include "proxy/peers.hh"
#include "proxy/router.hh"
#include "proxy/scripts/borrowed_keys.hh"
#include "proxy/scripts/library.hh"
#include "proxy/scripts/run.hh"
#include "proxy/services.hh"

/// EVAL, EVALSHA and SCRIPT. Scripts are not run: those of lock libraries are recognised, and what
/// they do is done to the lock table (proxy/scripts/). All else about a call is decided here.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;
using scripts::library;

// ---- the arguments ------------------------------------------------------------------------------

enum class given_by : uint8_t { text, sha };
enum class access : uint8_t { any, reading };

/// The command's four forms.
struct form {
    given_by script;
    access allowed;
};

struct script_call {
    const idioms::known_script* script;
    std::span<const std::string_view> keys;
    std::span<const std::string_view> arguments;
};

/// Why there is no call to carry out. Few of these are the hot path, so the text is put together
/// only for who wants to tell it.
struct refusal {
    enum class reason : uint8_t {
        no_script,
        bad_number,
        negative_number,
        number_too_large,
        unknown_script,
        other_layout,
        only_reads,
    };

    reason why;
    std::string sha{};
    const idioms::known_script* script = nullptr;
};

constexpr std::string_view no_lua =
    "Lockkeeper recognises the scripts of lock libraries and does not run Lua; other scripts need "
    "an upstream ('data:' in the configuration)";

void explain(const refusal& refused, protocol::reply_writer& reply) {
    using reason = refusal::reason;
    switch (refused.why) {
        case reason::no_script:
            return reply.error("NOSCRIPT No matching script. Please use EVAL.");
        case reason::bad_number:
            return reply_not_an_integer(reply);
        case reason::negative_number:
            return reply.error("ERR Number of keys can't be negative");
        case reason::number_too_large:
            return reply.error("ERR Number of keys can't be greater than number of args");
        case reason::unknown_script:
            return reply.error({"ERR unknown script ", refused.sha, ": ", no_lua});
        case reason::other_layout:
            return reply.error({"ERR script ", refused.sha, " is '", refused.script->script,
                                "' of ", refused.script->library,
                                ", but not with so many keys and arguments: ", no_lua});
        case reason::only_reads:
            return reply.error("ERR Write commands are not allowed from read-only scripts.");
    }
}

std::expected<script_call, refusal> read_call(library& known, const request& args, form how) {
    using reason = refusal::reason;
    const std::string_view name = args[1];
    if (how.script == given_by::sha && name.size() != idioms::sha1_digest::hex_size) {
        return std::unexpected(refusal{.why = reason::no_script});
    }
    const auto count = protocol::parse_integer(args[2]);
    if (!count) {
        return std::unexpected(refusal{.why = reason::bad_number});
    }
    if (*count > static_cast<int64_t>(args.size() - 3)) {
        return std::unexpected(refusal{.why = reason::number_too_large});
    }
    if (*count < 0) {
        return std::unexpected(refusal{.why = reason::negative_number});
    }
    const idioms::known_script* script = nullptr;
    std::optional<idioms::sha1_digest> sha;
    if (how.script == given_by::text) {
        const auto recognised = known.recognise(name);
        script = recognised.script;
        sha = recognised.sha;
    } else {
        const auto entry = known.find(name);
        if (!entry.loaded) {
            return std::unexpected(refusal{.why = reason::no_script});
        }
        script = entry.script;
    }
    const auto hex = [&] { return sha ? to_hex(*sha) : protocol::to_lower(name); };
    if (script == nullptr) {
        return std::unexpected(refusal{.why = reason::unknown_script, .sha = hex()});
    }
    const auto keys = args.args.subspan(3, static_cast<size_t>(*count));
    const auto arguments = args.args.subspan(3 + static_cast<size_t>(*count));
    if (check_call(*script, keys.size(), arguments.size()) != idioms::call_check::fits) {
        return std::unexpected(
            refusal{.why = reason::other_layout, .sha = hex(), .script = script});
    }
    if (how.allowed == access::reading && !scripts::only_reads(script->op)) {
        return std::unexpected(refusal{.why = reason::only_reads});
    }
    return script_call{.script = script, .keys = keys, .arguments = arguments};
}

/// Counters of fences beside a lock are of this server; on a fleet the masters count.
scripts::fences fences_of(client& who) {
    return who.all.locks.local().leases() != nullptr ? scripts::fences::of_grants
                                                     : scripts::fences::beside_locks;
}

template <form how>
std::vector<std::string_view> find_keys(client& who, const request& args) {
    const auto call = read_call(library::here(), args, how);
    return call ? scripts::stored_keys(*call->script, call->keys, fences_of(who))
                : std::vector<std::string_view>();
}

// ---- carrying it out ----------------------------------------------------------------------------

void announce(shards::lock_service& locks, std::vector<shards::announcement>& all) {
    for (auto& one : all) {
        locks.announce(std::move(one));
    }
}

void answer(protocol::reply_writer& reply, const idioms::known_script& script,
            const scripts::answer& outcome, const scripts::effects& out) {
    if (outcome) {
        return scripts::write_reply(reply, script, *outcome, out.each);
    }
    const scripts::failure& why = outcome.error();
    why.table ? reply_lock_error(reply, *why.table) : reply.error(why.text);
}

/// All keys are of this core.
template <form how>
void run_here(const key_call& here) {
    const auto call = read_call(library::here(), here.args, how);
    if (!call) {
        return explain(call.error(), here.reply);
    }
    if (scripts::only_acquires(call->script->op) && memory_is_short()) {
        return reply_out_of_memory(here.reply);
    }
    scripts::effects out;
    const auto outcome = scripts::run({.script = *call->script,
                                       .keys = call->keys,
                                       .arguments = call->arguments,
                                       .database = here.database,
                                       .hasher = here.locks.hasher(),
                                       .table = here.table(),
                                       .now = here.now,
                                       .wall_ms = wall_clock_ms(),
                                       .out = out,
                                       .client = here.client});
    announce(here.locks, out.announcements);
    answer(here.reply, *call->script, outcome, out);
    // Last, for it changes the table, and the answer may point into that.
    for (const std::string& list : out.signalled) {
        here.locks.waiting_pops().serve(here.table(), here.database, list, here.now);
    }
}

// ---- keys of several cores ----------------------------------------------------------------------

struct renewals {
    std::optional<scripts::failure> failed{};
    std::vector<idioms::result> each{};
};

renewals renew_on(shards::lock_service& locks, const idioms::known_script& script,
                  uint32_t database, const owned_request& args, size_t keys) {
    const auto views = args.views();
    const std::span<const std::string_view> all(views);
    scripts::effects out;
    const auto outcome = scripts::run({.script = script,
                                       .keys = all.subspan(3, keys),
                                       .arguments = all.subspan(3 + keys),
                                       .database = database,
                                       .hasher = locks.hasher(),
                                       .table = locks.table(),
                                       .now = shards::read_clock(),
                                       .wall_ms = wall_clock_ms(),
                                       .out = out});
    if (!outcome) {
        return {.failed = outcome.error()};
    }
    return {.each = std::move(out.each)};
}

/// Each core renews what it has of the keys; for each key the word of its own core counts.
ss::future<> renew_over_cores(client& who, const owned_request& args, const script_call& call,
                              const std::vector<ss::shard_id>& cores) {
    const size_t group = std::max<size_t>(call.script->keys.group, 1);
    std::vector<idioms::result> each(call.keys.size() / group);
    for (const ss::shard_id core : cores) {
        const auto there = co_await who.all.locks.invoke_on(
            core,
            [script = call.script, database = who.database, args,
             keys = call.keys.size()](shards::lock_service& locks) -> ss::future<renewals> {
                auto done = renew_on(locks, *script, database, args, keys);
                shards::lease_keeper* const leases = locks.leases();
                if (leases != nullptr && leases->has_wanted()) {
                    shards::lease_keeper::kept keep(*leases);
                    if (co_await leases->see_to(leases->take_wanted(), keep) !=
                        shards::lease_outcome::ready) {
                        done.failed = scripts::failure{.table = shards::lock_error::no_lease};
                    }
                }
                co_return done;
            });
        if (there.failed) {
            scripts::effects none;
            answer(who.reply, *call.script, std::unexpected(*there.failed), none);
            co_return;
        }
        for (size_t i = 0; i < each.size(); ++i) {
            if (who.all.locks.local().core_of(call.keys[i * group]) == core) {
                each[i] = there.each[i];
            }
        }
    }
    scripts::write_reply(who.reply, *call.script, each.front(), each);
}

struct by_core {
    ss::shard_id core;
    std::vector<scripts::key_image> images;
};

shards::lock_key named(shards::lock_service& locks, uint32_t database, std::string_view name) {
    return {database, name, locks.hasher().place(name).bucket};
}

ss::future<std::vector<scripts::key_image>> lend(services& all, ss::shard_id core,
                                                 uint32_t database,
                                                 std::vector<std::string> names) {
    return all.locks.invoke_on(core, [database,
                                      names = std::move(names)](shards::lock_service& locks) {
        const auto now = shards::read_clock();
        std::vector<scripts::key_image> images;
        images.reserve(names.size());
        for (const std::string& name : names) {
            images.push_back(scripts::image_of(locks.table(), named(locks, database, name), now));
        }
        return images;
    });
}

/// Makes the keys of this core what the images say. Masters hold those that are named in `leased`.
ss::future<shards::lock_result<bool>> restore_here(shards::lock_service& locks, uint32_t database,
                                                   std::vector<scripts::key_image> images,
                                                   std::vector<std::string> leased) {
    const std::vector<std::string_view> names(leased.begin(), leased.end());
    shards::lease_keeper* const leases = locks.leases();
    // Of the leases that were there, one may have run out again before its entry was made.
    constexpr int tries_max = 10;
    std::optional<shards::lease_keeper::kept> keep;
    if (leases != nullptr) {
        keep.emplace(*leases);
    }
    for (const auto& image : images) {
        for (int tries = 0;;) {
            const auto key = named(locks, database, image.name);
            locks.table().lease_only(names);
            const auto done = scripts::restore(locks.table(), key, image, shards::read_clock());
            locks.table().lease_only(std::nullopt);
            auto wanted =
                leases != nullptr ? leases->take_wanted() : std::vector<shards::wanted_lease>();
            if (wanted.empty()) {
                if (!done) {
                    co_return done;
                }
                break;
            }
            const auto outcome = co_await leases->see_to(std::move(wanted), *keep);
            if (outcome == shards::lease_outcome::ready && done) {
                break;
            }
            if (outcome != shards::lease_outcome::ready || ++tries > tries_max) {
                co_return std::unexpected(shards::lock_error::no_lease);
            }
        }
    }
    co_return true;
}

ss::future<shards::lock_result<bool>> put_back(services& all, ss::shard_id core, uint32_t database,
                                               std::vector<scripts::key_image> images,
                                               std::vector<std::string> leased) {
    return all.locks.invoke_on(
        core, [database, images = std::move(images),
               leased = std::move(leased)](shards::lock_service& locks) mutable {
            return restore_here(locks, database, std::move(images), std::move(leased));
        });
}

ss::future<> wake(services& all, uint32_t database, std::string list) {
    const ss::shard_id core = all.locks.local().core_of(list);
    return all.locks.invoke_on(
        core, [database, list = std::move(list)](shards::lock_service& locks) {
            locks.waiting_pops().serve(locks.table(), database, list, shards::read_clock());
        });
}

/// Changes by core. A core whose table is full makes us take back what the others have done.
ss::future<shards::lock_result<bool>> apply(services& all, uint32_t database,
                                            std::vector<scripts::borrowed_keys::change> changes,
                                            const std::vector<ss::shard_id>& cores,
                                            const std::vector<std::string>& leased) {
    std::vector<by_core> before;
    std::vector<by_core> after;
    for (const ss::shard_id core : cores) {
        before.push_back({core, {}});
        after.push_back({core, {}});
    }
    for (auto& change : changes) {
        const ss::shard_id core = all.locks.local().core_of(change.before.name);
        const auto at = static_cast<size_t>(std::ranges::find(cores, core) - cores.begin());
        before[at].images.push_back(std::move(change.before));
        after[at].images.push_back(std::move(change.after));
    }
    for (size_t i = 0; i < after.size(); ++i) {
        const auto done =
            co_await put_back(all, after[i].core, database, std::move(after[i].images), leased);
        if (done) {
            continue;
        }
        for (size_t undone = 0; undone <= i; ++undone) {
            // There was room for these before, so there is now; a lease may have ended.
            (void)co_await put_back(all, before[undone].core, database,
                                    std::move(before[undone].images), leased);
        }
        co_return done;
    }
    co_return true;
}

/// Brings the keys here, does to them what the script does, and brings them back.
ss::future<> borrow_over_cores(client& who, const script_call& call,
                               const std::vector<std::string_view>& stored,
                               const std::vector<ss::shard_id>& cores) {
    auto& here = who.all.locks.local();
    const uint32_t database = who.database;
    const auto leased = scripts::lock_keys(*call.script, call.keys);
    if (scripts::wakes_sleepers(*call.script)) {
        // What is borrowed has no line: those who wait are known where the lock is.
        for (const std::string& name : leased) {
            co_await who.all.locks.invoke_on(
                here.core_of(name), [database, name](shards::lock_service& locks) {
                    locks.table().announced(named(locks, database, name));
                });
        }
    }
    const auto give_up = shards::read_clock() + shards::lease_keeper::patience();
    while (true) {
        scripts::borrowed_keys borrowed(database, here.hasher());
        for (const ss::shard_id core : cores) {
            std::vector<std::string> names;
            for (const std::string_view name : stored) {
                if (here.core_of(name) == core) {
                    names.emplace_back(name);
                }
            }
            auto images = co_await lend(who.all, core, database, std::move(names));
            for (auto& image : images) {
                borrowed.add(std::move(image), shards::read_clock());
            }
        }
        const auto now = shards::read_clock();
        scripts::effects out;
        const auto outcome = scripts::run({.script = *call.script,
                                           .keys = call.keys,
                                           .arguments = call.arguments,
                                           .database = database,
                                           .hasher = here.hasher(),
                                           .table = borrowed.table(),
                                           .now = now,
                                           .wall_ms = wall_clock_ms(),
                                           .out = out});
        const auto applied =
            co_await apply(who.all, database, borrowed.changes(out.signalled, now), cores, leased);
        if (!applied && applied.error() == shards::lock_error::no_lease &&
            shards::read_clock() < give_up) {
            continue;  // a lock that somebody else has is known as his now
        }
        if (!applied) {
            reply_lock_error(who.reply, applied.error());
            co_return;
        }
        announce(who.all.locks.local(), out.announcements);
        for (const std::string& list : out.signalled) {
            co_await wake(who.all, database, list);
        }
        answer(who.reply, *call.script, outcome, out);
        co_return;
    }
}

template <form how>
ss::future<> run_over_cores(client& who, const owned_request& args) {
    const auto views = args.views();
    const auto call = read_call(library::here(), request{views}, how);
    if (!call) {
        explain(call.error(), who.reply);
        co_return;
    }
    const auto stored = scripts::stored_keys(*call->script, call->keys, fences_of(who));
    const auto cores = cores_of(who.all, stored);
    co_await with_turns(who, cores, [&]() -> ss::future<> {
        return scripts::is_renewal(call->script->op) ? renew_over_cores(who, args, *call, cores)
                                                     : borrow_over_cores(who, *call, stored, cores);
    });
}

// ---- tries that are held back -------------------------------------------------------------------

/// A script that does no more than to take one lock that nobody has, or to renew it for who has it
/// already, is a try that may wait in line.
std::optional<shards::lock_order> read_try(client& who, const script_call& call) {
    auto& here = who.all.locks.local();
    scripts::effects none;
    const auto tried = scripts::as_try({.script = *call.script,
                                        .keys = call.keys,
                                        .arguments = call.arguments,
                                        .database = who.database,
                                        .hasher = here.hasher(),
                                        .table = here.table(),
                                        .now = {},
                                        .wall_ms = 0,
                                        .out = none});
    if (!tried) {
        return std::nullopt;
    }
    const auto ttl = ttl_of_try(tried->ttl, tried->unit);
    if (!ttl) {
        return std::nullopt;
    }
    return shards::lock_order{.database = who.database,
                              .key = std::string(call.keys[0]),
                              .owner = std::string(tried->value),
                              .client = who.id,
                              .ttl = ttl,
                              .may_own = tried->renews};
}

template <form how>
bool may_park(client& who, const request& args) {
    if (!may_park_any(who)) {
        return false;
    }
    const auto call = read_call(library::here(), args, how);
    const auto order = call && call->keys.size() == 1 ? read_try(who, *call) : std::nullopt;
    return order && time_to_park(who, order->key, order->owner);
}

/// True if it has been answered.
template <form how>
ss::future<bool> parked(client& who, const owned_request& args) {
    const auto views = args.views();
    const auto call = read_call(library::here(), request{views}, how);
    auto order = call && call->keys.size() == 1 ? read_try(who, *call) : std::nullopt;
    const auto how_long = order ? time_to_park(who, order->key, order->owner) : std::nullopt;
    if (!how_long) {
        co_return false;
    }
    const auto end = co_await park(who, args, std::move(*order), *how_long);
    if (end == parked_end::granted) {
        scripts::write_reply(who.reply, *call->script, scripts::granted_one(), {});
    }
    if (end == parked_end::refused) {
        // The script says how it refuses, or that its caller has it already.
        co_await run_unparked(who, args, call->keys[0]);
    }
    co_return true;
}

template <form how>
ss::future<> run_in_time(client& who, owned_request args) {
    if (how.allowed == access::any && co_await parked<how>(who, args)) {
        co_return;
    }
    co_await run_over_cores<how>(who, args);
}

// ---- SCRIPT -------------------------------------------------------------------------------------

/// The next connection of a client's pool may be one to another proxy. Who cannot be reached, or
/// does not answer soon, will say NOSCRIPT, as a Redis that was started anew.
ss::future<> tell_other_proxies(client& who, owned_request args) {
    constexpr std::chrono::milliseconds patience{250};
    if (!who.from_proxy.empty() || !who.all.links.local().enabled()) {
        co_return;
    }
    errand news(who.all);
    // In a transaction others wait for the turns that it has.
    const auto at_most = who.holds_turns ? patience.zero() : patience;
    auto told = co_await ss::coroutine::as_future(news.ask_all(std::move(args), at_most));
    co_await news.close();
    told.get();
}

ss::future<> script_load(client& who, const owned_request& args) {
    const std::string sha = to_hex(co_await library::here().load_everywhere(std::string(args[2])));
    const bool is_listed =
        library::here().find(sha).script != nullptr && library::here().text_of(sha).empty();
    if (!is_listed) {
        co_await tell_other_proxies(who, args);
    }
    who.reply.bulk(sha);
}

ss::future<> script_flush(client& who, const owned_request& args) {
    if (args.size() > 3 || (args.size() == 3 && !equals_ignoring_case(args[2], "sync") &&
                            !equals_ignoring_case(args[2], "async"))) {
        who.reply.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        co_return;
    }
    co_await library::here().flush_everywhere();
    co_await tell_other_proxies(who, args);
    who.reply.ok();
}

ss::future<> script_exists(client& who, const owned_request& args) {
    who.reply.array(args.size() - 2);
    for (size_t i = 2; i < args.size(); ++i) {
        who.reply.integer(library::here().exists(args[i]) ? 1 : 0);
    }
    return ss::make_ready_future<>();
}

/// Nothing ever runs for long enough to be ended.
ss::future<> script_kill(client& who, const owned_request&) {
    who.reply.error("NOTBUSY No scripts in execution right now.");
    return ss::make_ready_future<>();
}

ss::future<> script_debug(client& who, const owned_request& args) {
    if (equals_ignoring_case(args[2], "no")) {
        who.reply.ok();
    } else if (equals_ignoring_case(args[2], "yes") || equals_ignoring_case(args[2], "sync")) {
        who.reply.error("ERR Lockkeeper does not run Lua, so there is nothing to debug");
    } else {
        who.reply.error("ERR Use SCRIPT DEBUG YES/SYNC/NO");
    }
    return ss::make_ready_future<>();
}

ss::future<> script_help(client& who, const owned_request&) {
    reply_help(who.reply, "SCRIPT",
               {"EXISTS <sha1> [<sha1> ...]", "    Tell for each script whether it is known here.",
                "FLUSH [ASYNC|SYNC]", "    Forget the scripts that clients have loaded.", "KILL",
                "    For other servers: no script ever runs here.", "LOAD <script>",
                "    Remember a script, to be called by EVALSHA."});
    return ss::make_ready_future<>();
}

struct subcommand {
    std::string_view name;
    std::string_view full_name;
    size_t least;
    size_t most;
    ss::future<> (*run)(client&, const owned_request&);
};

constexpr size_t unbounded = std::string_view::npos;

constexpr subcommand subcommands[] = {
    {"load", "script|load", 3, 3, script_load},
    {"exists", "script|exists", 3, unbounded, script_exists},
    {"flush", "script|flush", 2, unbounded, script_flush},
    {"kill", "script|kill", 2, 2, script_kill},
    {"debug", "script|debug", 3, 3, script_debug},
    {"help", "script|help", 2, 2, script_help},
};

ss::future<> script(client& who, owned_request args) {
    for (const subcommand& one : subcommands) {
        if (!equals_ignoring_case(one.name, args[1])) {
            continue;
        }
        if (args.size() < one.least || args.size() > one.most) {
            reply_wrong_arity(who.reply, one.full_name);
            co_return;
        }
        co_await one.run(who, args);
        co_return;
    }
    reply_unknown_subcommand(who.reply, "SCRIPT", args[1]);
}

// ---- the table ----------------------------------------------------------------------------------

template <form how>
constexpr command_spec runner(std::string_view name, uint16_t flags) {
    return {.name = name,
            .least = 3,
            .most = -1,
            .flags = flags,
            .on_keys = run_here<how>,
            .in_time = run_in_time<how>,
            .find_keys = find_keys<how>,
            .may_wait = how.allowed == access::any ? may_park<how> : nullptr};
}

constexpr uint16_t runs = flag_noscript | flag_stale | flag_movable_keys;

constexpr command_spec table[] = {
    runner<form{given_by::text, access::any}>("eval", runs),
    runner<form{given_by::text, access::reading}>("eval_ro", runs | flag_readonly),
    runner<form{given_by::sha, access::any}>("evalsha", runs),
    runner<form{given_by::sha, access::reading}>("evalsha_ro", runs | flag_readonly),
    {.name = "script",
     .least = 2,
     .most = -1,
     .flags = flag_noscript | flag_about_both,
     .in_time = script},
};

}  // namespace

std::span<const command_spec> script_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
