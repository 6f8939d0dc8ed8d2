#include <algorithm>
#include <ranges>
#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/audit.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/permission.hh"
#include "proxy/router.hh"
#include "proxy/services.hh"
#include "proxy/transaction_at_home.hh"
#include "proxy/upstream.hh"

/// WATCH, MULTI, EXEC. A transaction has the turns of all cores that its keys are of, so nothing
/// comes between its commands there; a watched key that changed since WATCH ends it with nil. Keys
/// of other proxies: see transaction_at_home.hh.
namespace lockkeeper::proxy {

namespace {

using protocol::request;

void multi(client& who, const request&) {
    if (who.multi) {
        return who.reply.error("ERR MULTI calls can not be nested");
    }
    who.multi.emplace();
    who.reply.ok();
}

/// Forgets what is watched, also upstream.
ss::future<> stop_watching(client& who) {
    who.watched.clear();
    who.watched_away.reset();
    who.watches_apart = false;
    if (std::exchange(who.watches_upstream, false) && who.data) {
        const std::string_view unwatch[] = {"UNWATCH"};
        std::vector<owned_request> commands;
        commands.emplace_back(request{unwatch});
        co_await who.data->call(std::move(commands));
    }
}

ss::future<> discard(client& who, owned_request) {
    if (!who.multi) {
        who.reply.error("ERR DISCARD without MULTI");
        co_return;
    }
    who.multi.reset();
    co_await stop_watching(who);
    who.reply.ok();
}

ss::future<> unwatch(client& who, owned_request) {
    // Inside a transaction it comes too late to matter, and the upstream would count it as one of
    // its commands.
    if (!who.holds_turns) {
        co_await stop_watching(who);
    }
    who.reply.ok();
}

ss::future<> watch(client& who, owned_request args) {
    if (who.multi) {
        who.reply.error("ERR WATCH inside MULTI is not allowed");
        co_return;
    }
    if (co_await watched_at_home(who, args)) {
        co_return;
    }
    for (size_t i = 1; i < args.size(); ++i) {
        watched_key key{who.database, std::string(args[i]), {}};
        const auto is_it = [&key](const watched_key& one) {
            return one.database == key.database && one.name == key.name;
        };
        if (std::ranges::any_of(who.watched, is_it)) {
            continue;  // as it was the first time is what counts
        }
        if (who.watched.size() >= who.all.settings.limits.watched_keys) {
            who.reply.error("ERR TOOMANYWATCHED this connection watches as many keys as it may");
            co_return;
        }
        const ss::shard_id core = who.all.locks.local().core_of(key.name);
        key.mark = co_await who.all.locks.invoke_on(
            core, [database = key.database, name = key.name](shards::lock_service& locks) {
                return locks.table().watch({database, name, locks.hasher().place(name).bucket},
                                           shards::read_clock());
            });
        who.watched.push_back(std::move(key));
    }
    who.reply.ok();
}

ss::future<bool> any_changed(services& all, const std::vector<watched_key>& watched) {
    for (const watched_key& key : watched) {
        const ss::shard_id core = all.locks.local().core_of(key.name);
        const bool changed = co_await all.locks.invoke_on(core, [key](shards::lock_service& locks) {
            return locks.table().changed_since(
                {key.database, key.name, locks.hasher().place(key.name).bucket}, key.mark,
                shards::read_clock());
        });
        if (changed) {
            co_return true;
        }
    }
    co_return false;
}

/// One command of the transaction, by whichever of its ways fits; the turns are ours.
ss::future<> run_queued(client& who, transaction::queued command) {
    const command_spec& spec = *command.spec;
    const auto views = command.request.views();
    const request args{views};
    if (spec.flags & flag_admin) {
        audit(who, spec, args);
    }
    if (spec.on_client) {
        spec.on_client(who, args);
        co_return;
    }
    if (spec.on_keys) {
        const auto keys = spec.find_keys ? spec.find_keys(who, args) : keys_of(spec, args);
        if (const auto core = one_core_of(who.all, keys)) {
            core_batch batch;
            batch.items.push_back(
                {&spec, who.database, who.reply.spoken(), std::move(command.request), who.id});
            const auto replies = co_await run_on(who.all, *core, std::move(batch), turn::have_it);
            who.output.append(replies[0]);
            co_return;
        }
    }
    co_await spec.in_time(who, std::move(command.request));
}

/// FLUSHDB, DBSIZE, KEYS...: they name no key and are about all of them.
bool is_about_every_key(const command_spec& spec) {
    return spec.in_time && spec.keys.first == 0 && !spec.find_keys &&
           (spec.flags & (flag_write | flag_readonly));
}

std::vector<ss::shard_id> cores_involved(client& who, const transaction& all) {
    if (std::ranges::any_of(
            all.commands, [](const auto& command) { return is_about_every_key(*command.spec); })) {
        const auto every = std::views::iota(ss::shard_id{0}, ss::smp::count);
        return {every.begin(), every.end()};
    }
    std::vector<std::string_view> keys;
    for (const watched_key& key : who.watched) {
        keys.push_back(key.name);
    }
    std::vector<std::vector<std::string_view>> kept;  // the views that keys point into
    for (const auto& command : all.commands) {
        kept.push_back(command.request.views());
        const request args{kept.back()};
        const auto more = command.spec->find_keys ? command.spec->find_keys(who, args)
                                                  : keys_of(*command.spec, args);
        keys.insert(keys.end(), more.begin(), more.end());
    }
    return cores_of(who.all, keys);
}

/// The user or its rights may have changed since the command was queued.
bool is_still_permitted(client& who, const transaction::queued& command) {
    const auto views = command.request.views();
    const auto refused = find_forbidden(who.user->rights, who, command.spec, request{views});
    if (refused) {
        who.reply.error(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the "
            "EXEC call. This command is no longer allowed");
    }
    return !refused;
}

ss::future<> exec_here(client& who, transaction all) {
    if (co_await executed_at_home(who, all)) {
        who.watched.clear();
        co_return;
    }
    auto cores = cores_involved(who, all);
    co_await with_turns(who, std::move(cores), [&who, &all]() -> ss::future<> {
        if (co_await any_changed(who.all, who.watched)) {
            who.reply.null_array();
            co_return;
        }
        who.reply.array(all.commands.size());
        for (auto& command : all.commands) {
            if (!who.free_hand && !is_still_permitted(who, command)) {
                continue;
            }
            co_await run_queued(who, std::move(command));
            // The rest is carried out nevertheless, for a transaction is one step; but nobody may
            // make us keep its replies.
            if (who.output.size() > who.all.settings.limits.output_bytes) {
                who.give_up("the replies of a transaction are beyond limits.output_bytes");
            }
            if (who.closing) {
                who.output.clear();
            }
        }
    });
    who.watched.clear();
}

/// The whole transaction in one write; the last reply is EXEC's.
ss::future<> exec_upstream(client& who, transaction all) {
    const std::string_view begin[] = {"MULTI"};
    const std::string_view end[] = {"EXEC"};
    std::vector<owned_request> commands;
    commands.reserve(all.commands.size() + 2);
    if (!is_still_permitted(who, all)) {
        co_await stop_watching(who);
        who.reply.error(rights_changed);
        co_return;
    }
    commands.emplace_back(request{begin});
    for (auto& command : all.commands) {
        commands.push_back(std::move(command.request));
    }
    commands.emplace_back(request{end});
    const auto replies = co_await who.data->call(std::move(commands));
    who.watches_upstream = false;
    who.reply.value(replies.back());
}

ss::future<> exec(client& who, owned_request) {
    if (!who.multi) {
        who.reply.error("ERR EXEC without MULTI");
        co_return;
    }
    auto all = std::move(*who.multi);
    who.multi.reset();
    const auto for_upstream = static_cast<size_t>(
        std::ranges::count_if(all.commands, &transaction::queued::for_upstream));
    if (all.broken) {
        co_await stop_watching(who);
        who.reply.error("EXECABORT Transaction discarded because of previous errors.");
    } else if (for_upstream == 0 && !who.watches_upstream) {
        co_await exec_here(who, std::move(all));
    } else if (for_upstream == all.commands.size() && who.watched.empty() && !who.watched_away &&
               !who.watches_apart) {
        who.open_upstream();
        co_await exec_upstream(who, std::move(all));
    } else {
        // No single step can cover both.
        co_await stop_watching(who);
        who.reply.error("EXECABORT Transaction discarded because it mixes locks and data.");
    }
}

constexpr uint16_t control =
    flag_noscript | flag_loading | flag_stale | flag_fast | flag_not_queued;

constexpr command_spec table[] = {
    {.name = "discard", .least = 1, .most = 1, .flags = control, .in_time = discard},
    {.name = "exec", .least = 1, .most = 1, .flags = control, .in_time = exec},
    {.name = "multi", .least = 1, .most = 1, .flags = control, .on_client = multi},
    {.name = "unwatch",
     .least = 1,
     .most = 1,
     .flags = control & ~flag_not_queued,
     .in_time = unwatch},
    {.name = "watch",
     .least = 2,
     .most = -1,
     .flags = control,
     .keys = {1, -1, 1},
     .in_time = watch},
};

}  // namespace

std::span<const command_spec> transaction_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
