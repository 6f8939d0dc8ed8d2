#include "proxy/client.hh"

#include <utility>

#include "proxy/away_holders.hh"
#include "proxy/forwarder.hh"
#include "proxy/link_handshake.hh"
#include "proxy/peers.hh"
#include "proxy/services.hh"
#include "proxy/upstream.hh"

namespace lockkeeper::proxy {

client::client(services& shared) : user(shared.users.local().standard()), all(shared) {}

client::~client() {
    away_holders::here().remove(*this);
    leave_user();
}

/// The place that it takes among its user's connections.
void client::leave_user() {
    if (logged_in && from_proxy.empty()) {
        user->load->leave();
    }
}

void client::adopt(identity_ptr who, bool is_known) {
    user = std::move(who);
    // A client of another proxy has been judged there.
    const bool is_judged = !from_proxy.empty();
    logged_in = is_known || is_judged;
    free_hand =
        is_judged || (is_known && user->rights.may_do_everything() && user->rights.rate_max() == 0);
    login_changed();
}

bool client::become(identity_ptr who) {
    const bool same = logged_in && who->load == user->load;
    if (!same) {
        if (!who->load->enter(who->rights.connections_max())) {
            return false;
        }
        leave_user();
    }
    adopt(std::move(who), true);
    return true;
}

bool client::become_standard() {
    const user_roll& users = all.users.local();
    if (users.standard_is_open() && from_proxy.empty()) {
        return become(users.standard());
    }
    leave_user();
    adopt(users.standard(), false);
    return true;
}

void client::renew_user() {
    if (!from_proxy.empty()) {
        return;
    }
    const user_roll& users = all.users.local();
    if (!logged_in) {
        if (!become_standard()) {
            cut();
        }
        return;
    }
    auto now = users.find(user->rights.name());
    if (!now || !now->rights.is_enabled()) {
        return cut();
    }
    adopt(std::move(now), true);
    if (!may_keep_listening()) {
        cut();
    }
}

bool client::may_keep_listening() const {
    for (size_t kind = 0; kind < channel_kinds; ++kind) {
        const bool is_pattern = static_cast<channel_kind>(kind) == channel_kind::pattern;
        for (const std::string& channel : channels[kind]) {
            if (is_pattern ? !user->rights.allows_channel_pattern(channel)
                           : !user->rights.allows_channel(channel)) {
                return false;
            }
        }
    }
    return true;
}

void client::open_upstream() {
    if (!data) {
        data = std::make_unique<upstream>(*all.settings.data, *this);
    }
}

forwarder& client::homes() {
    if (!at_homes) {
        at_homes = std::make_unique<forwarder>(*this);
    }
    return *at_homes;
}

shards::order_route client::route() const {
    using enum shards::order_route;
    if (!from_proxy.empty()) {
        return as_home;
    }
    return all.links.local().enabled() ? to_home : here;
}

size_t client::subscriptions() const {
    size_t count = 0;
    for (const auto& names : channels) {
        count += names.size();
    }
    return count;
}

void client::unsubscribe_all() {
    for (size_t kind = 0; kind < channel_kinds; ++kind) {
        for (const std::string& channel : channels[kind]) {
            all.messages.local().unsubscribe(static_cast<channel_kind>(kind), channel, *this);
        }
        channels[kind].clear();
    }
}

void client::reset() {
    unsubscribe_all();
    multi.reset();
    watched.clear();
    watched_away.reset();
    watches_apart = false;
    name.clear();
    database = 0;
    replies = reply_mode::on;
    no_evict = no_touch = false;
    tracked = {};
    reply.set_version(protocol::version::resp2);
    if (!become_standard()) {
        closing = true;  // the default user has as many connections as it may
    }
}

void client::deliver(const message& what) {
    protocol::reply_writer writer(in_reply ? _held_messages : output, reply.spoken());
    switch (what.kind) {
        case channel_kind::channel:
            writer.push(3);
            writer.bulk("message");
            break;
        case channel_kind::shard:
            writer.push(3);
            writer.bulk("smessage");
            break;
        case channel_kind::pattern:
            writer.push(4);
            writer.bulk("pmessage");
            writer.bulk(what.pattern);
            break;
    }
    writer.bulk(what.channel);
    writer.bulk(what.payload);
    hold_or_wake();
}

void client::relay(const protocol::reply& what) {
    protocol::reply_writer writer(in_reply ? _held_messages : output, reply.spoken());
    writer.value(what);
    hold_or_wake();
}

void client::tell_lost(const shards::lost_grant& what) {
    if (reply.spoken() == protocol::version::resp2) {
        return;
    }
    protocol::reply_writer writer(in_reply ? _held_messages : output, reply.spoken());
    writer.push(4);
    writer.bulk("lk.lost");
    writer.bulk(what.key);
    writer.bulk(what.owner);
    writer.integer(static_cast<int64_t>(what.fence));
    hold_or_wake();
}

void client::hold_or_wake() {
    if (output.size() + _held_messages.size() > all.settings.limits.output_bytes) {
        // It does not read, and nobody may make us keep its messages for ever.
        give_up("messages for it are beyond limits.output_bytes");
    } else if (!in_reply) {
        wake_writer();
    }
}

std::optional<std::string_view> client::overstays(ss::lowres_clock::time_point now) const {
    const auto& limits = all.settings.limits;
    if (being_written > limits.output_slow_bytes && now - write_began > limits.output_slow) {
        return "does not read its replies";
    }
    if (limits.handshake.count() > 0 && commands_executed == 0 &&
        first_heard != ss::lowres_clock::time_point{} && now - first_heard > limits.handshake) {
        return "takes too long for its first command";
    }
    // Who waits or listens is silent for a good reason, and a client of another proxy may be busy
    // there.
    const bool is_busy = blocked || is_link || in_reply || being_written > 0 ||
                         subscriptions() > 0 || !from_proxy.empty();
    if (limits.idle.count() > 0 && !is_busy && now - last_heard > limits.idle) {
        return is_idle;
    }
    return std::nullopt;
}

void client::end_reply() {
    in_reply = false;
    const bool due = std::exchange(messages_due, false) || !_held_messages.empty();
    output.append(_held_messages.view());
    _held_messages.clear();
    if (due) {
        wake_writer();
    }
}

}  // namespace lockkeeper::proxy
