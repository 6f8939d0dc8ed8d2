#include "proxy/access/roll.hh"

#include <fmt/format.h>

#include <algorithm>

namespace lockkeeper::proxy::access {

namespace {

user make_user(const config::user_options& wanted, const catalogue& commands,
               const std::string& file, std::vector<config::mistake>& mistakes) {
    user one(wanted.name);
    // Whoever is in the file is meant to be let in; 'off' says otherwise.
    (void)one.apply("on", commands);
    for (const config::password& secret : wanted.passwords) {
        one.add_password(secret.digest);
    }
    for (const config::placed_text& rule : wanted.rules) {
        if (const auto applied = one.apply(rule.text, commands); !applied) {
            mistakes.push_back(
                {file, rule.line, rule.column,
                 fmt::format("user '{}': '{}': {}", wanted.name, rule.text, applied.error())});
        }
    }
    if (one.is_enabled() && one.needs_password() && one.passwords().empty()) {
        mistakes.push_back({file, wanted.line, wanted.column,
                            fmt::format("user '{}' has no password, so nobody can log in; give "
                                        "passwords, or say 'nopass' or 'off' in its rules",
                                        wanted.name)});
    }
    if (!wanted.passwords.empty() && !one.needs_password()) {
        mistakes.push_back(
            {file, wanted.line, wanted.column,
             fmt::format("user '{}' has passwords and says 'nopass': one of both", wanted.name)});
    }
    one.set_limits(wanted.connections, wanted.rate);
    return one;
}

}  // namespace

std::vector<user> make_users(const config::config& settings, const catalogue& commands,
                             const std::string& file, std::vector<config::mistake>& mistakes) {
    std::vector<user> all;
    all.emplace_back("default");
    if (settings.users.empty()) {
        for (const char* rule : {"on", "nopass", "allkeys", "allchannels", "allcommands"}) {
            (void)all.front().apply(rule, commands);
        }
    }
    for (const config::user_options& wanted : settings.users) {
        user one = make_user(wanted, commands, file, mistakes);
        if (wanted.name == "default") {
            all.front() = std::move(one);
        } else {
            all.push_back(std::move(one));
        }
    }
    std::ranges::sort(mistakes, {}, &config::mistake::line);
    return all;
}

}  // namespace lockkeeper::proxy::access
