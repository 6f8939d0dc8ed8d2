#include "proxy/audit.hh"

#include <fmt/format.h>

#include <algorithm>
#include <seastar/util/log.hh>
#include <string>

#include "protocol/text.hh"
#include "proxy/access/catalogue.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/log_lines.hh"
#include "proxy/permission.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("audit");

/// Those that change something for others. Looking is no action.
constexpr std::string_view actions[] = {"acl|log",          "client|kill",      "client|unblock",
                                        "config|resetstat", "config|set",       "flushall",
                                        "flushdb",          "lk.break",         "lk.lint|reset",
                                        "lk.reload",        "lk.slowlog|reset", "slowlog|reset"};

/// Bytes of clients must not end a line of the log, nor drive a terminal: \xHH.
std::string shown(std::string_view text) {
    constexpr size_t most = 128;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string safe;
    for (const char c : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f || c == '\\' || c == '\'') {
            safe += "\\x";
            safe += digits[byte >> 4];
            safe += digits[byte & 0xf];
        } else {
            safe += c;
        }
    }
    return text.size() > most ? safe + "..." : safe;
}

}  // namespace

void audit(const client& who, const command_spec& spec, const protocol::request& args) {
    const auto number = number_of(spec, args);
    if (!number) {
        return;
    }
    const std::string_view name = command_catalogue()[*number].name;
    // Native commands have no subcommands of their own there.
    const auto with_first = fmt::format(
        "{}|{}", name, args.size() > 1 ? protocol::to_lower(args[1].substr(0, 64)) : "");
    if (std::ranges::find(actions, name) == std::end(actions) &&
        std::ranges::find(actions, std::string_view(with_first)) == std::end(actions)) {
        return;
    }
    std::vector<std::string_view> words;
    // CONFIG SET name value ...: a value may be a password, also where it is refused.
    const size_t step = name == "config|set" ? 2 : 1;
    for (size_t i = 1; i < args.size(); i += i == 1 ? 1 : step) {
        words.push_back(args[i]);
    }
    audit({.user = who.user->rights.name(), .client = who.id, .address = who.peer}, spec.name,
          words);
}

void audit(const audited& who, std::string_view command,
           const std::vector<std::string_view>& arguments) {
    constexpr size_t words_max = 7;
    std::string words;
    admin::json members;
    members.begin_object()
        .member("user", who.user)
        .member("client", who.client)
        .member("address", who.address)
        .member("command", command)
        .name("arguments")
        .begin_array();
    for (size_t i = 0; i < std::min(arguments.size(), words_max); ++i) {
        words += " '" + shown(arguments[i]) + "'";
        members.text(shown(arguments[i]));
    }
    members.end().end();
    log.info("{}", with_members(fmt::format("user '{}', client {} at {}: {}{}", who.user,
                                            who.client, who.address, command, words),
                                std::move(members)));
}

}  // namespace lockkeeper::proxy
