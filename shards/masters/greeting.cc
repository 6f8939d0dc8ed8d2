#include "shards/masters/greeting.hh"

#include <fmt/format.h>

#include "protocol/text.hh"

namespace lockkeeper::shards {

namespace {

constexpr size_t shown_bytes_max = 200;

/// A connection without a name is a nuisance, not a fault, so HELLO takes only what Redis allows.
std::string without_blanks(std::string_view name) {
    std::string safe(name);
    for (char& c : safe) {
        if (c < '!' || c > '~') {
            c = '_';
        }
    }
    return safe;
}

std::string_view user_of(const config::redis_address& address) {
    return address.user.empty() ? std::string_view("default") : std::string_view(address.user);
}

std::string said(const protocol::reply& reply) {
    return protocol::sanitised(reply.text(), shown_bytes_max);
}

/// An echo server gives back an array, a mail server a line; only Redis tells its protocol.
bool speaks_resp3(const protocol::reply& hello) {
    if (hello.kind() != protocol::reply_kind::map) {
        return false;
    }
    const auto fields = hello.items();
    for (size_t i = 0; i + 1 < fields.size(); i += 2) {
        if (fields[i].text() == "proto") {
            return fields[i + 1].as_integer() == 3;
        }
    }
    return false;
}

std::string hello_refused(const config::redis_address& address, const protocol::reply& hello) {
    const std::string_view code = hello.error_code();
    if (code == "NOAUTH") {
        return fmt::format("it needs a password and {} has none: {}", address.show(), said(hello));
    }
    if (code == "WRONGPASS") {
        return fmt::format("it refuses user '{}' or the password: {}", user_of(address),
                           said(hello));
    }
    if (code == "NOPROTO" || hello.text().starts_with("ERR unknown command")) {
        return fmt::format("it does not know RESP3, Redis 6.0 or newer is needed: {}", said(hello));
    }
    return fmt::format("it refuses our greeting: {}", said(hello));
}

}  // namespace

command_batch greeting(const config::redis_address& address, std::string_view name) {
    command_batch words;
    const std::string shown = without_blanks(name);
    if (address.password.empty()) {
        words.add("HELLO", 3, "SETNAME", shown);
    } else {
        words.add("HELLO", 3, "AUTH", user_of(address), address.password, "SETNAME", shown);
    }
    if (address.database != 0) {
        words.add("SELECT", address.database);
    }
    return words;
}

command_batch login(const config::redis_address& address) {
    command_batch words;
    words.add("AUTH", user_of(address), address.password);
    return words;
}

std::optional<std::string> greeting_refused(const config::redis_address& address,
                                            std::span<const protocol::reply> replies) {
    if (replies.empty()) {
        return "it did not answer our greeting";
    }
    if (replies[0].is_error()) {
        return hello_refused(address, replies[0]);
    }
    if (!speaks_resp3(replies[0])) {
        return "it is not Redis: it answered HELLO with something else";
    }
    if (replies.size() > 1 && !replies[1].is_ok()) {
        return fmt::format("it refuses database {}: {}", address.database, said(replies[1]));
    }
    return std::nullopt;
}

}  // namespace lockkeeper::shards
