#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/link_handshake.hh"
#include "proxy/services.hh"

/// The other proxies of the fleet: how they call us, and how they fare.
namespace lockkeeper::proxy {

namespace {

using protocol::equals_ignoring_case;
using protocol::request;

/// LK.LINK HELLO ... and LK.LINK PROVE ...: for proxies. See link_handshake.hh.
void link_command(client& who, const request& args) {
    peers& links = who.all.links.local();
    if (!links.enabled()) {
        return who.reply.error("ERR LINK this proxy has no secret (proxies.secret)");
    }
    if (!who.from_proxy.empty()) {
        return who.reply.error("ERR LINK not over a link");
    }
    if (who.all.settings.proxies->tls && !who.is_encrypted) {
        return who.reply.error("ERR LINK this proxy takes links over TLS only (proxies.tls)");
    }
    if (equals_ignoring_case(args[1], "hello")) {
        who.calling = std::make_unique<link_callee>(links.card(), links.secret());
        if (!who.calling->on_hello(args, who.reply)) {
            who.calling.reset();
        }
        return;
    }
    if (!equals_ignoring_case(args[1], "prove")) {
        return reply_unknown_subcommand(who.reply, "LK.LINK", args[1]);
    }
    if (!who.calling || !who.calling->on_prove(args, who.reply)) {
        if (!who.calling) {
            who.reply.error(wrong_secret);
        }
        who.closing = true;  // one guess for each connection
        return;
    }
    who.is_link = true;
}

/// What all cores have counted, in the view of this one.
ss::future<std::vector<peer_view>> add_up(client& who) {
    auto all = who.all.links.local().views();
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        if (core == ss::this_shard_id()) {
            continue;
        }
        const auto more = co_await who.all.links.invoke_on(core, &peers::views);
        for (peer_view& each : all) {
            for (const peer_view& other : more) {
                if (other.id == each.id && other.address == each.address) {
                    each.counted += other.counted;
                }
            }
        }
    }
    co_return all;
}

/// LK.PROXIES: a map for each proxy of the fleet, this one first.
ss::future<> proxies(client& who, owned_request) {
    if (!who.all.links.local().enabled()) {
        who.reply.array(0);
        co_return;
    }
    const auto all = co_await add_up(who);
    who.reply.array(all.size());
    for (const peer_view& each : all) {
        const auto number = [&who](std::string_view name, uint64_t value) {
            who.reply.bulk(name);
            who.reply.integer(static_cast<int64_t>(value));
        };
        const auto text = [&who](std::string_view name, std::string_view value) {
            who.reply.bulk(name);
            who.reply.bulk(value);
        };
        who.reply.map(11);
        text("id", each.id);
        text("address", each.address);
        text("version", each.version);
        number("alive", each.alive ? 1 : 0);
        text("link", each.link);
        text("reason", each.reason);
        number("forwarded", each.counted.forwarded);
        number("not_home", each.counted.not_home);
        number("broken", each.counted.broken);
        number("latency_us_p50", each.counted.took.round_us(500));
        number("latency_us_p99", each.counted.took.round_us(990));
    }
}

constexpr command_spec table[] = {
    {.name = "lk.link",
     .least = 2,
     .most = 7,
     // Who speaks it proves that it knows the secret of the proxies.
     .flags = flag_native | flag_admin | flag_noscript | flag_no_multi | flag_no_auth,
     .on_client = link_command},
    {.name = "lk.proxies",
     .least = 1,
     .most = 1,
     .flags = flag_native | flag_admin | flag_noscript | flag_loading | flag_stale,
     .in_time = proxies},
};

}  // namespace

std::span<const command_spec> peer_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
