#include "proxy/configuration_source.hh"

#include <fmt/format.h>

#include "config/load.hh"
#include "config/options.hh"
#include "config/proxies.hh"
#include "proxy/access/roll.hh"
#include "proxy/permission.hh"

namespace lockkeeper::proxy {

namespace {

std::vector<std::string> shown(const std::vector<config::mistake>& mistakes) {
    std::vector<std::string> lines;
    for (const config::mistake& one : mistakes) {
        lines.push_back(one.show());
    }
    return lines;
}

}  // namespace

std::expected<config::config, std::vector<std::string>> configuration_source::read() const {
    config::config settings;
    if (file) {
        auto loaded = config::load(*file);
        if (!loaded) {
            return std::unexpected(shown(loaded.error()));
        }
        settings = std::move(*loaded);
        std::vector<config::mistake> mistakes;
        access::make_users(settings, command_catalogue(), *file, mistakes);
        if (!mistakes.empty()) {
            return std::unexpected(shown(mistakes));
        }
    }
    struct choice {
        const char* name;
        const char* section;
        const char* option;
        const std::optional<std::string>& value;
    };
    for (const auto& [name, section, option, value] :
         {choice{"address", "server", "address", address}, choice{"port", "server", "port", port},
          choice{"http-port", "http", "port", http_port}}) {
        if (!value) {
            continue;
        }
        const auto& known = *config::find_option(section, option);
        if (const auto set = known.set(settings, *value); !set) {
            return std::unexpected(std::vector{
                fmt::format("--{}: {} (accepted: {})", name, set.error(), known.accepts)});
        }
    }
    // The file alone was looked at when it was read.
    if (const auto problem = config::unreachable_by_proxies(settings)) {
        return std::unexpected(std::vector{fmt::format("--address: {}", *problem)});
    }
    settings.http.is_chosen = http_port.has_value();
    if (no_protected_mode) {
        settings.server.protected_mode = false;
    }
    return settings;
}

}  // namespace lockkeeper::proxy
